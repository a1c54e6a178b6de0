"""Say what the syntax of one flavour (ECMAScript, Python, Rust) means; the reader of ``pattern`` asks."""
