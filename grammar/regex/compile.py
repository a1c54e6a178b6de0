"""The entry point, from a pattern of a flavour to one expression over text (bytes for a bytes pattern)."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.ir import Rule, RuleSet, SourceText, Span
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.regex.pattern.reader import Reader, U
from stackmask.grammar.regex.pattern.tree import Node, TooEntangled, straight
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.options import ArgumentError

Flavor: TypeAlias = Literal["ecma", "python", "rust"]

SOURCE_NAME: Final = "<regex>"
ANY_BYTES: Final = ir.Repeat(ir.ByteClass((1 << 256) - 1), 0, None)

_FLAVORS: Final = ("ecma", "python", "rust")


class Tree(NamedTuple):
    """A parsed pattern: its tree, its number of assertions, and its lazy repetitions by identity."""

    node: Node
    asserted: int
    lazy: dict[int, ir.Repeat]


def read_tree(pattern: str, *, flavor: Flavor = "python", flags: str = "") -> Tree:
    """Return the tree of a text pattern.

    Raises: as ``regex_expr``. Cost: about 1 µs per character.
    """
    reader, node, _ = _read(pattern, flavor, flags)
    return Tree(node, reader.asserted, reader.lazy)


def regex_expr(
    pattern: str | bytes, *, flavor: Flavor = "ecma", flags: str = "", search: bool = False
) -> ir.Expr:
    r"""Return the expression of all texts that a pattern matches.

    ``flavor``: the syntax and semantics: ``ecma`` (ECMA-262 as in browsers), ``python`` (``re``), ``rust``
    (the crate ``regex``). ``flags``: letters of the flavour. ``search``: match anywhere in the text, as JSON
    Schema's ``pattern``, instead of the whole text. The language of a bytes pattern consists of byte strings.
    Raises: GrammarError with all problems and their positions (G005 to G009, G015); StackmaskError for an
        unknown flavour, or a pattern or flags that are not text.
    Cost: about 1 µs per character; more for assertions in loops, within limits.
    """
    reader, tree, text = _read(pattern, flavor, flags)
    any_text: ir.Expr = ANY_BYTES if isinstance(pattern, bytes) else ir.ANY_TEXT
    if not reader.asserted:
        expr = cast("ir.Expr", tree)
        return concat([any_text, expr, any_text]) if search else expr
    plain = straight(tree, search, reader.asserted, any_text)
    if plain is not None:
        return plain
    from stackmask.grammar.regex.assertions import compile_assertions  # few patterns need it

    try:
        return compile_assertions(tree, search, reader.as_bytes, any_text)
    except RecursionError:
        # groups are limited, but not what the caller has on the stack already
        raise _error(text, Diagnostic("G015", "groups with assertions are nested too deeply here")) from None
    except TooEntangled as error:
        node = error.node
        what = node.what if node else "an assertion"
        raise _error(
            text,
            Diagnostic(
                "G009",
                f"{what} is not supported in this place",
                Span(node.offset, node.offset + 1) if node else None,
                "the text that it depends on has more states than the limits allow",
                "move it out of the repetition, or shorten the repeated part",
            ),
        ) from None


def regex_rules(pattern: str | bytes, *, flavor: Flavor, flags: str, search: bool) -> RuleSet:
    """Return the single rule of a pattern. Raises: as ``regex_expr``."""
    expr = regex_expr(pattern, flavor=flavor, flags=flags, search=search)
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    rule = Rule("root", expr, Span(0, len(text)))
    return RuleSet({"root": rule}, "root", (), (SourceText(SOURCE_NAME, text),))


def _read(pattern: str | bytes, flavor: Flavor, flags: str) -> tuple[Reader, Node, str]:
    """Return the reader of a pattern, its tree, and the pattern as text. Raises: GrammarError with all problems."""
    if not isinstance(flavor, str) or flavor not in _FLAVORS:
        raise ArgumentError(f"no regex flavour `{flavor!s:.60}`; there are: {', '.join(_FLAVORS)}")
    if not isinstance(pattern, str | bytes):
        raise ArgumentError(f"a pattern is str, bytes or re.Pattern, not {type(pattern).__name__}")
    if not isinstance(flags, str):
        raise ArgumentError(f"flags are letters in a str, not {type(flags).__name__}")
    # others are not imported, which takes time
    module = import_module(f"stackmask.grammar.regex.flavours.{flavor}")
    reader_of: Callable[[str, int, bool], Reader] = getattr(module, f"{flavor}_reader")
    known: dict[str, int] = module.FLAGS
    value = 0 if flavor == "ecma" else U
    as_bytes = isinstance(pattern, bytes)
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    on, _, off = flags.partition("-")
    for letter in on + off:
        if letter not in known:
            expected = f"flags of this flavour: {' '.join(known)}"
            raise _error(text, Diagnostic("G008", f"unknown flag `{letter}`", help=expected))
    for letter in on:
        value |= known[letter]
    for letter in off:
        value &= ~known[letter]
    if flavor == "python" and ("a" in on or as_bytes):
        value &= ~U
    reader = reader_of(text, value, as_bytes)
    tree = reader.read()
    if reader.problems.found:
        raise GrammarError(reader.problems.found, [SourceText(SOURCE_NAME, text)])
    return reader, tree, text


def _error(text: str, problem: Diagnostic) -> GrammarError:
    return GrammarError([problem], [SourceText(SOURCE_NAME, text)])


# -- Escapes of other flavours that a pattern of ECMA-262 takes for letters: allowed, and rarely meant. --

_ESCAPES: Final = re.compile(r"\\([AZzGhQE])|\\[^AZzGhQE]", re.DOTALL)
_CURES: Final = {
    "A": 'leave it out: the whole text is the match; or pass flavor="python"',
    "Z": 'leave it out: the whole text is the match; or pass flavor="python"',
    "z": 'leave it out: the whole text is the match; or pass flavor="rust"',
    "h": "write `[ \\t]`",
}
MAX_WARNINGS: Final = 50


def regex_warnings(pattern: str, flavor: str, flags: str) -> list[Diagnostic]:
    """Return the warnings of a pattern without errors. Cost: linear."""
    if flavor != "ecma" or "u" in flags or "v" in flags:  # then such escapes are errors
        return []
    found: list[Diagnostic] = []
    for match in _ESCAPES.finditer(pattern):
        letter = match[1]
        if letter and len(found) < MAX_WARNINGS:
            cure = _CURES.get(letter, f"write `{letter}` for the letter")
            span = Span(match.start(), match.end(), 0)
            message = f"`\\{letter}` is the letter {letter} in this flavour"
            found.append(Diagnostic("G210", message, span, "", cure, "warning"))
    return found
