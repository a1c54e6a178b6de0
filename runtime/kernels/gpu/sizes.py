"""Sizes shared by callers and kernels; can be imported without triton."""

from __future__ import annotations

TILE = 1024  # tokens; part of what is drawn, so the same everywhere
PART = 64  # tokens of which the highest logit is kept: 128 bytes of logits in 16 bits
LISTED = 1024  # logits that are kept together while a threshold is searched
# a row of a step's entries for the mask table: rows to or, then tokens to flip; -1 where there is none
ENTRY_ROWS = 4
ENTRY_TOKENS = 12
ENTRY = ENTRY_ROWS + ENTRY_TOKENS  # int32: 64 bytes
