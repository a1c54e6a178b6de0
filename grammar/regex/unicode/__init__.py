"""Unicode data for regexes: properties, case folding and sets of characters."""
