"""Read transformers tokenizers, fast and slow, and bare ``tokenizers.Tokenizer`` objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes, TokenBytesBuilder
from stackmask.runtime.vocabulary.tokenizers.piece_decoding import add_byte_level, add_pieces
from stackmask.runtime.vocabulary.tokenizers.table import TokenTable

PART = 8192  # written tokens that are held at once

# attributes under which slow tokenizers keep a tiktoken.Encoding (Qwen, Kimi, ChatGLM, phi-4 and others)
_ENCODING_HOLDERS = ("tokenizer", "model", "encoder", "encoding", "enc", "_model", "tokenizer_model")


def read_huggingface(tokenizer: Any) -> TokenTable:
    """Return the token table of a transformers tokenizer of any kind.

    Raises: VocabularyError if the bytes of its tokens cannot be determined.
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
                f"{type(tokenizer).__name__} is not a tokenizer: how tokens spell bytes is known to the tokenizer itself, not to "
                "its get_vocab()"
            )
        raise VocabularyError(
            f"cannot read token bytes from {type(tokenizer).__name__}: it has neither a tokenizers backend, "
            "a SentencePiece model, a tiktoken encoding nor a byte table; give the bytes to Vocabulary(tokens=...)"
        )
    eos = getattr(tokenizer, "eos_token_id", None)
    special = [i for i in getattr(tokenizer, "all_special_ids", ()) if i is not None]
    table = table.with_special([i for i in special if 0 <= i < len(table.tokens)])
    return table if eos is None else table.with_stops([eos])


def read_backend(backend: Any) -> TokenTable:
    """Return the token table of a ``tokenizers.Tokenizer``; the kind is determined by its decoder.

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

    Looking up single ids takes half the time of ``get_vocab`` and creates no large dictionary. This finds all
    tokens if the ids have no gaps; otherwise ``get_vocab`` is used.
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
    """Overlay the added tokens on the model's own. Special tokens have no text.

    The text of other tokens is their unchanged content in byte-level tokenizers, else their decoded content.
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
    """Return the JSON of a decoder, pre-tokenizer or normaliser, as in its pickled form."""
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
        from stackmask.runtime.vocabulary.tokenizers.huggingface import read_sentencepiece

        return read_sentencepiece(processor)
    return None


def _with_added_tokens(table: TokenTable, tokenizer: Any) -> TokenTable:
    """Overlay the tokens added to a slow tokenizer."""
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
    """Return the written form of each id of a slow tokenizer, without added tokens."""
    pieces: list[str | None] = [None] * len(tokenizer)
    added = getattr(tokenizer, "added_tokens_decoder", {})
    for piece, i in tokenizer.get_vocab().items():
        if i not in added:
            pieces.extend([None] * (i + 1 - len(pieces)))
            pieces[i] = piece
    return pieces


def _read_slow_sentencepiece(tokenizer: Any) -> TokenTable:
    """Read a slow SentencePiece tokenizer. Its ids may be shifted relative to the model's, so pieces are
    found by text.
    """
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


# -- Read the decoder of a ``tokenizers`` tokenizer: how written tokens become text ------------------------


@dataclass(frozen=True, slots=True)
class Decoding:
    """The effect of a decoder on each token, and on the text as a whole.

    ``replacements`` are applied in order, ``byte_fallback`` converts ``<0xHH>`` to a byte,
    ``strip_first_space`` drops one leading space of the whole text.
    """

    byte_level: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    byte_fallback: bool = False
    strip_first_space: bool = False

    def decode(self, pieces: Iterable[Sequence[str | None]]) -> TokenBytes:
        """Return the bytes of each written token, by id; None has no bytes.

        ``pieces`` arrive in chunks, so that they need not all be in memory at once.
        """
        builder = TokenBytesBuilder()
        for part in pieces:
            if self.byte_level:
                add_byte_level(builder, part)
            else:
                add_pieces(builder, part, self.replacements, self.byte_fallback)
        return builder.finish()


def read_decoder(decoder: Mapping[str, Any]) -> Decoding:
    """Interpret a decoder's JSON: ByteLevel; Metaspace; or a Sequence of Replace, ByteFallback, Fuse and Strip.

    Raises: VocabularyError on a step that joins tokens in a way that a table of token bytes cannot express
        (WordPiece, CTC, BPE suffixes, regular expressions), naming the step.
    """
    steps = _flatten(decoder)
    byte_level = byte_fallback = strip = fused = False
    replacements: list[tuple[str, str]] = []
    for step in steps:
        kind = step.get("type")
        if strip and kind != "Fuse":
            raise _unsupported(step, "after Strip")
        if kind == "ByteLevel":
            byte_level = True
        elif kind == "ByteFallback":
            byte_fallback = True
        elif kind == "Fuse":
            fused = True
        elif kind == "Metaspace":
            replacements.append((str(step.get("replacement", "▁")), " "))
            strip = _scheme(step) != "never"
        elif kind == "Replace" and not fused and "String" in step.get("pattern", {}):
            replacements.append((step["pattern"]["String"], step.get("content", "")))
        elif kind == "Strip" and fused and step.get("content") == " " and not step.get("stop"):
            start = int(step.get("start", 0))
            if start > 1:
                raise _unsupported(step, f"with start {start}")
            strip = start == 1  # mutant: strip-none
        else:
            raise _unsupported(step, "")
    if byte_level and (replacements or byte_fallback):
        raise _unsupported({"type": "ByteLevel"}, "together with other steps")
    return Decoding(byte_level, tuple(replacements), byte_fallback, strip)


def infer_decoder(
    normalizer: Mapping[str, Any] | None, pre_tokenizer: Mapping[str, Any] | None, byte_fallback: bool
) -> Decoding:
    """Derive the written form of tokens from the encoder, for tokenizers without a decoder.

    Raises: VocabularyError if the encoder writes bytes or spaces in an unknown way.
    """
    before = _flatten(pre_tokenizer) if pre_tokenizer else []
    if any(step.get("type") == "ByteLevel" for step in before):
        return Decoding(byte_level=True)
    for step in before:
        if step.get("type") == "Metaspace":
            written = str(step.get("replacement", "▁"))
            return Decoding(False, ((written, " "),), byte_fallback, _scheme(step) != "never")
    changes = _flatten(normalizer) if normalizer else []
    for step in changes:
        if step.get("type") == "Replace" and step.get("pattern") == {"String": " "}:
            written = step["content"]
            prepends = any(s.get("type") == "Prepend" and s.get("prepend") == written for s in changes)
            return Decoding(False, ((written, " "),), byte_fallback, prepends)
    raise VocabularyError(
        "the tokenizer has no decoder, and neither its pre-tokenizer nor its normaliser tells how "
        "tokens are written: give the bytes to Vocabulary(tokens=...) instead"
    )


def _flatten(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the steps of nested Sequences in order; decoders, pre-tokenizers and normalisers name them differently."""
    steps: list[Mapping[str, Any]] = []
    stack = [part]
    while stack:
        current = stack.pop()
        if current.get("type") == "Sequence":
            inner = (
                current.get("decoders") or current.get("pretokenizers") or current.get("normalizers") or ()
            )
            stack.extend(reversed(inner))
        else:
            steps.append(current)
    return steps


def _scheme(step: Mapping[str, Any]) -> str:
    """Return a Metaspace step's prepend scheme; files from before tokenizers 0.15 use ``add_prefix_space``."""
    scheme = step.get("prepend_scheme")
    if scheme is not None:
        return str(scheme)
    return "always" if step.get("add_prefix_space", True) else "never"


def _unsupported(step: Mapping[str, Any], how: str) -> VocabularyError:
    shown = " ".join(filter(None, (str(step.get("type")), how)))
    return VocabularyError(
        f"the tokenizer's decoder has a step that is not supported: {shown}; "
        "if you know the bytes of each token, give them to Vocabulary(tokens=...)"
    )


# -- Read tokenizers that are tables of bytes by rank: tiktoken's encodings and Mistral's tekken -----------


def read_tiktoken(encoding: Any) -> TokenTable:
    """Return the token table of a ``tiktoken.Encoding``. Unassigned ids have no text."""
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


# -- Read SentencePiece models -----------------------------------------------------------------------------


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
    """Return the bytes of a piece; None for control, unknown and unused pieces."""
    if processor.is_control(i) or processor.is_unknown(i) or processor.is_unused(i):
        return None
    piece: str = processor.id_to_piece(i)
    if processor.is_byte(i):
        return bytes.fromhex(piece[3:5])
    return piece.replace(SPACE, " ").encode()


def sentencepiece_adds_space(processor: Any) -> bool:
    """Return whether the model adds a space before the first word, and so drops it when decoding.

    The flag is in the model file, which needs protobuf to read; encoding one letter shows it too.
    """
    pieces = processor.encode("a", out_type=str)
    return bool(pieces) and pieces[0].startswith(SPACE)
