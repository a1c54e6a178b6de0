"""Compile a grammar, follow a text token by token, and fill bitmasks, one by one or in batches."""
