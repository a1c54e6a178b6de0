"""Rewrites a regex with anchors and look-around into one without them."""
