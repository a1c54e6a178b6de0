"""Sizes that the sampler and its kernels have in common; read without triton."""

from __future__ import annotations

TILE = 1024  # tokens; part of what is drawn, so the same everywhere
PART = 64  # tokens of which the highest logit is kept: 128 bytes of logits in 16 bits
LISTED = 1024  # logits that are kept together while a threshold is searched
