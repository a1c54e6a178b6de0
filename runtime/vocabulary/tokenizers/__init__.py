"""Readers that turn tokenizers of other libraries into tables of token bytes.

Each reader takes the foreign object and returns a :class:`stackmask.runtime.vocabulary.tokenizers.table.TokenTable`.
None of them imports the library it reads: an object that is handed in has already been imported by its user.
"""
