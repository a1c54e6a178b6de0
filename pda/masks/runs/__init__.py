"""Runs of one character class: their tokens come from tables, not from a walk."""
