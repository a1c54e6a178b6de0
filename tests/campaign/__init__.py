"""Random generation through the engine's masks, and which rules of a grammar its outputs used."""
