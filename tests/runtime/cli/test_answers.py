"""Answers of the process that asks the database: values come back as they were, within their bound."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmask.grammar.sql.schema.schema import Column, Schema, Table
from stackmask.runtime.child import read_data
from stackmask.runtime.cli.database import Keys, QueryError, Reference, Rows, fetch, weight
from stackmask.runtime.cli.query_process import DATA, LONGEST_CODE, plain

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters()),
        st.binary(),
        st.decimals(allow_nan=False),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


def through_pipe(message: Any) -> Any:
    return read_data(pickle.dumps(message), DATA)


@settings(deadline=None)
@given(VALUES)
def test_values_come_back(value: Any) -> None:
    rows = Rows(["a"], [(plain(value),)], False)
    assert through_pipe(rows) == rows
    ((found,),) = through_pipe(rows).rows
    assert found == value and type(found) is type(value)


@settings(deadline=None)
@given(st.one_of(st.text(st.characters()), st.binary()))
def test_answers_are_within_their_bound(value: Any) -> None:
    assert len(pickle.dumps([(plain(value),)])) <= LONGEST_CODE * weight(value) + 64


def test_odd_values() -> None:
    nan, infinity, decimal = through_pipe([plain(x) for x in (float("nan"), float("-inf"), Decimal("NaN"))])
    assert math.isnan(nan) and infinity == -math.inf and decimal.is_nan()
    assert plain(range(3)) == "range(0, 3)"
    assert plain((1, memoryview(b"x"))) == [1, b"x"]


def test_schemas_come_back() -> None:
    table = Table("a\ud800", (Column("x", "int"), Column("y")), "main", True, ("rowid",), ("x",))
    schema = Schema("sqlite", (table, Table("b", ())), ("main",))
    keys = Keys({("main", "a"): ("x", "y")}, {(None, "b"): (Reference(("x",), ("main", "a")),)})
    assert through_pipe((schema, keys)) == (schema, keys)


@pytest.mark.parametrize("value", [print, pytest, Exception("x"), range(3)], ids=repr)
def test_answers_run_nothing(value: Any) -> None:
    with pytest.raises((pickle.UnpicklingError, TypeError), match=r"an answer has|cannot pickle"):
        through_pipe(value)


def test_rows_are_fetched_in_steps() -> None:
    asked: list[int] = []

    def source(rows: list[tuple[str]]) -> Any:
        left = iter(rows)

        def some(number: int) -> list[tuple[str]]:
            asked.append(number)
            return [row for _, row in zip(range(number), left, strict=False)]

        return some

    short = [("x",)] * 5000
    assert fetch(source(short), 5000, 1 << 20) == (short, False)
    assert fetch(source(short), 4999, 1 << 20) == (short[:-1], True)
    assert asked[:4] == [1, 2, 4, 8] and max(asked) == 1000
    asked.clear()
    long = [("x" * 1000,)] * 50
    with pytest.raises(QueryError, match="more than"):
        fetch(source(long), 50, 10_000)
    assert sum(asked) <= 11  # it looked no further than the limit allows
    assert fetch(source(long), 9, 10_000) == (long[:9], True)
    with pytest.raises(QueryError, match="late"):

        def late() -> None:
            raise QueryError("late")

        fetch(source(short), 50, 10_000, check=late)
