"""Sets of JSON values by type: numbers, strings, keys, constants; intersect, complement, decide."""
