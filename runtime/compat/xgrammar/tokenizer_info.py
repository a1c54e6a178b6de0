"""``TokenizerInfo``: a vocabulary, created as in XGrammar."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from stackmask.grammar.source.options import ArgumentError
from stackmask.runtime.compat.xgrammar.errors import DeserializeFormatError, XGrammarError, runtime_errors
from stackmask.runtime.compat.xgrammar.records import read_record, write_record
from stackmask.runtime.vocabulary.tokenizers.huggingface import SPACE, Decoding
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

# tokens that end a text in the vocabularies of common models, where a caller names none
STOP_TOKENS: Final = frozenset(
    {
        b"</s>",
        b"<eos>",
        b"<|eos|>",
        b"<|endoftext|>",
        b"<|end_of_text|>",
        b"<|eot_id|>",
        b"<end_of_turn>",
        "<｜end▁of▁sentence｜>".encode(),
    }
)


class VocabType(Enum):
    """The encoding of the tokens of a vocabulary."""

    RAW = 0
    """Tokens are unchanged."""

    BYTE_FALLBACK = 1
    """A space is written as U+2581, and a byte as ``<0x1B>``."""

    BYTE_LEVEL = 2
    """Each byte is written as one printable character, as in GPT-2."""


class TokenizerInfo:
    """The vocabulary of a model, for ``GrammarCompiler``.

    ``encoded_vocab``: the tokens by id, encoded as ``vocab_type``; empty tokens are special. ``vocab_size``:
    the width of the logits. ``stop_token_ids``: by default the tokens with common names.
    ``add_prefix_space``: the value of the property; every token is exactly its bytes.
    Raises: XGrammarError (a RuntimeError) if ``vocab_size`` is smaller than the vocabulary or an id is out of range.
    """

    def __init__(
        self,
        encoded_vocab: Sequence[bytes] | Sequence[str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Sequence[int] | int | None = None,
        add_prefix_space: bool = False,
    ) -> None:
        decoded = _decoded(encoded_vocab, vocab_type)
        if stop_token_ids is None:
            stops = [i for i, token in enumerate(decoded) if token in STOP_TOKENS]
        else:
            stops = _ids(stop_token_ids)
        with runtime_errors():
            vocabulary = Vocabulary([token or None for token in decoded], stop_ids=stops, size=vocab_size)
        self._set(vocabulary, vocab_type, decoded, add_prefix_space)

    def _set(
        self, vocabulary: Vocabulary, vocab_type: VocabType, decoded: list[bytes], add_prefix_space: bool
    ) -> None:
        self.vocabulary = vocabulary  # the engine's own
        self._vocab_type = vocab_type
        self._decoded = decoded
        self._add_prefix_space = add_prefix_space

    def __repr__(self) -> str:
        return f"<compat.xgrammar.TokenizerInfo: {self.vocab_size} tokens, {self._vocab_type.name}>"

    @staticmethod
    def from_huggingface(
        tokenizer: Any, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | int | None = None
    ) -> TokenizerInfo:
        """Read a tokenizer of transformers, or a ``tokenizers.Tokenizer``.

        Raises: ValueError for an empty ``stop_token_ids``; XGrammarError for a tokenizer that cannot be read.
        """
        stops = None if stop_token_ids is None else _ids(stop_token_ids)
        if stops == []:
            raise ArgumentError("`stop_token_ids` is empty: leave it out, or name one")
        with runtime_errors():
            vocabulary = Vocabulary.from_huggingface(tokenizer, size=vocab_size, stop_ids=stops)
        decoded = [token or b"" for token in vocabulary.tokens]
        for name, token_id in vocabulary.special_names.items():
            if token_id < len(decoded):
                decoded[token_id] = name.encode()
        info = TokenizerInfo.__new__(TokenizerInfo)
        info._set(vocabulary, _type_of(tokenizer), decoded, vocabulary.strip_first_space)
        return info

    @property
    def vocab_type(self) -> VocabType:
        """The encoding of the tokens."""
        return self._vocab_type

    @property
    def vocab_size(self) -> int:
        """The width of the logits and of a mask, in tokens."""
        return self.vocabulary.size

    @property
    def add_prefix_space(self) -> bool:
        """Whether the tokenizer adds a space before a text."""
        return self._add_prefix_space

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The older name of ``add_prefix_space``."""
        return self._add_prefix_space

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of each token; for special tokens, their name or nothing."""
        return list(self._decoded)

    @property
    def stop_token_ids(self) -> list[int]:
        """The ids that end a text."""
        return list(self.vocabulary.stop_ids)

    @property
    def special_token_ids(self) -> list[int]:
        """The ids that are never text, including padding of the logits, without the stop tokens."""
        vocabulary = self.vocabulary
        padding = range(len(vocabulary.token_bytes), vocabulary.size)
        empty = (i for i, token in enumerate(self._decoded) if not token)
        return sorted({*vocabulary.special_ids, *empty, *padding} - set(vocabulary.stop_ids))

    def dump_metadata(self) -> str:
        """Return everything except the tokens as JSON, for ``from_vocab_and_metadata``."""
        return json.dumps(
            {
                "vocab_type": self._vocab_type.value,
                "vocab_size": self.vocab_size,
                "add_prefix_space": self._add_prefix_space,
                "stop_token_ids": self.stop_token_ids,
            }
        )

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab: Sequence[bytes | str], metadata: str) -> TokenizerInfo:
        """Recreate the object of ``dump_metadata`` from the same tokens. Raises: DeserializeFormatError."""
        try:
            found = json.loads(metadata)
            return TokenizerInfo(
                list(encoded_vocab),  # type: ignore[arg-type]
                VocabType(found["vocab_type"]),
                vocab_size=found["vocab_size"],
                stop_token_ids=found["stop_token_ids"],
                add_prefix_space=found["add_prefix_space"],
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, XGrammarError):
                raise
            raise DeserializeFormatError(f"this is not what dump_metadata writes: {error}") from None

    def serialize_json(self) -> str:
        """Return all of it as JSON text, for ``deserialize_json``. Cost: about 3 MB for 128,000 tokens."""
        texts = [
            None if token is None else base64.b64encode(token).decode() for token in self.vocabulary.tokens
        ]
        decoded = [base64.b64encode(token).decode() for token in self._decoded]
        vocabulary = self.vocabulary
        value = {
            "metadata": self.dump_metadata(),
            "tokens": texts,
            "decoded": decoded,
            "special_ids": sorted(vocabulary.special_ids),
            "special_names": dict(vocabulary.special_names),
            "strip_first_space": vocabulary.strip_first_space,
        }
        return write_record("TokenizerInfo", value)

    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo:
        """Read the output of ``serialize_json``. Raises: InvalidJSONError, DeserializeFormatError,
        DeserializeVersionError.
        """
        value = read_record(json_string, "TokenizerInfo")
        try:
            metadata = json.loads(value["metadata"])
            with runtime_errors():
                vocabulary = Vocabulary(
                    [None if token is None else base64.b64decode(token) for token in value["tokens"]],
                    stop_ids=metadata["stop_token_ids"],
                    special_ids=value["special_ids"],
                    special_names=value["special_names"],
                    size=metadata["vocab_size"],
                    strip_first_space=value["strip_first_space"],
                )
            decoded = [base64.b64decode(token) for token in value["decoded"]]
            info = TokenizerInfo.__new__(TokenizerInfo)
            info._set(
                vocabulary, VocabType(metadata["vocab_type"]), decoded, bool(metadata["add_prefix_space"])
            )
            return info
        except (KeyError, TypeError, ValueError) as error:
            raise DeserializeFormatError(f"this is not what serialize_json writes: {error}") from None


def _ids(given: Sequence[int] | int) -> list[int]:
    return [given] if isinstance(given, int) else list(given)


def _decoded(tokens: Sequence[bytes] | Sequence[str], vocab_type: VocabType) -> list[bytes]:
    """Return the bytes of encoded tokens; other tokens are returned unchanged."""
    written: list[str | None] = []
    raw: dict[int, bytes] = {}
    for token in tokens:
        text = token if isinstance(token, str) else None
        if isinstance(token, bytes):
            try:
                text = token.decode()
            except UnicodeDecodeError:
                raw[len(written)] = token
        written.append(text)
    decoded = _DECODINGS[vocab_type].decode([written])
    return [raw.get(i, token or b"") for i, token in enumerate(decoded)]


_DECODINGS: Final = {
    VocabType.RAW: Decoding(),
    VocabType.BYTE_FALLBACK: Decoding(replacements=((SPACE, " "),), byte_fallback=True),
    VocabType.BYTE_LEVEL: Decoding(byte_level=True),
}


def _type_of(tokenizer: Any) -> VocabType:
    """Return the encoding of a tokenizer's tokens, for information only: bytes are read from its decoder."""
    names = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    if "<0x0A>" in names:
        return VocabType.BYTE_FALLBACK
    # all of the 68 substitutes stand alone in such a vocabulary; the one for a space tells it from others
    return VocabType.BYTE_LEVEL if "\u0120" in names else VocabType.RAW
