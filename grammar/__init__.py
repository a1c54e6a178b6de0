"""Front ends: turn text or a schema into rules over expressions, and run the passes that prepare them for the
automaton.
"""
