"""Represent sets of JSON values by type (numbers, strings, keys), with intersection, complement and emptiness.

Knows nothing of schemas or rules.
"""
