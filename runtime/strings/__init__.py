"""Whole strings of a grammar: whether one is in the language, and strings drawn at random."""
