"""Masks made before the first request: all reachable local states."""
