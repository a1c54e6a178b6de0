"""What follows a name is worked out once for all names that are alike: masks are those of working it out for each."""

from __future__ import annotations

import numpy as np
import pytest
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask.grammar.sql.scope.state import Query

TABLES = {
    "users": ["id", "name", "age"],
    "orders": ["id", "user_id", "total"],
    "items": ["order_id", "total", "sku"],
}
QUERIES = (
    "SELECT T1.name, T2.total FROM users AS T1 JOIN orders AS T2 ON T1.id = T2.user_id WHERE T1.age > 3",
    "SELECT a.*, b.sku FROM orders a, items b WHERE a.id = b.order_id",
    "SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id)",
    "SELECT o.total FROM orders o WHERE o.id IN (SELECT i.order_id FROM items i WHERE i.total = o.total)",
    "SELECT total FROM orders NATURAL JOIN items x",
    "SELECT sku FROM orders o JOIN items i USING (total) GROUP BY i.sku",
    "WITH c AS (SELECT id FROM users u) SELECT c.id FROM c UNION SELECT o.id FROM orders o ORDER BY 1",
    "SELECT d.n FROM (SELECT age AS n FROM users q) d WHERE d.n > 1",
    "SELECT * FROM users u, orders o",
    "SELECT u.id FROM orders u",
    "SELECT name, count(*) FROM users GROUP BY name HAVING count(*) > 1 ORDER BY name",
    "SELECT (SELECT max(total) FROM orders) + 1 AS a, b.id FROM users b ORDER BY a",
    "SELECT count(DISTINCT T1.id), T1.name FROM users T1 GROUP BY 2 UNION ALL SELECT 1, 'a' ORDER BY 1",
    "SELECT q.s FROM (SELECT sum(total) AS s, user_id FROM orders GROUP BY user_id) AS q LEFT JOIN users u ON u.id = q.user_id",
)
WORDS = (
    b" T1",
    b" T2",
    b"T",
    b"T1.",
    b" a",
    b"a,",
    b"a.",
    b" u",
    b"u.",
    b"o.",
    b" o)",
    b" i",
    b"i ",
    b" x,",
    b" AS",
    b" FROM",
)
MORE = (
    b" WHERE",
    b" JOIN",
    b" ON",
    b" USING",
    b" users",
    b"users.",
    b" q)",
    b" d",
    b".*",
    b", ",
    b" (",
    b" b",
    b" c.",
    b")",
)
# tokens in which what follows depends on the name
LONG = (
    b"a ON a.id",
    b"u WHERE u.",
    b"x WHERE age",
    b" x JOIN orders y ON x.id = y.id",
    b"users x, orders x",
    b"users x, orders y WHERE y.",
    b"T1.name, T2.total",
    b"T1.name, T1.id FROM",
    b"a.id, a.total FROM orders a",
    b"a.id, b.total FROM orders a",
    b"id AS a, id AS b FROM users ORDER BY a",
    b"age n FROM users q) d WHERE d.n",
    b"name FROM users",
    b"name FROM items",
    b"sku, total FROM items",
    b"sku, name FROM items",
    b"name) FROM orders",
    b"id UNION SELECT id FROM users ORDER BY id",
    b"x UNION SELECT 1 ORDER BY x",
    b"1 x ORDER BY x",
    b"1 AS x) SELECT x FROM c",
    b"id = id AND total",
    b".id) FROM users",
    b".age FROM orders",
    b"age + 1 FROM users",
    b"(SELECT o.total FROM orders o WHERE o.id = u.id) FROM users u",
    b"(age) FROM",
    b"*, a.* FROM users a",
    b"a.* FROM users b",
    b"a.* FROM users a WHERE",
    b"1 LIMIT",
    b"id, name FROM users GROUP BY id",
    b"name FROM users GROUP BY name",
    b"max(id) FROM users GROUP BY name",
    b"id GROUP BY 1 HAVING",
    b"name ORDER BY name",
    b"id AS name ORDER BY name",
    b"id, id AS id FROM users ORDER BY id",
    b"DISTINCT id FROM users ORDER BY name",
    b"DISTINCT id FROM users ORDER BY id",
    b"1 + 1) AS q",
    b"id + 1 AS n FROM users) q WHERE q.n",
    b" UNION SELECT 1, 2",
    b" UNION SELECT 1",
    b", 1 ORDER BY 1, 2",
    b", 1 ORDER BY 1, 7",
    b"\t\n ",
    b"\n  F",
)


def masks_along(grammar: sm.Grammar) -> list[np.ndarray]:
    """Return the masks at each byte of the queries, as far as they go, on a compiler of its own."""
    tokens = [*(bytes([byte]) for byte in range(256)), *WORDS, *MORE, *LONG, None]
    compiled = sm.Compiler(sm.Vocabulary(tokens, stop_ids=[len(tokens) - 1])).compile(grammar)
    found = []
    for query in QUERIES:
        matcher = compiled.matcher()
        mask = sm.allocate_token_bitmask(1, len(tokens))
        for byte in query.encode():
            matcher.fill_next_token_bitmask(mask)
            found.append(np.array(mask))
            if not matcher.accept_token(byte):
                found.append(np.full_like(mask, byte))  # where it ends counts, too
                break
        found.append(np.array(matcher.is_accepting()))
    return found


@pytest.mark.parametrize("dialect", mostly_campaign(["sqlite", "postgres"], 1))
def test_masks_do_not_depend_on_it(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = sm.Grammar.from_sql(dialect, schema=TABLES)
    once = masks_along(grammar)
    asked = []

    def for_each(query: Query) -> Query:
        asked.append(query)
        return query

    monkeypatch.setattr(Query, "__stand_in__", for_each)
    each = masks_along(grammar)
    assert len(asked) > 100
    assert len(once) == len(each) > 300
    for mine, theirs in zip(once, each, strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("query", "is_taken"),
    [
        ('SELECT "".x FROM t AS a WHERE 1', False),
        ('SELECT "".* FROM t AS a WHERE 1', False),
        ('SELECT "".x FROM "" WHERE 1', True),
        ('SELECT "".x FROM t AS a, "" WHERE 1', True),
        ("SELECT a.y FROM t AS a WHERE 1", True),
        ("SELECT b.y FROM t AS a WHERE 1", False),
    ],
)
def test_no_name_is_a_name_too(query: str, is_taken: bool) -> None:
    grammar = sm.Grammar.from_sql("sqlite", schema={"": ["x"], "t": ["x", "y"]})
    tokens = [*(bytes([byte]) for byte in range(256)), None]
    matcher = sm.Compiler(sm.Vocabulary(tokens, stop_ids=[256])).compile(grammar).matcher()
    assert (matcher.accept_string(query) and matcher.is_accepting()) == is_taken


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_names_that_are_alike_are_followed_once(dialect: str) -> None:
    """Eight times as many names, in tokens that go on after them, lead to hardly more returns of rules."""

    def returns(count: int) -> int:
        names = [f"col{n:03d}" for n in range(count)]
        tokens = [
            *(bytes([byte]) for byte in range(256)),
            *(name.encode() + sign for name in names for sign in (b",", b" ", b")", b"=")),
            None,
        ]
        vocabulary = sm.Vocabulary(tokens, stop_ids=[len(tokens) - 1])
        compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_sql(dialect, schema={"t": names}))
        matcher = compiled.matcher()
        mask = sm.allocate_token_bitmask(1, len(tokens))
        for byte in b"SELECT col001, col002 FROM t AS a WHERE a.col003 > 1 ":
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_token(byte)
        return int(compiled._family.counts()["returns"])

    assert returns(80) - returns(10) < 80
