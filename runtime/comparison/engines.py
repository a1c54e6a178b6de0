"""One interface for all engines: the two of this project, and other libraries. All get the same bytes for the
same token ids.

Other libraries get patterns without the anchors that they all imply, and with expanded classes of ECMA-262.
Otherwise patterns are unchanged, so that differences in meaning appear as different masks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from stackmask.pda.limits import Limits
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

Mask = npt.NDArray[np.int32]

PUSHDOWN: Final = "pushdown"
FSM: Final = "FSM"


class Unsupported(Exception):
    """An engine reports that it cannot enforce a language, which does not count as a fault; the message is one line."""


@dataclass(slots=True)
class Facts:
    """The facts that an engine reports after a walk: states, bytes held, and its own statistics."""

    states: int | None = None
    memory_bytes: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """The interface of every engine. One object serves one vocabulary and follows one text at a time."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        """Do the work that a vocabulary needs once."""

    def compile(self, subject: Subject) -> None:
        """Compile the language. Raises: Unsupported."""

    def begin(self) -> None:
        """Go to the start of a text."""

    def fill(self, mask: Mask) -> None:
        """Write the allowed tokens."""

    def accept(self, token: int) -> bool:
        """Advance by a token; return False if it is not allowed."""

    def forced(self) -> bytes | None:
        """Return the forced text, or None if the engine does not report it."""

    def facts(self) -> Facts:
        """Return the facts that the engine reports."""


class Pushdown:
    """The lazily determinised pushdown automaton."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        from stackmask.runtime.matching.compiler import Compiler

        self.compiler: Any = Compiler(vocabulary)
        self.compiled: Any = None
        self.matcher: Any = None

    def compile(self, subject: Subject) -> None:
        """Create the grammar and compile it; states and masks are computed on demand."""
        self.compiled = self.compiler.compile(subject.grammar())

    def begin(self) -> None:
        """Create a new matcher."""
        self.matcher = self.compiled.matcher()

    def fill(self, mask: Mask) -> None:
        """Write the allowed tokens."""
        self.matcher.fill_next_token_bitmask(mask)

    def accept(self, token: int) -> bool:
        """Advance by a token."""
        return bool(self.matcher.accept_token(token))

    def forced(self) -> bytes | None:
        """Return the forced text."""
        return str(self.matcher.find_jump_forward_string()).encode()

    def facts(self) -> Facts:
        """Return the visited local states and the contents of the store."""
        details = self.compiled.stats()
        held = sum(value for key, value in details.items() if key.endswith("_bytes"))
        return Facts(details.get("terms"), held, details)


class Fsm(Pushdown):
    """The finite-state mode, with DFA, token index and compressed DFA, all computed in advance."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        self.vocabulary = vocabulary
        self.memory: int = options["memory"]
        self.depth: int | None = options["depth"]
        self.limits = Limits(max_seconds=options["seconds"])

    def compile(self, subject: Subject) -> None:
        """Create the grammar, the DFA and the token index. Raises: StackmaskError for a refusal."""
        from stackmask.runtime.fsm.compiling import compile as compile_fsm

        self.compiled = compile_fsm(
            subject.grammar(), self.vocabulary, memory=self.memory, depth=self.depth, limits=self.limits
        )

    def facts(self) -> Facts:
        """Return the states of the DFA and the bytes of the token index."""
        details = self.compiled.stats()
        return Facts(details["states"], self.compiled.nbytes, details)


WARM: Final[dict[str, Subject]] = {
    "regex": Subject("regex", "[a-z]{2}"),
    "grammar": Subject("grammar", 'root ::= "a" [b-z]'),
    "schema": Subject("schema", '{"type": "object", "properties": {"a": {"type": "string"}}}'),
}


def empty_mask(vocabulary: Vocabulary) -> Mask:
    """Return a mask of one row. Shapes: int32 (1, ceil(vocab / 32))."""
    return np.zeros((1, (vocabulary.size + 31) // 32), np.int32)


# -- Other libraries -------------------------------------------------------------------------------------

OUTLINES_DEPTH: Final = 3  # levels of recursion that outlines-core writes out unless told otherwise


def bare_pattern(subject: Subject) -> str:
    """Return the pattern of whole texts without ``^`` and ``$`` at its ends, for libraries that imply them."""
    pattern = subject.source
    first, last = pattern.startswith("^"), pattern.endswith("$") and not _is_escaped(pattern)
    if "|" in pattern and (first or last):  # an anchor may belong to one alternative only
        first = last = False
    pattern = pattern[first : len(pattern) - last]
    return ascii_classes(pattern) if subject.flavor == "ecma" else pattern


def ascii_classes(pattern: str) -> str:
    r"""Expand ``\d`` and ``\w``: in ECMA-262 these are ASCII, in most libraries Unicode."""
    out: list[str] = []
    in_class = False
    for piece in re.findall(r"\\.|.", pattern, re.DOTALL):
        letters = {"\\d": "0-9", "\\w": "0-9A-Za-z_"}.get(piece)
        if letters is not None:
            out.append(letters if in_class else f"[{letters}]")
            continue
        if not in_class and piece in ("\\D", "\\W"):
            out.append("[^0-9]" if piece == "\\D" else "[^0-9A-Za-z_]")
            continue
        in_class = piece == "[" or (in_class and piece != "]")
        out.append(piece)
    return "".join(out)


def _is_escaped(pattern: str) -> bool:
    body = pattern[:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


def first_line(error: object) -> str:
    """Return the first line of a message, at most 300 characters, without a leading time and source line."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return re.sub(r"^\[[\d:]+\] \S+?:\d+: ", "", lines[0])[:300] if lines else type(error).__name__


class XGrammar(Pushdown):
    """XGrammar: a pushdown automaton whose masks are mostly computed at compile time. Its matchers have our
    methods.
    """

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        import xgrammar

        self.library = xgrammar
        # tokens that are no text are empty, which it takes for special ones
        texts = [token or b"" for token in vocabulary.tokens]
        self.info = xgrammar.TokenizerInfo(
            texts,
            xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.stop_ids),
        )
        self.compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        self.compiled: Any = None

    def compile(self, subject: Subject) -> None:
        """Compile a pattern, a schema or a grammar in its own dialect."""
        try:
            match subject.kind:
                case "regex":
                    self.compiled = self.compiler.compile_regex(bare_pattern(subject))
                case "schema":
                    self.compiled = self.compiler.compile_json_schema(
                        subject.source, any_whitespace=True, strict_mode=False
                    )
                case "grammar" if subject.is_lark:
                    self.compiled = self.compiler.compile_grammar(
                        self.library.Grammar.from_lark(subject.source)
                    )
                case "grammar":
                    grammar = self.library.Grammar.from_ebnf(
                        subject.source, root_rule_name=subject.start or "root"
                    )
                    self.compiled = self.compiler.compile_grammar(grammar)
        except RuntimeError as error:
            raise Unsupported(first_line(error)) from None

    def begin(self) -> None:
        """Create a new matcher."""
        self.matcher = self.library.GrammarMatcher(self.compiled)

    def facts(self) -> Facts:
        """Return the size of the compiled grammar."""
        return Facts(None, int(self.compiled.memory_size_bytes))


class _Tokens:
    """The tokenizer interface that llguidance requires. For forced text, it only allows the tokens of this."""

    def __init__(self, vocabulary: Vocabulary, encode: Callable[[bytes], list[int]]) -> None:
        self.encode = encode
        self.eos_token_id = vocabulary.stop_ids[0]
        self.bos_token_id = None
        texts = vocabulary.tokens
        tokens = [texts[i] if i < len(texts) else None for i in range(vocabulary.size)]
        # a byte that is never text, so that nothing matches a token without text
        self.tokens = [b"\xff<%d>" % i if token is None else token for i, token in enumerate(tokens)]
        self.special_token_ids = [i for i, token in enumerate(tokens) if token is None]

    def __call__(self, text: bytes | str) -> list[int]:
        return self.encode(text.encode() if isinstance(text, str) else text)


class LLGuidance:
    """llguidance: Earley's algorithm over a lexer of derivatives computed on demand."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        import llguidance
        from llguidance import numpy as bitmasks

        self.library, self.bitmasks = llguidance, bitmasks
        self.tokenizer = llguidance.LLTokenizer(
            llguidance.TokenizerWrapper(_Tokens(vocabulary, options["encode"])),
            n_vocab=vocabulary.size,
            eos_token=list(vocabulary.stop_ids),
        )
        self.compiled: Any = None
        self.matcher: Any = None

    def compile(self, subject: Subject) -> None:
        """Compile a pattern, a schema, or a grammar through its converter."""
        make = self.library.LLMatcher
        try:
            match subject.kind:
                case "regex":
                    grammar = make.grammar_from_regex(bare_pattern(subject))
                case "schema":
                    grammar = make.grammar_from_json_schema(subject.source)
                case "grammar":
                    from llguidance.gbnf_to_lark import gbnf_to_lark

                    lark = subject.source if subject.is_lark else gbnf_to_lark(subject.source)
                    grammar = make.grammar_from_lark(lark)
        except Unsupported:
            raise
        except Exception as error:  # noqa: BLE001  # its converters raise what they meet
            raise Unsupported(first_line(error)) from None
        self.compiled = make(self.tokenizer, grammar, log_level=0)
        if self.compiled.is_error():
            raise Unsupported(first_line(self.compiled.get_error()))

    def begin(self) -> None:
        """Create a new matcher."""
        self.matcher = self.compiled.deep_copy()

    def fill(self, mask: Mask) -> None:
        """Write the allowed tokens."""
        self.bitmasks.fill_next_token_bitmask(self.matcher, mask, 0)

    def accept(self, token: int) -> bool:
        """Advance by a token."""
        return bool(self.matcher.consume_token(token))

    def forced(self) -> bytes | None:
        """Return the forced text."""
        return bytes(self.matcher.compute_ff_bytes())

    def facts(self) -> Facts:
        """Return no facts."""
        return Facts()


class OutlinesCore:
    """outlines-core: a DFA and its token index, computed at compile time."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        import outlines_core

        self.library = outlines_core
        self.depth: int | None = options.get("depth")
        ids: dict[bytes, list[int]] = {}
        for number, token in enumerate(vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(number)
        self.vocabulary = outlines_core.Vocabulary(vocabulary.stop_ids[0], ids)
        self.compiled: Any = None
        self.matcher: Any = None

    def compile(self, subject: Subject) -> None:
        """Build the index of a pattern, or of the pattern for a schema."""
        match subject.kind:
            case "regex":
                pattern = bare_pattern(subject)
            case "schema":
                from outlines_core.json_schema import build_regex_from_schema

                try:
                    pattern = build_regex_from_schema(
                        subject.source, max_recursion_depth=self.depth or OUTLINES_DEPTH
                    )
                except Exception as error:  # noqa: BLE001  # whatever the extension raises
                    raise Unsupported(first_line(error)) from None
            case "grammar":
                raise Unsupported("takes patterns and schemas, no grammars")
        try:
            self.compiled = self.library.Index(pattern, self.vocabulary)
        except Exception as error:  # noqa: BLE001  # whatever the extension raises
            raise Unsupported(first_line(error)) from None

    def begin(self) -> None:
        """Create a new guide."""
        self.matcher = self.library.Guide(self.compiled)

    def fill(self, mask: Mask) -> None:
        """Write the allowed tokens."""
        mask[:] = 0
        self.matcher.write_mask_into(mask.ctypes.data, mask.size, mask.itemsize)

    def accept(self, token: int) -> bool:
        """Advance by a token."""
        try:
            self.matcher.advance(token, return_tokens=False)
        except ValueError:
            return False
        return True

    def forced(self) -> bytes | None:
        """Return None, since the library does not report forced text."""
        return None

    def facts(self) -> Facts:
        """Return the states of the index that have transitions."""
        return Facts(len(self.compiled.get_transitions()))


# name → (class, module, distribution)
PEERS: Final[dict[str, tuple[type[Any], str, str]]] = {
    "outlines-core": (OutlinesCore, "outlines_core", "outlines-core"),
    "XGrammar": (XGrammar, "xgrammar", "xgrammar"),
    "llguidance": (LLGuidance, "llguidance", "llguidance"),
}


def installed_peers() -> dict[str, str]:
    """Return the libraries that are installed, with their versions."""
    return {
        name: metadata.version(distribution)
        for name, (_, module, distribution) in PEERS.items()
        if find_spec(module) is not None
    }
