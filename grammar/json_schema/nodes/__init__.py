"""Records for the content of schema objects: atoms, literals, states, and the forms of arrays and objects.

They are processed in ``algebra`` and ``write``.
"""
