"""Represent sets of JSON values by type (numbers, strings, keys), with intersection, complement and emptiness.

Independent of schemas and rules.
"""
