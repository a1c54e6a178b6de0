"""Convert JSON strings to expressions for all their spellings.

This room is independent of schemas.
"""
