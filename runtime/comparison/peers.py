"""Other libraries behind the face of an engine. All of them get the same bytes for the same token ids.

Patterns are handed over without the anchors that all of them imply, and with the classes of ECMA-262 written out; else
as each library reads them: what that changes shows as masks that differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from stackmask.runtime.comparison.engines import Facts, Mask, Refused
from stackmask.runtime.comparison.subject import Subject

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

ANY_TEXT: Final = r"[\s\S]*"
OUTLINES_DEPTH: Final = 3  # levels of recursion that outlines-core writes out unless told otherwise


def bare_pattern(subject: Subject) -> str:
    """Return the pattern of whole texts without ``^`` and ``$`` at its ends, as libraries want it that imply them.

    Raises: Refused for flags, which they have no place for.
    """
    if subject.flags:
        raise Refused("flags of a pattern cannot be handed over")
    pattern = subject.source
    first, last = pattern.startswith("^"), pattern.endswith("$") and not _is_escaped(pattern)
    if "|" in pattern and (first or last):  # an anchor may belong to one alternative only
        first = last = False
    pattern = pattern[first : len(pattern) - last]
    if subject.flavor == "ecma":
        pattern = ascii_classes(pattern)
    if not subject.search or (first and last):
        return pattern
    return f"{'' if first else ANY_TEXT}(?:{pattern}){'' if last else ANY_TEXT}"


def ascii_classes(pattern: str) -> str:
    r"""Write out ``\d`` and ``\w``: ECMA-262 means ASCII by them, most libraries all of Unicode."""
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


def _first_line(error: object) -> str:
    """Return the first line of a message, without the time and the line of source that some begin with."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return re.sub(r"^\[[\d:]+\] \S+?:\d+: ", "", lines[0]) if lines else type(error).__name__


class XGrammar:
    """XGrammar: a pushdown automaton whose masks are mostly made when it compiles."""

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
        self.matcher: Any = None

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
            raise Refused(_first_line(error)) from None

    def begin(self) -> None:
        """Take a new matcher."""
        self.matcher = self.library.GrammarMatcher(self.compiled)

    def fill(self, mask: Mask) -> None:
        """Write the tokens that may come next."""
        self.matcher.fill_next_token_bitmask(mask)

    def accept(self, token: int) -> bool:
        """Advance by a token."""
        return bool(self.matcher.accept_token(token))

    def forced(self) -> bytes | None:
        """Return the text that must come next."""
        return str(self.matcher.find_jump_forward_string()).encode()

    def facts(self) -> Facts:
        """Return what the compiled grammar takes."""
        return Facts(None, int(self.compiled.memory_size_bytes))


class _Tokens:
    """What llguidance asks of a tokenizer; where text is forced it allows only the tokens that this makes of it."""

    def __init__(self, vocabulary: Vocabulary, encode: Callable[[bytes], list[int]]) -> None:
        self.encode = encode
        self.eos_token_id = vocabulary.stop_ids[0]
        self.bos_token_id = None
        texts = vocabulary.tokens
        tokens = [texts[i] if i < len(texts) else None for i in range(vocabulary.size)]
        # a byte that is never text, so that nothing matches what is no text
        self.tokens = [b"\xff<%d>" % i if token is None else token for i, token in enumerate(tokens)]
        self.special_token_ids = [i for i, token in enumerate(tokens) if token is None]

    def __call__(self, text: bytes | str) -> list[int]:
        return self.encode(text.encode() if isinstance(text, str) else text)


class LLGuidance:
    """llguidance: Earley's algorithm over a lexer of lazily made derivatives."""

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
        """Compile a pattern, a schema, or a grammar by way of its converter."""
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
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001  # its converters raise what they meet
            raise Refused(_first_line(error)) from None
        self.compiled = make(self.tokenizer, grammar, log_level=0)
        if self.compiled.is_error():
            raise Refused(_first_line(self.compiled.get_error()))

    def begin(self) -> None:
        """Take a new matcher."""
        self.matcher = self.compiled.deep_copy()

    def fill(self, mask: Mask) -> None:
        """Write the tokens that may come next."""
        self.bitmasks.fill_next_token_bitmask(self.matcher, mask, 0)

    def accept(self, token: int) -> bool:
        """Advance by a token."""
        return bool(self.matcher.consume_token(token))

    def forced(self) -> bytes | None:
        """Return the text that must come next."""
        return bytes(self.matcher.compute_ff_bytes())

    def facts(self) -> Facts:
        """It tells nothing of itself."""
        return Facts()


class OutlinesCore:
    """outlines-core: a DFA and its token index, made when it compiles."""

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
        """Build the index of a pattern, or of the pattern that a schema becomes."""
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
                    raise Refused(_first_line(error)) from None
            case "grammar":
                raise Refused("takes patterns and schemas, no grammars")
        try:
            self.compiled = self.library.Index(pattern, self.vocabulary)
        except Exception as error:  # noqa: BLE001  # whatever the extension raises
            raise Refused(_first_line(error)) from None

    def begin(self) -> None:
        """Take a new guide."""
        self.matcher = self.library.Guide(self.compiled)

    def fill(self, mask: Mask) -> None:
        """Write the tokens that may come next."""
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
        """It does not tell."""
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
