"""The semantics of one flavour's syntax (ECMAScript, Python, Rust), for the reader in ``pattern``."""
