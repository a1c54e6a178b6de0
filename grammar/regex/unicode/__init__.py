"""Unicode data for regexes: properties, case folding, and operations on sets of characters."""
