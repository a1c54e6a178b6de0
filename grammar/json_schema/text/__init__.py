"""Spell JSON strings as expressions, with every escape.

Independent of schemas.
"""
