"""Load a schema, follow its references and drafts, and describe its problems: errors and the report.

Concerned only with the document, not with the values that it allows.
"""
