"""Which tokens may follow a configuration."""
