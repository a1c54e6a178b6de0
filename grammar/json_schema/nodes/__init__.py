"""Records for the content of schema objects: atoms, literals, states, and the forms of arrays and objects.

The rooms ``algebra`` and ``write`` process these records.
"""
