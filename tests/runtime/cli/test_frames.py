"""What goes through the pipe comes out as it was; what is no frame is refused."""

from __future__ import annotations

import io
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmask.grammar.sql.schema.schema import Column, Schema, Table
from stackmask.runtime.cli.database import Keys, QueryError, Reference, fetch, weight
from stackmask.runtime.cli.frames import (
    LONGEST_CODE,
    STEP_BYTES,
    FrameError,
    OversizeError,
    in_steps,
    packed,
    packed_schema,
    read_frame,
    unpacked,
    unpacked_schema,
    write_frame,
)

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


def through_pipe(message: dict[str, Any]) -> tuple[dict[str, Any], int]:
    pipe = io.BytesIO()
    write_frame(pipe, message)
    pipe.seek(0)
    found = read_frame(pipe, 1 << 30)
    assert found is not None and read_frame(pipe, 1 << 30) is None
    return found


@given(VALUES)
def test_values_come_back(value: Any) -> None:
    message, _ = through_pipe({"rows": [[packed(value)]]})
    ((found,),) = message["rows"]
    assert unpacked(found) == value and type(unpacked(found)) is type(value)


@given(st.one_of(st.text(st.characters()), st.binary()))
def test_frames_are_within_their_bound(value: Any) -> None:
    _, size = through_pipe({"rows": [[packed(value)]]})
    assert size <= LONGEST_CODE * weight(value) + 64


def test_odd_values() -> None:
    message, _ = through_pipe(
        {"value": [packed(float("nan")), packed(float("-inf")), packed(Decimal("NaN"))]}
    )
    nan, infinity, decimal = map(unpacked, message["value"])
    assert math.isnan(nan) and infinity == -math.inf and decimal.is_nan()
    assert unpacked(packed(range(3))) == "range(0, 3)"
    assert unpacked(packed((1, memoryview(b"x")))) == [1, b"x"]


def test_schemas_come_back() -> None:
    table = Table("a\ud800", (Column("x", "int"), Column("y")), "main", True, ("rowid",), ("x",))
    schema = Schema("sqlite", (table, Table("b", ())), ("main",))
    keys = Keys({("main", "a"): ("x", "y")}, {(None, "b"): (Reference(("x",), ("main", "a")),)})
    message, _ = through_pipe(packed_schema(schema, keys))
    assert unpacked_schema(message) == (schema, keys)


def test_bad_frames() -> None:
    pipe = io.BytesIO()
    write_frame(pipe, {"text": "x" * 100})
    whole = pipe.getvalue()
    for end in (1, 8, len(whole) - 1):
        with pytest.raises(FrameError):
            read_frame(io.BytesIO(whole[:end]), 1000)
    with pytest.raises(OversizeError):
        read_frame(io.BytesIO(whole), 99)
    with pytest.raises(OversizeError):
        read_frame(io.BytesIO(b"\xff" * 100), 1 << 40)
    with pytest.raises(FrameError):
        read_frame(io.BytesIO((2).to_bytes(8, "big") + b"[]"), 99)


def test_rows_go_in_steps() -> None:
    rows = [("x" * (STEP_BYTES // 4),)] * 10
    steps = list(in_steps(rows))
    assert [len(step) for step in steps] == [4, 4, 2] and [
        tuple(row) for step in steps for row in step
    ] == rows
    assert list(in_steps([])) == []


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
