"""Load a schema, resolve its references and drafts, and describe its problems as errors and in a report.

This room handles the document only, not the values that it allows.
"""
