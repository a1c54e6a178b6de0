"""Hold what schema objects say: atoms, literals, states, and the forms of arrays and objects.

Records and their interfaces; what works on them is in ``algebra`` and ``write``.
"""
