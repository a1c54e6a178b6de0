"""Lower a normalised rule set to terms, and check that a vocabulary can spell them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.source.work import spend
from stackmask.pda.context.object_keys import KeyStates
from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.errors import VocabularyError
from stackmask.pda.lowering.rules_to_terms import ALL_BYTES, KnownRules, Lowering
from stackmask.pda.terms.character_classes import Tree, byte_sequences
from stackmask.pda.terms.term_store import TermBuilder, TermStore, literal_trie

# one well-formed UTF-8 character: `!x` is relative to these
_UTF8_BYTES = sum(1 << b for b in range(256) if b < 0x80 or 0xC2 <= b <= 0xF4 or 0x80 <= b <= 0xBF)


# the ids of the tokens that a terminal stands for, and the number of their class
TokenResolver: TypeAlias = Callable[[ir.TokenTerminal], tuple[tuple[int, ...], int]]


@dataclass(slots=True)
class Tables:
    """The data shared by lowered grammars: terms, and the numbers of rules, calls, actions and token classes."""

    terms: TermStore
    semantics: Semantics
    resolve_tokens: TokenResolver
    # a rule and an action, packed → call; no object for the collector to count, as there are thousands
    calls: dict[int, int] = field(default_factory=dict)
    # ranges → term
    characters: dict[Hashable, int] = field(default_factory=dict)
    # what follows some first bytes of a character → term
    class_parts: dict[Tree, int] = field(default_factory=dict)
    # the body of a rule that is never empty → its number; what else a rule is → its number, or those of its component
    rules: dict[Hashable, int | tuple[int, ...]] = field(default_factory=dict)
    # an expression with numbers for its rules and inner expressions → its number
    shapes: dict[Hashable, int] = field(default_factory=dict)
    # number of the tables, where the nodes of expressions keep their terms for them; 0 for tables of a moment
    tag: int = 0
    # id of a pure object → (the object, its term), where other tables came later
    pure: dict[int, tuple[ir.Expr, int]] = field(default_factory=dict)
    bodies: KnownRules = field(default_factory=KnownRules)


@dataclass(slots=True)
class Lowered:
    """The result of lowering: the start term, and the entries in shared tables that the grammar uses.

    ``stacked``: the grammar uses the built-in stack of strings.
    """

    start: int
    token_classes: dict[tuple[int, ...], int]
    stacked: bool


def lower(rules: ir.RuleSet, tables: Tables, *, strip_first_space: bool = False) -> Lowered:
    """Lower ``rules`` into the terms of ``tables``.

    ``strip_first_space``: ignore one space before the text, as SentencePiece's decoder does.
    Invariant: ``rules`` is normalised (productive, no left recursion, regular operands of ``&`` and ``!``).
    """
    lowering = Lowering(tables)
    with without_collection():
        start = lowering.run(rules.rules, rules.start)
    if strip_first_space:
        build = TermBuilder(tables.terms)
        blank = 1 << 0x20
        start = build.alternatives(
            [
                build.sequence([build.byte_set(blank), start]),
                build.sequence([build.guard(ALL_BYTES & ~blank), start]),  # mutant: blank-twice
            ]
        )
    return Lowered(start, lowering.token_classes, lowering.stacked)


def literal_set(terms: TermStore, words: list[bytes]) -> int:
    """Return a term for all the words, with shared prefixes. Cost: linear in the bytes, after sorting."""
    build = TermBuilder(terms)
    return literal_trie(build, {word: [build.sequence([])] for word in words})


def check_bytes(
    bodies: Mapping[str, ir.Expr], single_bytes: int, silent: Mapping[int, bytes] | None = None
) -> None:
    """Refuse a vocabulary that lacks a token for a byte that the expressions need.

    ``single_bytes``: a mask of the bytes that are tokens. Without such a token, a text could reach a dead
    end. ``silent``: the bytes that special and stop tokens would spell as text. Bytes that only `&`, `!` or
    `!>>` exclude count as needed.
    """
    if single_bytes == ALL_BYTES:
        return
    missing: dict[int, str] = {}
    known: dict[int, int] = {}
    for name, body in bodies.items():
        lacking = _bytes_of(body, known) & ~single_bytes
        for byte in range(256):
            if (lacking >> byte) & 1:
                missing.setdefault(byte, name)
    if missing:
        shown = ", ".join(_show_byte(byte) for byte in list(missing)[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        places = ", ".join(f"`{name}`" for name in dict.fromkeys(missing.values()))
        raise VocabularyError(
            f"the vocabulary cannot spell what the grammar needs: no token is just {shown}{more} (rules: {places})"
            f"{_why_missing(missing, silent or {})}"
        )


def _why_missing(missing: Mapping[int, str], silent: Mapping[int, bytes]) -> str:
    """Return the stop or special token that spells one of the missing bytes; empty if there is none."""
    for token, text in silent.items():
        if len(text) == 1 and text[0] in missing:
            return (
                f"; id {token} is {_show_byte(text[0])}, but `stop_ids`, `special_ids` or the model's "
                "generation_config.eos_token_id name it, and such a token is never text: give the model's own"
            )
    return "; give a token for each byte, as tokenizers with byte fallback have"


def _show_byte(byte: int) -> str:
    return f"{chr(byte)!r}" if 0x20 <= byte < 0x7F else f"byte 0x{byte:02X}"


def _bytes_of(whole: ir.Expr, known: dict[int, int]) -> int:
    """Return a mask of bytes that includes every byte of every string (exact except for `&` and `!`).

    Cost: linear in the expression; no recursion.
    """
    todo = [whole]  # the parts of an expression come after it, and are done before it
    while todo:
        expr = todo[-1]
        if id(expr) in known:
            todo.pop()
            continue
        parts = () if isinstance(expr, ir.Complement) else ir.children(expr)
        waiting = [part for part in parts if id(part) not in known]
        if waiting:
            todo += waiting
            continue
        todo.pop()
        spend(1 + len(parts))
        known[id(expr)] = _bytes_by_parts(expr, [known[id(part)] for part in parts])
    return known[id(whole)]


def _bytes_by_parts(expr: ir.Expr, parts: list[int]) -> int:
    """Return the mask of an expression from the masks of its parts."""
    match expr:
        case ir.Literal(data):
            return reduce(or_, [1 << byte for byte in data], 0)
        case ir.ByteClass(mask):
            return mask
        case ir.CharClass(ranges):
            return _bytes_of_ranges(ranges)
        case ir.Intersection():
            return reduce(and_, parts, ALL_BYTES)
        case ir.Complement():
            return _UTF8_BYTES
        case _:
            return reduce(or_, parts, 0)


def _bytes_of_ranges(ranges: Ranges) -> int:
    mask = 0
    spend(4 * len(ranges))
    for low, high in ranges:
        for sequence in byte_sequences(low, high):
            for first, last in sequence:
                mask |= (1 << (last + 1)) - (1 << first)
    return mask


def regular_tables(terms: TermStore) -> Tables:
    """Return tables for expressions without references, such as the answers of resolvers."""

    def no_tokens(terminal: ir.TokenTerminal) -> tuple[tuple[int, ...], int]:
        raise TypeError("a special token in a regular expression")

    return Tables(terms, Semantics(None, KeyStates(terms)), no_tokens)


def regular_term(terms: TermStore, expr: ir.Expr) -> int:
    """Return the term of an expression without references."""
    return Lowering(regular_tables(terms)).term(expr)
