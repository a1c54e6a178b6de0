"""What cannot be written as text, or only as a lot of it: rules made by programs, limits, and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import pytest
from support.campaign import mostly_campaign
from support.work import calls_of

from stackmask.grammar import ir
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import (
    Choice,
    Complement,
    Expr,
    Intersection,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Sequence,
    Span,
)
from stackmask.grammar.normalize import graph, left_calls, left_recursion, normalize, nullable_rules
from stackmask.grammar.normalize.graph import facts
from stackmask.grammar.normalize.nullable import Ends
from stackmask.grammar.source.diagnostics import GrammarError

A = Literal(b"a")


def rule_set(bodies: dict[str, Expr], start: str = "s") -> RuleSet:
    return RuleSet({name: Rule(name, body) for name, body in bodies.items()}, start)


def codes(rules: RuleSet) -> list[str]:
    with pytest.raises(GrammarError) as caught:
        normalize(rules)
    return sorted(d.code for d in caught.value.diagnostics)


def test_names_and_bounds_all_at_once() -> None:
    bad = Sequence((RuleRef("itme"), RuleRef("other"), Repeat(A, 3, 2), Repeat(A, -1, None)))
    assert codes(rule_set({"s": bad, "item": A})) == ["G101", "G101", "G106", "G106"]
    with pytest.raises(GrammarError, match="did you mean `item`"):
        normalize(rule_set({"s": bad, "item": A}))
    assert codes(rule_set({"s": A}, start="root")) == ["G104"]


def test_nesting() -> None:
    deep: Expr = A
    for _ in range(100_000):
        deep = Repeat(deep, 0, 1)
    assert codes(rule_set({"s": deep})) == ["G105"]


def test_operand_that_explodes() -> None:
    rules: dict[str, Expr] = {
        f"r{i}": Sequence((RuleRef(f"r{i + 1}"), RuleRef(f"r{i + 1}"))) for i in range(40)
    }
    rules |= {"r40": A, "s": Intersection((RuleRef("r0"), A))}
    assert codes(rule_set(rules)) == ["G109"]


def test_emptiness_that_takes_too_long() -> None:
    # the 24th character from the end is both a and b: 2^24 subsets to look at
    letters = Choice((A, Literal(b"b")))
    both = tuple(
        Sequence((Repeat(letters, 0, None), item, Repeat(letters, 23, 23))) for item in (A, Literal(b"b"))
    )
    assert codes(rule_set({"s": Choice((A, Intersection(both)))})) == ["G117"]


def test_left_recursion_that_explodes() -> None:
    bodies: dict[str, Expr] = {
        f"r{i}": Choice((*(Sequence((RuleRef(f"r{j}"), Literal(b"%d.%d" % (i, j)))) for j in range(90)), A, Sequence((A, RuleRef(f"r{i}")))))
        for i in range(90)
    }  # fmt: skip
    assert codes(rule_set(bodies, "r0")) == ["G114"]
    nullable = Sequence((*[RuleRef("e")] * 3000, RuleRef("s")))
    bodies = {"s": Choice((nullable, A)), "e": Choice((Literal(b""), Literal(b"e")))}
    assert codes(rule_set(bodies)) == ["G114"]


def test_helpers() -> None:
    rules = rule_set({
        "s": Sequence((RuleRef("e"), RuleRef("x"), RuleRef("y"))),
        "e": Repeat(RuleRef("y"), 0, 2),
        "x": Choice((A, Sequence((A, RuleRef("s"))))),
        "y": Complement(A),
    })  # fmt: skip
    assert nullable_rules(rules) == {"e", "y"}
    assert left_calls(rules) == {"s": {"e", "x"}, "e": {"y"}, "x": set(), "y": set()}


@pytest.mark.parametrize("shape", mostly_campaign(["chain", "wide", "left-recursive"], 1))
def test_ten_thousand_rules(shape: str) -> None:
    def rules(n: int) -> RuleSet:
        return rule_set(_many_rules(shape, n))

    normal = normalize(rules(10_000))
    assert len(normal.rules) > 1
    few, many = (calls_of(partial(normalize, rules(n))) for n in (1000, 2000))
    assert many < 2.5 * few  # the square would be four times as much


def _many_rules(shape: str, n: int) -> dict[str, Expr]:
    bodies: dict[str, Expr] = {}
    for i in range(n):
        following = RuleRef(f"r{(i + 1) % n}")
        match shape:
            case "chain":
                bodies[f"r{i}"] = Choice((Sequence((Literal(b"abc"), following)), Literal(b"x")))
            case "wide":
                bodies[f"r{i}"] = Choice((Sequence((A, RuleRef("s"))), Literal(b"%d" % i)))
            case _:
                bodies[f"r{i}"] = Choice((Sequence((RuleRef(f"r{i}"), A, following)), Literal(b"x")))
    bodies["s"] = Choice(tuple(RuleRef(f"r{i}") for i in range(n)))
    return bodies


def written(rules: RuleSet) -> int:
    """Return how much is written in rules: places for expressions, and bytes of literals at each place."""
    found = [facts(rule.body) for rule in normalize(rules).rules.values()]
    return sum(known.written + known.text for known in found)


@pytest.mark.parametrize("last", [Literal(b"ab"), Repeat(Literal(b"ab"), 0, 1)])
@pytest.mark.parametrize("between", [(), (Literal(b"q" * 1000),)])
def test_rules_that_double_stay_rules(last: Expr, between: tuple[Expr, ...]) -> None:
    sizes = []
    for count in (30, 60):
        rules: dict[str, Expr] = {
            f"r{i}": Sequence((RuleRef(f"r{i + 1}"), *between, RuleRef(f"r{i + 1}"))) for i in range(count)
        }
        rules[f"r{count}"] = last
        sizes.append(written(rule_set(rules, "r0")))
    assert sizes[1] < 500_000
    assert sizes[1] < 3 * sizes[0]


def test_a_literal_that_one_place_needs_is_written_there_and_long_ones_not_everywhere() -> None:
    long = Literal(b"q" * 30_000)
    rules = {f"r{i}": Sequence((A, RuleRef("long"), RuleRef(f"r{i + 1}"))) for i in range(300)}
    assert list(normalize(rule_set({"s": Sequence((A, RuleRef("long"))), "long": long})).rules) == ["s"]
    assert written(rule_set({**rules, "r300": A, "long": long}, "r0")) < 1_200_000


def test_empty_links_of_a_chain_cost_one_look_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    ends_of = left_recursion.ends_of

    def counted(expr: Expr, ends: Mapping[str, Ends]) -> Ends:
        nonlocal looks
        looks += 1
        return ends_of(expr, ends)

    monkeypatch.setattr(left_recursion, "ends_of", counted)
    maybe = Repeat(A, 0, 1)
    bodies: dict[str, Expr] = {
        f"r{i}": Choice((Sequence((RuleRef(f"r{i + 1}"), maybe)), Literal(b"z%d" % i))) for i in range(100)
    }
    bodies["r100"] = Choice((Sequence((RuleRef("r0"), maybe)), Literal(b"q")))
    assert not any(left_calls(normalize(rule_set(bodies, "r0"))).values())
    assert looks <= 2 * len(bodies)


@pytest.mark.campaign
@pytest.mark.parametrize("width", [2, 90])
def test_what_is_written_for_left_recursion_is_bounded_before_it_is_written(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    sequence = left_recursion.sequence

    def counted(items: Iterable[Expr], span: Span | None = None) -> Expr:
        nonlocal count
        found = tuple(items)
        count += len(found)
        return sequence(found, span)

    monkeypatch.setattr(left_recursion, "sequence", counted)
    bodies: dict[str, Expr] = {}
    for i in range(300):
        ways = [
            Sequence((RuleRef(f"r{(i * 3 + k) % 300}"), RuleRef(f"r{(i + k) % 300}"), A))
            for k in range(width)
        ]
        bodies[f"r{i}"] = Choice((*ways, A, Literal(b"")))
    assert codes(rule_set(bodies, "r0")) == ["G114"]
    assert count <= 2 * left_recursion.MAX_WRITTEN


def test_what_is_remembered_of_bodies_is_bounded_by_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few nodes may hold much: a class of all letters has hundreds of ranges, a literal any number of bytes."""
    monkeypatch.setattr(graph, "MAX_KEPT", graph.MAX_HELD)
    text = (
        "root ::= " + " ".join(f"[\\p{{L}}\\u{{{0x2100 + i:x}}}]" for i in range(100)) + ' "' + "x" * 500_000
    )
    for number in range(20):
        Grammar.from_ebnf(f'{text}{number}"').normalize()
        bodies = [body for body, _ in graph._facts.values()]
        parts = {id(part): part for body in bodies for part in ir.walk(body)}.values()
        ranges = sum(len(part.ranges) for part in parts if isinstance(part, ir.CharClass))
        data = sum(len(part.data) for part in parts if isinstance(part, ir.Literal))
        assert len(parts) + ranges + data // 128 <= graph.MAX_HELD
    assert number and ranges


def test_little_is_remembered_of_the_bodies_of_a_finished_grammar() -> None:
    """A server reads one grammar after the other: the bodies of finished ones are never asked for again."""
    for number in range(60):
        Grammar.from_ebnf(
            f'root ::= ({" | ".join(f"a{i} b" for i in range(50))}) "{number}"\n'
            + "".join(f'a{i} ::= "{i}" [a-z]{{3}} "{number}"\n' for i in range(50))
            + "b ::= [0-9]+"
        ).normalize()
        assert graph._held[0] <= graph.MAX_KEPT
    assert graph._held[0]
