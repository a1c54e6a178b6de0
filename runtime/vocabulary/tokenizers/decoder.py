"""Read the decoder of a ``tokenizers`` tokenizer: how written tokens become text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes, TokenBytesBuilder
from stackmask.runtime.vocabulary.tokenizers.piece_decoding import add_byte_level, add_pieces


@dataclass(frozen=True, slots=True)
class Decoding:
    """What a decoder does to each token, and to the text as a whole.

    ``replacements`` are applied in order, ``byte_fallback`` turns ``<0xHH>`` into a byte, ``strip_first_space``
    drops one leading space of the whole text.
    """

    byte_level: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    byte_fallback: bool = False
    strip_first_space: bool = False

    def decode(self, pieces: Iterable[Sequence[str | None]]) -> TokenBytes:
        """Return the bytes of each written token, by id; None is no text.

        ``pieces`` come in parts, so that not all of them need to be in memory at once.
        """
        builder = TokenBytesBuilder()
        replacements = [(old.encode(), new.encode()) for old, new in self.replacements if old]
        for part in pieces:
            if self.byte_level:
                add_byte_level(builder, part)
            elif len(replacements) == len(self.replacements):
                add_pieces(builder, part, replacements, self.byte_fallback)
            else:  # an empty string occurs between all characters, which bytes do not show
                texts = [None if piece is None else self._replaced(piece) for piece in part]
                add_pieces(builder, texts, (), self.byte_fallback)
        return builder.finish()

    def _replaced(self, text: str) -> str:
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text


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
    """Find out from the encoding side how tokens are written, for tokenizers that come without a decoder.

    Raises: VocabularyError if nothing there writes bytes or spaces in a known way.
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
    """Return a Metaspace step's prepend scheme; files from before tokenizers 0.15 say ``add_prefix_space``."""
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
