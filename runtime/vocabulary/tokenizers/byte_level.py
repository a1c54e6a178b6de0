"""Byte-level BPE: every byte is written as one printable character.

Source: GPT-2's encoder.py (``bytes_to_unicode``), which all byte-level tokenizers share.
"""

from __future__ import annotations

FIRST_SUBSTITUTE = 0x100  # the 68 bytes that are not printable in Latin-1 are written from here on
_PRINTABLE = ((0x21, 0x7E), (0xA1, 0xAC), (0xAE, 0xFF))


def char_to_byte() -> dict[str, int]:
    """Return the character → byte table of byte-level BPE (256 entries)."""
    table = {chr(b): b for low, high in _PRINTABLE for b in range(low, high + 1)}
    hidden = [b for b in range(256) if chr(b) not in table]
    return table | {chr(FIRST_SUBSTITUTE + n): b for n, b in enumerate(hidden)}
