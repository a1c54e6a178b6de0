"""Readers that turn tokenizers of other libraries into tables of token bytes.

Each reader takes the foreign object and returns a
:class:`stackmask.runtime.vocabulary.tokenizers.table.TokenTable`. None of them imports the library it reads:
the caller has already imported it to create the object.
"""
