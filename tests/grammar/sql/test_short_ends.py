"""Short ends of queries whose names a schema knows: the tables that were needed are named, in whatever order."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

import pytest

import stackmask as sm
from stackmask.grammar import ir

TABLES = {
    "customers": ["id", "name", "city"],
    "orders": ["id", "customer_id", "total"],
    "reviews": ["id", "customer_id", "stars"],
}
TOKENS = [bytes([b]) for b in range(256)]
VOCABULARY = sm.Vocabulary([*TOKENS, None], stop_ids=[256])
COMPILER = sm.Compiler(VOCABULARY)


def matcher(dialect: str, text: str) -> sm.Matcher:
    found = COMPILER.compile(sm.Grammar.from_sql(dialect, schema=TABLES)).matcher()
    assert found.accept_string(text)
    return found


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("SELECT customers.name,", len("0 FROM customers")),
        ("SELECT city", len(" FROM customers")),
        ("SELECT stars FROM", len(" reviews")),
        ("SELECT stars FROM re", len("views")),
        ("SELECT a.name", len(" FROM customers a")),
        ("SELECT a.name FROM customers", len(" a")),
        ("SELECT a.name, b.total FROM customers a", len(",orders b")),
        ("SELECT a.name, b.total FROM customers AS ", len("a,orders b")),
        ("SELECT SUM(total", len(") FROM orders")),
        ("SELECT name, (SELECT MAX(o.total", len(") FROM orders o) FROM customers")),
        ("SELECT c.id FROM customers c JOIN (SELECT city", len(" FROM customers)")),
        ("SELECT id FROM orders UNION SELECT id, ", None),
        ("SELECT id, total FROM orders UNION SELECT id", len(",0 FROM orders")),
        ("SELECT x. FROM", None),
        ("", len("SELECT*FROM orders")),
        ("SELECT 5", len(" FROM orders")),
        ("SELECT 5 AS x", len(" FROM orders")),
        ("SELECT 5 FROM (SELECT 1) AS q", len(",orders")),
        ("SELECT 'a", len("'FROM orders")),
        ("SELECT strftime('%Y", len("')FROM orders")),
        ("SELECT (SELECT 'a", len("')FROM orders")),
        ("WITH q AS (SELECT 'a", len("')SELECT*FROM orders")),
        ("WITH q AS (SELECT 1 AS a) SELECT a FROM q", len(",orders")),
        ("SELECT id FROM orders UNION SELECT 'a", len("'FROM orders")),
        ("SELECT id FROM orders UNION SELECT * FROM (SELECT 'a", len("'FROM 'orders')")),
    ],
)
def test_of_sqlite(text: str, most: int | None) -> None:
    found = COMPILER.compile(sm.Grammar.from_sql("sqlite", schema=TABLES)).matcher()
    if most is None:
        assert not found.accept_string(text)
        return
    assert found.accept_string(text)
    end = found.shortest_completion().text
    assert len(end) <= most
    database = sqlite3.connect(":memory:")
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    database.execute("EXPLAIN " + text + end.decode())


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("SELECT city, COUNT(*)", len(" FROM customers GROUP BY 1")),
        ("SELECT c.city, c.name, COUNT(*) FROM customers c", len(" GROUP BY 1,2")),
        ("SELECT a.name, b.total FROM customers a", len(",orders b")),
        ("SELECT city, COUNT(*) FROM customers WHERE id = 1 GRO", len("UP BY 1")),
        ("SELECT lower('a", len("')FROM orders")),
        ("WITH q AS (SELECT 'a", len("')SELECT 0 FROM orders")),
        ("SELECT 5 FROM generate_series(1, 2) AS g", len(",orders")),
        ("(SELECT 5", len(" FROM 'orders')UNION SELECT '' FROM orders")),
    ],
)
def test_of_postgres(text: str, most: int) -> None:
    found = matcher("postgres", text)
    end = found.shortest_completion().text
    assert len(end) <= most
    assert found.accept_string(end)
    assert found.is_accepting()


class Value(NamedTuple):
    """Letters so far, up to three, and what it claims to need."""

    letters: int
    claim: str

    def __owed__(self, begun: str | None) -> ir.Owed:
        return ir.Owed(len(self.claim), self.claim, bool(begun))


def count(value: Any, _text: bytes) -> Value:
    return Value(min(value.letters + 1, 3), value.claim)


def check(value: Any, _text: bytes) -> Value | None:
    return value if value.letters == 3 else None


def grammar_of(initial: Any) -> sm.Grammar:
    letter = ir.Capture(ir.CharClass(((97, 98),)), count)
    end = ir.Capture(ir.Literal(b"."), check)
    rules = {"root": ir.Rule("root", ir.Sequence((ir.Repeat(letter, 0, None), end)))}
    return sm.Grammar(ir.RuleSet(rules, "root", initial))


def test_what_a_value_claims_must_be_owed() -> None:
    class Other(Value):
        def __owed__(self, begun: str | None) -> Any:
            return 3

    with pytest.raises(sm.StackmaskError, match="3 is not an Owed"):
        sm.Compiler(VOCABULARY).compile(grammar_of(Other(0, ""))).matcher().shortest_completion()


@pytest.mark.parametrize("claim", ["", "b", "bbbb", "aab.", "\u20ac", "x" * 5000])
def test_what_a_value_claims_is_only_a_guide(claim: str) -> None:
    found = COMPILER.compile(grammar_of(Value(0, claim))).matcher()
    text = found.shortest_completion().text
    assert found.accept_string(text)
    assert found.is_accepting()
    assert len(text) <= 8
