"""Tool calls: the notation of each model as data, from which the grammar of a turn and its parser are derived."""
