"""Compute the values that a schema allows: keywords constrain nodes, and combinations of nodes become forms.

This room is independent of rules.
"""
