"""Whole strings of a grammar: membership, and random strings."""
