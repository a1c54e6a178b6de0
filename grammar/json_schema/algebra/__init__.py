"""The keywords, and `and`, `or`, `not` over nodes: from a document to the set of values it allows."""
