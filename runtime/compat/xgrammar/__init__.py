"""XGrammar's interface: its classes and functions, with its defaults, implemented by the compiler and
matchers of this engine.
"""
