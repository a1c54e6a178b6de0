"""Work out which values a schema allows: keywords write into nodes, and `and`, `or`, `not` of nodes become forms.

Knows nothing of rules. ``keywords`` to ``expansion`` ask for other nodes through ``nodes.interfaces``; ``algebra`` holds them all.
"""
