"""Compile a grammar, follow a text token by token, and fill bitmasks, one at a time or in batches."""
