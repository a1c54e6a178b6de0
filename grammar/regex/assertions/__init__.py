"""Rewrite a regex with anchors and lookarounds into an expression without them, where it comes apart into flat sequences."""
