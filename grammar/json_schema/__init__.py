"""JSON Schema: schemas of all drafts to rules, exactly.

A schema passes through the rooms in this order: ``document`` (the caller's input → Python values,
references), ``algebra`` (schema objects → ``nodes`` over ``sets`` → Boolean combinations → forms), ``write``
(forms → rules). ``frontend`` drives it. ``metaschemas.json`` holds the metaschemas of the drafts as their
authors publish them (json-schema.org, under the BSD 3-clause licence).
"""
