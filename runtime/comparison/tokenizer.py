"""The vocabulary and the tokenizer named on the command line: a file, a folder, a name, or the embedded one."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stackmask.pda.errors import VocabularyError
from stackmask.runtime.comparison.subject import ComparisonError
from stackmask.runtime.extras import require
from stackmask.runtime.matching.compiler import CompiledGrammar
from stackmask.runtime.matching.refusal import explain, judge
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar


EMBEDDED: Final = "embedded"
FAST_FILES: Final = ("tokenizer.json", "tokenizer.json.xz")
# where nothing beside a tokenizer.json says which token stops
USUAL_STOPS: Final = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "<|eot_id|>")


@dataclass(frozen=True, slots=True)
class Encoder:
    """Converts text to tokens with a ``tokenizers.Tokenizer``, a transformers tokenizer, or a SentencePiece processor.

    This is a class rather than a closure, since it is pickled for engines in separate processes.
    """

    backend: Any

    def __call__(self, text: bytes) -> list[int]:
        """Return the tokens of a text. Raises: ComparisonError if the text is not UTF-8."""
        # SentencePiece adds special tokens only when asked, and does not know the option
        asked = {} if hasattr(self.backend, "id_to_piece") else {"add_special_tokens": False}
        try:
            characters = text.decode()
        except UnicodeDecodeError as error:
            raise ComparisonError(
                f"the text is not UTF-8 (byte {error.start}), and a tokenizer cuts only whole characters"
            ) from None
        encoded = self.backend.encode(characters, **asked)
        return list(getattr(encoded, "ids", encoded))


@dataclass(frozen=True, slots=True)
class Greedy:
    """Converts text to the longest possible tokens, for vocabularies without their tokenizer."""

    vocabulary: Vocabulary

    def __call__(self, text: bytes) -> list[int]:
        """Return the tokens of a text."""
        return longest_matches(self.vocabulary, text)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A vocabulary, and the conversion of text to its tokens. ``name``: as requested. It can be pickled."""

    name: str
    vocabulary: Vocabulary
    encode: Callable[[bytes], list[int]]


def load_tokenizer(name: str | None) -> Tokenizer:
    """Load a tokenizer: by default the embedded one, which needs no network and no other files.

    ``name``: a ``tokenizer.json`` (or ``.json.xz``), a folder with one, a ``.tiktoken`` or SentencePiece
    ``.model`` file, a file written by ``Vocabulary.save``, or a name that transformers knows.
    Raises: ComparisonError if the tokenizer is unreadable, or has no stop token; MissingExtraError without
    the extra ``hf``, which installs the readers.
    """
    if name is None:
        from stackmask.runtime.embedded import FOLDER

        tokenizer = _fast(EMBEDDED, FOLDER / "tokenizer.json")
    else:
        path = Path(name)
        try:
            tokenizer = _load(name, path)
        except (VocabularyError, OSError, ValueError) as error:
            if isinstance(error, ComparisonError | ImportError):
                raise
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ComparisonError(f"cannot load the tokenizer {name}: {first}") from None
    if not tokenizer.vocabulary.stop_ids:
        raise ComparisonError(f"the tokenizer {tokenizer.name} does not say which token ends a text")
    return tokenizer


def _load(name: str, path: Path) -> Tokenizer:
    if path.is_dir():
        for file in FAST_FILES:
            if (path / file).is_file():
                return _fast(name, path / file)
        return _transformers(name)
    if not path.is_file():
        if path.suffix in (".json", ".xz", ".model", ".tiktoken") or name.count("/") > 1:
            raise ComparisonError(f"no such tokenizer: {name}")
        return _transformers(name)
    if path.name.endswith((".json", ".json.xz")):
        return _fast(name, path)
    if path.suffix == ".model":
        return _sentencepiece(name, path)
    if path.suffix == ".tiktoken":
        return _tiktoken(name, path)
    return _greedy(name, Vocabulary.load(path))


def _fast(name: str, file: Path) -> Tokenizer:
    """Read a ``tokenizer.json``; the adjacent configuration names the stop tokens."""
    with require("hf"):
        from tokenizers import Tokenizer as Backend
    data = file.read_bytes()
    if file.suffix == ".xz":
        try:
            data = lzma.decompress(data)
        except lzma.LZMAError as error:
            raise ComparisonError(f"cannot load the tokenizer {name}: {error}") from None
    try:
        backend = Backend.from_str(data.decode())
    except Exception as error:  # noqa: BLE001  # tokenizers raises nothing narrower
        raise ComparisonError(f"cannot load the tokenizer {name}: {error}") from None
    stops = list(dict.fromkeys(_configured_stops(file.parent, backend)))
    if not stops:
        found = (backend.token_to_id(stop) for stop in USUAL_STOPS)
        stops = [number for number in found if number is not None][:1]
    vocabulary = Vocabulary.from_huggingface(backend, stop_ids=stops)
    return Tokenizer(name, vocabulary, Encoder(backend))


def _configured_stops(folder: Path, backend: Any) -> list[int]:
    stops: list[int] = []
    for file, key in (("generation_config.json", "eos_token_id"), ("tokenizer_config.json", "eos_token")):
        with suppress(OSError, ValueError):
            value = json.loads((folder / file).read_text("utf-8")).get(key)
            for one in value if isinstance(value, list) else [value]:
                text = one.get("content") if isinstance(one, dict) else one
                number = backend.token_to_id(text) if isinstance(text, str) else text
                if isinstance(number, int):
                    stops.append(number)
    return stops


def _transformers(name: str) -> Tokenizer:
    with require("hf"):
        from transformers import AutoTokenizer
        from transformers.utils import logging
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    tokenizer: Any = AutoTokenizer.from_pretrained(name)
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    return Tokenizer(name, vocabulary, Encoder(tokenizer))


def _sentencepiece(name: str, path: Path) -> Tokenizer:
    try:
        import sentencepiece
    except ModuleNotFoundError:
        raise ComparisonError(f"{path} needs sentencepiece, which is not installed") from None
    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except RuntimeError as error:
        raise ComparisonError(f"cannot load the tokenizer {name}: {error}") from None
    vocabulary = Vocabulary.from_sentencepiece(processor)
    return Tokenizer(name, vocabulary, Encoder(processor))


def _tiktoken(name: str, path: Path) -> Tokenizer:
    """Read a file of ranks, without splitting pattern and special tokens, and append a stop token."""
    try:
        from tiktoken.load import load_tiktoken_bpe
    except ModuleNotFoundError:
        raise ComparisonError(f"{path} needs tiktoken, which is not installed") from None
    ranks = load_tiktoken_bpe(str(path))
    if not ranks:
        raise ComparisonError(f"cannot load the tokenizer {name}: no tokens in it")
    size = max(ranks.values()) + 1
    tokens: list[bytes | None] = [None] * (size + 1)
    for text, rank in ranks.items():
        tokens[rank] = text
    return _greedy(name, Vocabulary(tokens, stop_ids=[size]))


def _greedy(name: str, vocabulary: Vocabulary) -> Tokenizer:
    return Tokenizer(name, vocabulary, Greedy(vocabulary))


# --------------------------------------------------------------------------------------------------------
# The text that is followed, given or drawn from the language, and its tokens where there is no tokenizer
# --------------------------------------------------------------------------------------------------------

SHORT: Final = 40  # characters: a drawn text should have at least so many, if the language has them
DRAWN: Final = 12  # texts of which one is taken


@dataclass(frozen=True, slots=True)
class Text:
    """The text to follow. ``complete``: whether the language may end here. ``seed``: of a random text, or
    None.
    """

    data: bytes
    complete: bool
    seed: int | None = None

    @property
    def shown(self) -> str:
        """The text for display."""
        return self.data.decode("utf-8", "replace")


def given_text(compiled: CompiledGrammar, text: str) -> Text:
    """Return a given text, after checking that it is a prefix of the language.

    Raises: ComparisonError with the position of the first refused byte.
    """
    data = text.encode("utf-8", "surrogateescape")
    verdict = judge(compiled, data)
    if verdict.position < len(data):
        raise ComparisonError(explain(verdict, data, "<text>").removeprefix("rejected: "))
    return Text(data, verdict.accepted)


def draw_text(grammar: Grammar, seed: int) -> Text:
    """Draw a random text of the language: the first that is not short, or else the longest of several.

    Raises: SampleError if no complete text is found. Cost: that of ``Grammar.sample`` for each text.
    """
    longest = ""
    for number in range(DRAWN):
        [text] = grammar.sample(1, seed * DRAWN + number)
        longest = max(longest, text, key=len)
        if len(longest) >= SHORT:
            break
    return Text(longest.encode("utf-8", "surrogateescape"), True, seed)


def longest_matches(vocabulary: Vocabulary, data: bytes) -> list[int]:
    """Return the longest possible tokens that spell the bytes, for vocabularies without their tokenizer.

    Raises: ComparisonError if a byte cannot be spelled.
    """
    ids: dict[bytes, int] = {}
    for number, token in enumerate(vocabulary.tokens):
        if token:
            ids.setdefault(token, number)
    longest = max(map(len, ids), default=0)
    found: list[int] = []
    position = 0
    while position < len(data):
        for end in range(min(len(data), position + longest), position, -1):
            number_or_none = ids.get(data[position:end])
            if number_or_none is not None:
                found.append(number_or_none)
                position = end
                break
        else:
            raise ComparisonError(f"no token of the vocabulary spells the byte 0x{data[position]:02X}")
    return found
