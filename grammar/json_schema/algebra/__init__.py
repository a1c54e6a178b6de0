"""Compute the values that a schema allows: keywords write into nodes, and `and`, `or`, `not` of nodes become forms.

Independent of rules.
"""
