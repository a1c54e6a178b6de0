"""Read transformers tokenizers, fast and slow, and bare ``tokenizers.Tokenizer`` objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes
from stackmask.runtime.vocabulary.tokenizers.decoder import Decoding, infer_decoder, read_decoder
from stackmask.runtime.vocabulary.tokenizers.pieces import read_piece_bytes, sentencepiece_adds_space
from stackmask.runtime.vocabulary.tokenizers.ranks import read_tekken, read_tiktoken
from stackmask.runtime.vocabulary.tokenizers.table import TokenTable

PART = 8192  # written tokens that are held at once

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
        if isinstance(tokenizer, str):
            raise VocabularyError(
                f"{tokenizer!r:.80} is a name, not a tokenizer: write transformers.AutoTokenizer.from_pretrained(name)"
            )
        if hasattr(tokenizer, "generation_config"):
            raise VocabularyError(
                f"{type(tokenizer).__name__} is a model, not a tokenizer: write from_huggingface(tokenizer, "
                "generation_config=model.generation_config)"
            )
        if isinstance(tokenizer, Mapping):
            raise VocabularyError(
                f"{type(tokenizer).__name__} is no tokenizer: how tokens spell bytes is known to the tokenizer itself, not to "
                "its get_vocab()"
            )
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
    table = _with_backend_added(_decode_model(backend, decoding), backend, decoding)
    unknown = getattr(model, "unk_token", None)
    i = model.token_to_id(unknown) if unknown else None
    return table if i is None else table.with_special([i])


def _decode_model(backend: Any, decoding: Decoding) -> TokenBytes:
    """Return the bytes of the model's own tokens.

    Asking for one id after the other takes half the time of ``get_vocab`` and makes no large dictionary. That
    finds every token if the ids have no gap; else ``get_vocab`` tells.
    """
    count: int = backend.get_vocab_size(with_added_tokens=False)
    find = backend.model.id_to_token
    texts = decoding.decode(
        list(map(find, range(first, min(first + PART, count)))) for first in range(0, count, PART)
    )
    if texts.present == count:
        return texts
    vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=False)
    pieces: list[str | None] = [None] * (1 + max(vocabulary.values(), default=-1))
    for piece, i in vocabulary.items():
        pieces[i] = piece
    return decoding.decode([pieces])


def _with_backend_added(texts: TokenBytes, backend: Any, decoding: Decoding) -> TokenTable:
    """Lay the added tokens over the model's own: special ones have no text.

    The text of the others is their content as it is in byte-level tokenizers, else what the decoder makes of it.
    """
    added: dict[int, Any] = backend.get_added_tokens_decoder()
    # no tuple per token: thousands of new containers would set off the collector over all of transformers
    contents = [token.content for token in added.values()]
    special = frozenset(i for i, token in added.items() if token.special)
    spelled = [c.encode() for c in contents] if decoding.byte_level else list(decoding.decode([contents]))
    return TokenTable(
        texts.overlay({i: None if i in special else text for i, text in zip(added, spelled, strict=True)}),
        special_ids=special,
        added_ids=frozenset(added),
        names=dict(zip(contents, added, strict=True)),
        strip_first_space=decoding.strip_first_space,
    )


def _state(part: Any) -> Mapping[str, Any] | None:
    """Return the JSON of a decoder, pre-tokenizer or normaliser; it is what pickling them writes."""
    if part is None:
        return None
    state: Mapping[str, Any] = json.loads(part.__getstate__())
    return state


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
        from stackmask.runtime.vocabulary.tokenizers.pieces import read_sentencepiece

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
    table = TokenTable(Decoding(byte_level=True).decode([_slow_pieces(tokenizer)]))
    return _with_added_tokens(table, tokenizer)
