"""Compile grammars, follow texts token by token, and fill bitmasks, one at a time or in batches."""
