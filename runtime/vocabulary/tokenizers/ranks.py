"""Read tokenizers that are tables of bytes by rank: tiktoken's encodings and Mistral's tekken."""

from __future__ import annotations

from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.runtime.vocabulary.tokenizers.table import TokenTable


def read_tiktoken(encoding: Any) -> TokenTable:
    """Return the token table of a ``tiktoken.Encoding``. Ids that no token has stay without text."""
    if not hasattr(encoding, "special_tokens_set"):
        raise VocabularyError(
            f"{encoding!r:.60} is {type(encoding).__name__}, not a tiktoken.Encoding: write tiktoken.get_encoding(name)"
        )
    names = {name: encoding.encode_single_token(name) for name in encoding.special_tokens_set}
    special = frozenset(names.values())
    tokens: list[bytes | None] = [None] * encoding.n_vocab
    decode = encoding.decode_single_token_bytes
    for i in range(encoding.n_vocab):
        if i not in special:
            try:
                tokens[i] = decode(i)
            except KeyError:  # a gap in the ranks, as at 199,998 of o200k_base
                continue
    stop = names.get("<|endoftext|>")
    return TokenTable(
        tokens,
        special_ids=special,
        added_ids=special,
        stop_ids=() if stop is None else (stop,),
        names=names,
    )


def read_tekken(tekkenizer: Any) -> TokenTable:
    """Return the token table of mistral-common's ``Tekkenizer``: the special tokens come first, then the ranks."""
    specials = tekkenizer.num_special_tokens
    names = {tekkenizer.id_to_piece(i): i for i in range(specials)}
    decode = tekkenizer.id_to_byte_piece
    tokens: list[bytes | None] = [None] * specials
    tokens.extend(decode(i) for i in range(specials, tekkenizer.n_words))
    special = frozenset(range(specials))
    return TokenTable(
        tokens, special_ids=special, added_ids=special, stop_ids=(tekkenizer.eos_id,), names=names
    )
