"""Faults that are put into the engine on purpose, one at a time, to see that the tests notice them."""
