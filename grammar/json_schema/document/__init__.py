"""Load a schema, follow its references and drafts, and say what is wrong with it: errors and the report.

Knows the document alone, and nothing of the values that it allows.
"""
