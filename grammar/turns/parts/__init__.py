"""Compositions of grammars, with rules in one set under names that never clash, and free text up to a marker."""
