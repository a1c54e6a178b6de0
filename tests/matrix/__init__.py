"""One corpus through every engine: all layers on, each off, all off, evicted after every mask, finite, and the oracle."""
