"""The schema as a document: loading, drafts, references, its size, and the report of what was read."""
