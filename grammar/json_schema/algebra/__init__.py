"""Work out which values a schema allows: keywords write into nodes, and `and`, `or`, `not` of nodes become forms.

Knows nothing of rules.
"""
