"""Write rules for the states of an algebra: objects, arrays, scalar values, whitespace. The last stage of the
front end.
"""
