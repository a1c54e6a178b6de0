"""Tool calls: how models write them, as data; from it the grammar of a turn and the parser that reads it back."""
