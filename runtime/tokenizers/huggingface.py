"""Read transformers tokenizers, fast and slow, and bare ``tokenizers.Tokenizer`` objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.runtime.tokenizers.byte_level import decode_byte_level
from stackmask.runtime.tokenizers.decoder import Decoding, infer_decoder, read_decoder
from stackmask.runtime.tokenizers.pieces import read_piece_bytes, sentencepiece_adds_space
from stackmask.runtime.tokenizers.ranks import read_tekken, read_tiktoken
from stackmask.runtime.tokenizers.table import TokenTable

# attributes under which slow tokenizers keep a tiktoken.Encoding (Qwen, Kimi, ChatGLM, phi-4 and others)
_ENCODING_HOLDERS = ("tokenizer", "model", "encoder", "encoding", "enc", "_model", "tokenizer_model")


def read_huggingface(tokenizer: Any) -> TokenTable:
    """Return the token table of a transformers tokenizer, whatever backs it.

    Raises: VocabularyError if nothing in it tells the bytes of its tokens.
    """
    if hasattr(tokenizer, "get_added_tokens_decoder") and hasattr(tokenizer, "get_vocab_size"):
        return read_backend(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        table = read_backend(backend)
    elif (tekken := _find_mistral(tokenizer)) is not None:
        return tekken
    elif (encoding := _find_encoding(tokenizer)) is not None:
        table = _with_added_tokens(read_tiktoken(encoding), tokenizer)
    elif hasattr(getattr(tokenizer, "sp_model", None), "id_to_piece"):
        table = _read_slow_sentencepiece(tokenizer)
    elif isinstance(getattr(tokenizer, "byte_decoder", None), Mapping):
        table = _read_slow_byte_level(tokenizer)
    else:
        raise VocabularyError(
            f"cannot read token bytes from {type(tokenizer).__name__}: it holds neither a tokenizers backend, "
            "a SentencePiece model, a tiktoken encoding nor a byte table; give the bytes to Vocabulary(tokens=...)"
        )
    eos = getattr(tokenizer, "eos_token_id", None)
    special = [i for i in getattr(tokenizer, "all_special_ids", ()) if i is not None]
    table = table.with_special([i for i in special if 0 <= i < len(table.tokens)])
    return table if eos is None else table.with_stops([eos])


def read_backend(backend: Any) -> TokenTable:
    """Return the token table of a ``tokenizers.Tokenizer``; the kind is read from its decoder.

    Cost: one pass over the vocabulary; the merges are not touched.
    """
    decoder = _state(backend.decoder)
    model = backend.model
    byte_fallback = bool(getattr(model, "byte_fallback", False))
    if decoder is not None:
        decoding = read_decoder(decoder)
    else:
        decoding = infer_decoder(_state(backend.normalizer), _state(backend.pre_tokenizer), byte_fallback)
    vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=False)
    added = {
        i: (token.content, bool(token.special)) for i, token in backend.get_added_tokens_decoder().items()
    }
    table = _assemble(vocabulary, added, decoding)
    unknown = vocabulary.get(getattr(model, "unk_token", None) or "")
    return table if unknown is None else table.with_special([unknown])


def _state(part: Any) -> Mapping[str, Any] | None:
    """Return the JSON of a decoder, pre-tokenizer or normaliser; it is what pickling them writes."""
    if part is None:
        return None
    state: Mapping[str, Any] = json.loads(part.__getstate__())
    return state


def _assemble(
    vocabulary: Mapping[str, int], added: Mapping[int, tuple[str, bool]], decoding: Decoding
) -> TokenTable:
    """Lay decoded tokens out by id, then the added ones: special ones without text."""
    count = 1 + max(max(vocabulary.values(), default=-1), max(added, default=-1))
    tokens: list[bytes | None] = [None] * count
    for i, token in zip(vocabulary.values(), decoding.decode(list(vocabulary)), strict=True):
        tokens[i] = token
    for i, (content, special) in added.items():
        tokens[i] = None if special else _added_text(content, decoding)
    return TokenTable(
        tokens,
        special_ids=frozenset(i for i, (_, special) in added.items() if special),
        added_ids=frozenset(added),
        names={content: i for i, (content, _) in added.items()},
        strip_first_space=decoding.strip_first_space,
    )


def _added_text(content: str, decoding: Decoding) -> bytes:
    """Return an added token's text: its content as it is in byte-level tokenizers, else what the decoder makes of it."""
    return content.encode() if decoding.byte_level else decoding.decode([content])[0]


def _find_encoding(tokenizer: Any) -> Any:
    """Return the tiktoken encoding that a slow tokenizer wraps, or None."""
    for name in _ENCODING_HOLDERS:
        held = getattr(tokenizer, name, None)
        if hasattr(held, "decode_single_token_bytes") and hasattr(held, "special_tokens_set"):
            return held
    return None


def _find_mistral(tokenizer: Any) -> TokenTable | None:
    """Return the table of a mistral-common tokenizer (or transformers' wrapper of one), or None."""
    for held in (tokenizer, getattr(tokenizer, "tokenizer", None)):
        inner = getattr(getattr(held, "instruct_tokenizer", None), "tokenizer", held)
        if hasattr(inner, "id_to_byte_piece") and hasattr(inner, "num_special_tokens"):
            return read_tekken(inner)
        processor = getattr(inner, "_model", None)
        if hasattr(inner, "instruct_tokenizer") or not hasattr(processor, "id_to_piece"):
            continue
        from stackmask.runtime.tokenizers.pieces import read_sentencepiece

        return read_sentencepiece(processor)
    return None


def _with_added_tokens(table: TokenTable, tokenizer: Any) -> TokenTable:
    """Overlay the tokens that a slow tokenizer added to its model's own."""
    added: Mapping[int, Any] = getattr(tokenizer, "added_tokens_decoder", {})
    tokens = list(table.tokens)
    tokens.extend([None] * (1 + max(added, default=-1) - len(tokens)))
    for i, token in added.items():
        tokens[i] = None if token.special else token.content.encode()
    return TokenTable(
        tokens,
        special_ids=table.special_ids.union(i for i, token in added.items() if token.special),
        added_ids=table.added_ids.union(added),
        stop_ids=table.stop_ids,
        names={**table.names, **{token.content: i for i, token in added.items()}},
        strip_first_space=table.strip_first_space,
    )


def _slow_pieces(tokenizer: Any) -> Sequence[str | None]:
    """Return the written form of each id of a slow tokenizer, added tokens left out."""
    pieces: list[str | None] = [None] * len(tokenizer)
    added = getattr(tokenizer, "added_tokens_decoder", {})
    for piece, i in tokenizer.get_vocab().items():
        if i not in added:
            pieces.extend([None] * (i + 1 - len(pieces)))
            pieces[i] = piece
    return pieces


def _read_slow_sentencepiece(tokenizer: Any) -> TokenTable:
    """Read a slow SentencePiece tokenizer. Its ids may be shifted against the model's, so pieces are found by text."""
    model = tokenizer.sp_model
    tokens: list[bytes | None] = []
    for piece in _slow_pieces(tokenizer):
        i = None if piece is None else model.piece_to_id(piece)
        if piece is None or i is None or (i == model.unk_id() and model.id_to_piece(i) != piece):
            tokens.append(None)
        else:
            tokens.append(read_piece_bytes(model, i))
    table = TokenTable(tokens, strip_first_space=sentencepiece_adds_space(model))
    return _with_added_tokens(table, tokenizer)


def _read_slow_byte_level(tokenizer: Any) -> TokenTable:
    """Read a slow byte-level tokenizer (GPT-2's Python implementation and its descendants)."""
    pieces = _slow_pieces(tokenizer)
    known = [piece for piece in pieces if piece is not None]
    decoded = iter(decode_byte_level(known))
    table = TokenTable([None if piece is None else next(decoded) for piece in pieces])
    return _with_added_tokens(table, tokenizer)
