from collections.abc import Iterable

from stackmask.pda.vocabulary.token_bytes import TokenBytesBuilder

def add_byte_level(builder: TokenBytesBuilder, pieces: Iterable[str | None]) -> None:
    """Add pieces of byte-level BPE: each character is a byte; None is no text.

    A piece with a character outside the table stands for its own UTF-8, as ``tokenizers`` decodes it.
    """

def add_pieces(
    builder: TokenBytesBuilder,
    pieces: Iterable[str | None],
    replacements: Iterable[tuple[bytes, bytes]],
    byte_fallback: bool,
) -> None:
    """Add pieces that are text: ``replacements`` in order, then ``<0xHH>`` is a byte if ``byte_fallback``.

    ``replacements``: pairs of UTF-8 strings, the first of each not empty. None is no text.
    """
