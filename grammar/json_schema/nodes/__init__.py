"""Hold what schema objects say: atoms, literals, states, and the forms of arrays and objects.

Records; what works on them is in ``algebra`` and ``write``.
"""
