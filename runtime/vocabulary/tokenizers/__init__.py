"""Readers that convert tokenizers of other libraries to tables of token bytes.

Each reader takes the foreign object and returns a
:class:`stackmask.runtime.vocabulary.tokenizers.table.TokenTable`. Readers do not import these libraries: the
caller has already imported them to create the object.
"""
