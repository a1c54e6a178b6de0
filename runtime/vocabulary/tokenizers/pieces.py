"""Read SentencePiece models."""

from __future__ import annotations

from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.runtime.vocabulary.tokenizers.table import TokenTable

SPACE = "▁"


def read_sentencepiece(processor: Any) -> TokenTable:
    """Return the token table of a ``SentencePieceProcessor``: control and unknown pieces are special."""
    if not hasattr(processor, "get_piece_size"):
        raise VocabularyError(
            f"{processor!r:.60} is {type(processor).__name__}, not a SentencePieceProcessor: write "
            "SentencePieceProcessor(model_file=path)"
        )
    count = processor.get_piece_size()
    special = frozenset(i for i in range(count) if processor.is_control(i) or processor.is_unknown(i))
    tokens = [None if i in special else read_piece_bytes(processor, i) for i in range(count)]
    eos = processor.eos_id()
    return TokenTable(
        tokens,
        special_ids=special,
        added_ids=special,
        stop_ids=(eos,) if eos >= 0 else (),
        names={processor.id_to_piece(i): i for i in special},
        strip_first_space=sentencepiece_adds_space(processor),
    )


def read_piece_bytes(processor: Any, i: int) -> bytes | None:
    """Return what a piece stands for; None for control, unknown and unused ones."""
    if processor.is_control(i) or processor.is_unknown(i) or processor.is_unused(i):
        return None
    piece: str = processor.id_to_piece(i)
    if processor.is_byte(i):
        return bytes.fromhex(piece[3:5])
    return piece.replace(SPACE, " ").encode()


def sentencepiece_adds_space(processor: Any) -> bool:
    """Return whether the model puts a space before the first word, and so drops it when decoding.

    The flag is in the model file, which needs protobuf to read; encoding one letter shows it as well.
    """
    pieces = processor.encode("a", out_type=str)
    return bool(pieces) and pieces[0].startswith(SPACE)
