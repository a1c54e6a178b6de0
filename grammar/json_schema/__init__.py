"""JSON Schema: schemas of all drafts to rules, exactly.

The way of a schema: ``loading`` (what the caller has → Python values) → ``references`` and ``keywords`` (schema
objects → sets and atoms) → ``algebra`` and ``expansion`` (Boolean combinations → typed forms) → ``lower`` (forms →
rules). ``frontend`` drives it. ``metaschemas.json`` holds the metaschemas of the drafts as their authors publish
them (json-schema.org, under the BSD 3-clause licence).
"""
