"""The tokens that may follow a configuration."""
