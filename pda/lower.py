"""Lower a normalised rule set to terms: rules, calls, byte sets, token classes.

The passes, in order: lift what needs a call of its own, find where rules can be empty, order the rules so
that callers come first, make the terms, check that the vocabulary can spell them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from stackmask.grammar import ir
from stackmask.grammar.components import components
from stackmask.pda.errors import VocabularyError
from stackmask.pda.keys import KeyStates
from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore
from stackmask.pda.utf8 import byte_sequences, class_term

ALL_BYTES = (1 << 256) - 1
NO_ACTION = -1
SCOPE_ACTION = -2
KEYED_ACTION = -3  # minus the number of the key spec
TEST_RULE = -(1 << 30)  # minus the number of the test
TEST_KINDS: tuple[ir.KeyTestKind, ...] = ("close", "continue", "undeclared")  # then the slots

_LEAVES = ir.Literal | ir.CharClass | ir.ByteClass | ir.RuleRef | ir.Slot | ir.KeyTest

# one well-formed UTF-8 character: `!x` is relative to these
_UTF8_BYTES = sum(1 << b for b in range(256) if b < 0x80 or 0xC2 <= b <= 0xF4 or 0x80 <= b <= 0xBF)


@dataclass(slots=True)
class Lowered:
    """What lowering gives: the start term, and what of the shared tables the grammar uses.

    ``stacked``: it uses the built-in stack of texts.
    """

    start: int
    rules: list[int]
    token_classes: dict[tuple[int, ...], int]
    stacked: bool


class Tables:
    """What lowered grammars share: the terms, and the numbers of rules, calls, actions and token classes."""

    __slots__ = ("calls", "characters", "resolve_tokens", "rules", "semantics", "terms", "token_classes")

    def __init__(
        self,
        terms: TermStore,
        semantics: Semantics,
        resolve_tokens: Callable[[ir.TokenTerminal], tuple[tuple[int, ...], int]],
    ) -> None:
        self.terms = terms
        self.semantics = semantics
        self.resolve_tokens = resolve_tokens
        self.calls: dict[tuple[int, int], int] = {}
        self.characters: dict[ir.CharClass, int] = {}
        self.rules: dict[Hashable, tuple[int, ...]] = {}
        self.token_classes: dict[tuple[int, ...], int] = {}


def lower(rules: ir.RuleSet, tables: Tables, *, strip_first_space: bool = False) -> Lowered:
    """Lower ``rules`` into the terms of ``tables``.

    ``strip_first_space`` lets one blank before the text go unseen, as SentencePiece's decoder does.
    Invariant: ``rules`` is normalised (productive, no left recursion, regular operands of ``&`` and ``!``).
    """
    return _Lowering(tables, _lift(rules)).run(rules.start, strip_first_space)


def _lift(rules: ir.RuleSet) -> dict[str, ir.Expr]:
    """Give the bodies of captures, scopes and objects a rule of their own, so that they can be called.

    What holds none of them stays the same object, and what is shared is lifted once.
    """
    lifted: dict[str, ir.Expr] = {}
    done: dict[int, ir.Expr] = {}

    def visit(expr: ir.Expr, owner: str) -> ir.Expr:
        if isinstance(expr, _LEAVES):
            return expr
        found = done.get(id(expr))
        if found is None:
            found = done[id(expr)] = lift(expr, owner)
        return found

    def lift(expr: ir.Expr, owner: str) -> ir.Expr:
        match expr:
            case ir.Capture(item, action):
                return ir.Capture(named(visit(item, owner), owner), action)
            case ir.Scope(item):
                return ir.Scope(named(visit(item, owner), owner))
            case ir.Keyed(item, spec):
                return ir.Keyed(named(visit(item, owner), owner), spec)
            case ir.Sequence(items) | ir.Choice(items):
                visited = tuple([visit(item, owner) for item in items])
                if all(map(operator.is_, visited, items)):
                    return expr
                return ir.Sequence(visited) if isinstance(expr, ir.Sequence) else ir.Choice(visited)
            case ir.Repeat(item, low, high):
                inner = visit(item, owner)
                return expr if inner is item else ir.Repeat(inner, low, high)
            case _:
                return expr

    def named(item: ir.Expr, owner: str) -> ir.Expr:
        if isinstance(item, ir.RuleRef):
            return item
        name = f"{owner}@{len(lifted)}"
        lifted[name] = item
        return ir.RuleRef(name)

    for rule in rules.rules.values():
        lifted[rule.name] = visit(rule.body, rule.name)
    return lifted


def _rules_with_keys(bodies: Mapping[str, ir.Expr]) -> set[str]:
    """Return the rules that test object keys, themselves or in a rule that they call for the same object."""
    users: dict[str, list[str]] = {}
    found: dict[str, None] = {}
    for name, body in bodies.items():
        todo = [body]
        seen: set[int] = set()
        while todo:
            part = todo.pop()
            if id(part) in seen or isinstance(part, ir.Keyed):
                continue
            seen.add(id(part))
            if isinstance(part, ir.Slot | ir.KeyTest):
                found[name] = None
            elif isinstance(part, ir.RuleRef):
                users.setdefault(part.name, []).append(name)
            todo += ir.children(part)
    names = list(found)
    while names:
        for user in users.get(names.pop(), ()):
            if user not in found:
                found[user] = None
                names.append(user)
    return set(found)


class _Lowering:
    def __init__(self, tables: Tables, bodies: dict[str, ir.Expr]) -> None:
        self.tables = tables
        self.terms = tables.terms
        self.bodies = bodies
        self.nullable: dict[str, int] = {}
        self.heights: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        self.token_classes: dict[tuple[int, ...], int] = {}
        self.stacked = False
        self.keyed = _rules_with_keys(bodies)
        self.known: dict[int, int] = {}  # id of a choice -> its term: what is shared costs once

    def run(self, start: str, strip_first_space: bool) -> Lowered:
        terms = self.terms
        self.nullable = _nullability(self.bodies)
        self.heights = _left_call_heights(self.bodies, self.nullable)
        graph = {name: _references(body) for name, body in self.bodies.items()}
        for component in components(graph):
            if len(component) == 1 and component[0] not in graph[component[0]]:
                self.add_rule(component[0])
            else:
                self.add_rules(component, graph)
        start_term = self.term(ir.RuleRef(start))
        if strip_first_space:
            blank = 1 << 0x20
            start_term = terms.alternatives(
                [
                    terms.sequence([terms.byte_set(blank), start_term]),
                    terms.sequence([terms.guard(ALL_BYTES & ~blank), start_term]),
                ]
            )
        return Lowered(start_term, list(self.numbers.values()), self.token_classes, self.stacked)

    def add_rule(self, name: str) -> None:
        """Number a rule that does not call itself: by its term, so that equal rules are one."""
        body = self.term(self.bodies[name])
        key = (body, self.nullable.get(name))
        known = self.tables.rules.get(key)
        if known is None:
            number = self.terms.add_rule(key[1])
            self.terms.set_rule(number, body, self.heights[name])
            known = self.tables.rules[key] = (number,)
        self.numbers[name] = known[0]

    def add_rules(self, component: list[str], graph: Mapping[str, Sequence[str]]) -> None:
        """Number rules that call each other: by their shape, seen from the first of them."""
        inside = set(component)
        order = {component[0]: 0}
        todo = [component[0]]
        for name in todo:
            for other in graph[name]:
                if other in inside and other not in order:
                    order[other] = len(order)
                    todo.append(other)
        key = tuple(self.shape(self.bodies[name], order) for name in todo)
        known = self.tables.rules.get(key)
        if known is None:
            known = tuple(self.terms.add_rule(self.nullable.get(name)) for name in todo)
            self.numbers.update(zip(todo, known, strict=True))
            for name in todo:
                self.terms.set_rule(self.numbers[name], self.term(self.bodies[name]), self.heights[name])
            self.tables.rules[key] = known
        else:
            self.numbers.update(zip(todo, known, strict=True))
            for name in todo:
                self.note_uses(self.bodies[name])

    def shape(self, expr: ir.Expr, order: Mapping[str, int]) -> Hashable:
        """Return the expression with numbers for the names of rules: equal shapes mean the same."""
        match expr:
            case ir.RuleRef(name, nonempty):
                return (order[name], nonempty) if name in order else ("rule", self.numbers[name], nonempty)
            case ir.Sequence(items) | ir.Choice(items):
                return (type(expr).__name__, *[self.shape(item, order) for item in items])
            case ir.Repeat(item, low, high):
                return ("Repeat", self.shape(item, order), low, high)
            case ir.Capture(item, action):
                return ("Capture", self.shape(item, order), self.tables.semantics.add_action(action))
            case ir.Scope(item):
                return ("Scope", self.shape(item, order))
            case ir.Keyed(item, spec):
                return ("Keyed", self.shape(item, order), spec)
            case ir.Dynamic(resolver):
                return ("Dynamic", self.tables.semantics.add_resolver(resolver))
            case _:
                return expr

    def note_uses(self, expr: ir.Expr) -> None:
        """Take note of the special tokens and stacks of a rule whose terms are there already."""
        for part in ir.walk(expr):
            if isinstance(part, ir.TokenTerminal | ir.Capture | ir.Dynamic):
                self.term(part)

    def term(self, expr: ir.Expr) -> int:
        """Return the term of an expression; recursion is as deep as the expression is nested."""
        terms = self.terms
        match expr:
            case ir.Literal(data):
                return terms.literal(data)
            case ir.CharClass(ranges):
                characters = self.tables.characters
                if expr not in characters:
                    characters[expr] = class_term(terms, ranges)
                return characters[expr]
            case ir.ByteClass(mask):
                return terms.byte_set(mask)
            case ir.Sequence(items):
                return terms.sequence([self.term(item) for item in items])
            case ir.Choice():
                if id(expr) not in self.known:
                    self.known[id(expr)] = self.choice(expr)
                return self.known[id(expr)]
            case ir.Repeat(item, low, high):
                return terms.repeat(self.term(item), low, high)
            case ir.Intersection(items):
                return terms.intersection([self.term(item) for item in items])
            case ir.Complement(item):
                return terms.intersection([self.term(ir.ANY_TEXT), terms.complement(self.term(item))])
            case ir.RuleRef(name, nonempty):
                return terms.call(self.call(self.numbers[name], NO_ACTION), nonempty, name in self.keyed)
            case ir.TokenTerminal():
                ids, number = self.tables.resolve_tokens(expr)
                self.token_classes[ids] = number
                return terms.token(number)
            case ir.NotFollowedBy(mask):
                return terms.guard(ALL_BYTES & ~mask)
            case ir.Capture(ir.RuleRef(name), action):
                self.stacked |= action == "push"
                ends_in = self.tables.semantics.add_action(action)
                return terms.call(self.call(self.numbers[name], ends_in), True, name in self.keyed)
            case ir.Scope(ir.RuleRef(name, nonempty)):
                return terms.call(self.call(self.numbers[name], SCOPE_ACTION), nonempty, name in self.keyed)
            case ir.Keyed(ir.RuleRef(name, nonempty), spec):
                ends_in = KEYED_ACTION - self.tables.semantics.keys.add_spec(spec)
                return terms.call(self.call(self.numbers[name], ends_in), nonempty)
            case ir.Slot(index):
                return self.test(len(TEST_KINDS) + index)
            case ir.KeyTest(kind):
                return self.test(TEST_KINDS.index(kind))
            case ir.Dynamic(resolver):
                self.stacked |= resolver == "top"
                return terms.call(self.call(-1 - self.tables.semantics.add_resolver(resolver), NO_ACTION))
            case _:
                raise TypeError(f"not a normalised expression: {expr!r}")

    def choice(self, expr: ir.Choice) -> int:
        """Return the term of alternatives; those that begin with text share their beginnings."""
        terms = self.terms
        words: dict[bytes, list[int]] = {}
        others: list[int] = []
        for item in expr.items:
            if isinstance(item, ir.Literal):
                words.setdefault(item.data, []).append(terms.sequence([]))
            elif isinstance(item, ir.Sequence) and item.items and isinstance(item.items[0], ir.Literal):
                parts = item.items
                data, n = item.items[0].data, 1
                while n < len(parts) and isinstance(part := parts[n], ir.Literal):
                    data += part.data
                    n += 1
                words.setdefault(data, []).append(terms.sequence([self.term(part) for part in parts[n:]]))
            else:
                others.append(self.term(item))
        return int(terms.alternatives([literal_trie(terms, words), *others]))

    def test(self, number: int) -> int:
        """Return the term that asks the key state: a call that ends where it begins."""
        return int(self.terms.call(self.call(TEST_RULE - number, NO_ACTION), False, True))

    def call(self, rule: int, action: int) -> int:
        key = (rule, action)
        calls = self.tables.calls
        if key not in calls:
            calls[key] = self.terms.add_call(rule, action)
        return calls[key]


def _references(expr: ir.Expr) -> list[str]:
    return list(dict.fromkeys(part.name for part in ir.walk(expr) if isinstance(part, ir.RuleRef)))


def literal_set(terms: TermStore, words: list[bytes]) -> int:
    """Return any of the words as a term that shares their prefixes. Cost: linear in the bytes, after sorting."""
    return literal_trie(terms, {word: [terms.sequence([])] for word in words})


def literal_trie(terms: TermStore, tails: Mapping[bytes, list[int]]) -> int:
    """Return any of the words, each with one of its tails behind it, as a term that shares the words' prefixes.

    Cost: linear in the bytes, after sorting.
    """
    words = sorted(tails)
    if not words:
        return int(terms.empty())

    def ending(word: bytes, depth: int) -> int:
        return int(terms.sequence([terms.literal(word[depth:]), terms.alternatives(tails[word])]))

    if len(words) == 1:
        return ending(words[0], 0)
    # a stack of open branch points: (length of the prefix, alternatives so far)
    stack: list[tuple[int, list[int]]] = [(0, [])]
    for i, word in enumerate(words):
        after = _common(word, words[i + 1]) if i + 1 < len(words) else 0
        depth = stack[-1][0]
        if after > depth:
            # the next word branches off further down
            stack.append((after, []))
            depth = after
        stack[-1][1].append(ending(word, depth))
        while stack[-1][0] > after:
            top, kids = stack.pop()
            joined = terms.alternatives(kids)
            outer = max(after, stack[-1][0])
            if outer > stack[-1][0]:
                stack.append((outer, []))
            stack[-1][1].append(terms.sequence([terms.literal(word[outer:top]), joined]))
    return int(terms.alternatives(stack[0][1]))


def _common(a: bytes, b: bytes) -> int:
    n = min(len(a), len(b))
    i = 0
    while i < n and a[i] == b[i]:
        i += 1
    return i


def _nullability(bodies: Mapping[str, ir.Expr]) -> dict[str, int]:
    """Return, for every rule that can be empty, the mask of next bytes before which it can (least fixpoint)."""
    nullable: dict[str, int] = {}
    users: dict[str, set[str]] = {}
    for name, body in bodies.items():
        for part in ir.walk(body):
            if isinstance(part, ir.RuleRef):
                users.setdefault(part.name, set()).add(name)
    todo = dict.fromkeys(bodies)
    while todo:
        name, _ = todo.popitem()
        mask = empty_before(bodies[name], nullable)
        if mask is not None and mask != nullable.get(name):
            nullable[name] = mask
            todo.update(dict.fromkeys(users.get(name, ())))
    return nullable


def empty_before(expr: ir.Expr, nullable: Mapping[str, int]) -> int | None:
    """Return the mask of next bytes before which the expression can be empty, or None if it never can."""
    match expr:
        case ir.Literal(data):
            return None if data else ALL_BYTES
        case ir.Sequence(items) | ir.Intersection(items):
            mask = ALL_BYTES
            for item in items:
                part = empty_before(item, nullable)
                if part is None:
                    return None
                mask &= part
            return mask
        case ir.Choice(items):
            parts = [part for item in items if (part := empty_before(item, nullable)) is not None]
            if not parts:
                return None
            mask = 0
            for part in parts:
                mask |= part
            return mask
        case ir.Repeat(item, low, _):
            return ALL_BYTES if low == 0 else empty_before(item, nullable)
        case ir.Complement(item):
            return ALL_BYTES if empty_before(item, nullable) is None else None
        case ir.RuleRef(name, nonempty):
            return None if nonempty else nullable.get(name)
        case ir.NotFollowedBy(mask):
            return ALL_BYTES & ~mask
        case ir.Scope(item) | ir.Keyed(item):
            return empty_before(item, nullable)
        case _:
            return None


def _left_calls(expr: ir.Expr, nullable: Mapping[str, int]) -> set[str]:
    """Return the rules that the expression can call before it consumes anything."""
    found: set[str] = set()
    todo = [expr]
    while todo:
        match todo.pop():
            case ir.RuleRef(name):
                found.add(name)
            case ir.Sequence(items):
                for item in items:
                    todo.append(item)
                    if empty_before(item, nullable) is None and not isinstance(item, ir.Slot | ir.KeyTest):
                        break
            case ir.Choice(items):
                todo.extend(items)
            case ir.Repeat(item) | ir.Capture(item) | ir.Scope(item) | ir.Keyed(item):
                todo.append(item)
    return found


def _left_call_heights(bodies: Mapping[str, ir.Expr], nullable: Mapping[str, int]) -> dict[str, int]:
    """Give every rule a height that is more than that of the rules it can call in first position."""
    calls = {name: _left_calls(body, nullable) for name, body in bodies.items()}
    heights: dict[str, int] = {}
    for start in bodies:
        stack = [start]
        open_rules = set()
        while stack:
            name = stack[-1]
            missing = [callee for callee in calls[name] if callee not in heights]
            if not missing:
                heights[name] = 1 + max((heights[callee] for callee in calls[name]), default=0)
                stack.pop()
                open_rules.discard(name)
                continue
            open_rules.add(name)
            if not open_rules.isdisjoint(missing):
                raise AssertionError(
                    f"left recursion after normalisation: {', '.join(sorted(open_rules)[:5])}"
                )
            stack.extend(missing)
    return heights


def check_bytes(bodies: Mapping[str, ir.Expr], single_bytes: int) -> None:
    """Refuse a vocabulary that lacks a token for a byte that the expressions need.

    ``single_bytes`` is the mask of bytes that are a token by themselves. Without such a token a text can
    begin that no token may continue: a dead end. Bytes that only `&`, `!` or `!>>` rule out count as needed.
    """
    missing: dict[int, str] = {}
    for name, body in bodies.items():
        lacking = _bytes_of(body) & ~single_bytes
        for byte in range(256):
            if (lacking >> byte) & 1:
                missing.setdefault(byte, name)
    if missing:
        shown = ", ".join(_show_byte(byte) for byte in list(missing)[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        places = ", ".join(f"`{name}`" for name in dict.fromkeys(missing.values()))
        raise VocabularyError(
            f"the vocabulary cannot spell what the grammar needs: no token is just {shown}{more} (rules: {places})"
        )


def _show_byte(byte: int) -> str:
    return f"{chr(byte)!r}" if 0x20 <= byte < 0x7F else f"byte 0x{byte:02X}"


def _bytes_of(expr: ir.Expr) -> int:
    """Return a mask of bytes that holds every byte of every string (exact but for `&` and `!`)."""
    match expr:
        case ir.Literal(data):
            mask = 0
            for byte in data:
                mask |= 1 << byte
            return mask
        case ir.ByteClass(mask):
            return mask
        case ir.CharClass(ranges):
            mask = 0
            for low, high in ranges:
                for sequence in byte_sequences(low, high):
                    for first, last in sequence:
                        mask |= (1 << (last + 1)) - (1 << first)
            return mask
        case ir.Intersection(items):
            mask = ALL_BYTES
            for item in items:
                mask &= _bytes_of(item)
            return mask
        case ir.Complement():
            return _UTF8_BYTES
        case _:
            mask = 0
            for child in ir.children(expr):
                mask |= _bytes_of(child)
            return mask


def regular_term(terms: TermStore, expr: ir.Expr) -> int:
    """Return the term of an expression without references, as a resolver answers it."""

    def no_tokens(terminal: ir.TokenTerminal) -> tuple[tuple[int, ...], int]:
        raise TypeError("a special token in a regular expression")

    return _Lowering(Tables(terms, Semantics(None, KeyStates(terms)), no_tokens), {}).term(expr)
