"""XGrammar's interface: its classes and functions, with its defaults, over the compiler and matchers of this engine."""
