"""Spell JSON strings as expressions, with every escape.

Knows nothing of schemas.
"""
