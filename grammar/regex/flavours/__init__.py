"""The semantics of each flavour's syntax (ECMAScript, Python, Rust), for the reader in ``pattern``."""
