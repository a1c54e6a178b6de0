"""Tool calls. The notation of each model is data, from which the grammar and the parser of turns are derived."""
