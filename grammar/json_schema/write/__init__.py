"""Write rules for the states of an algebra, with objects, arrays, scalar values and whitespace. This is the
last stage of the front end.
"""
