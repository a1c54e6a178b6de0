"""Places in JSON texts, beside those that the standard library's reader finds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackmask.runtime.cli.play_judging import place_in_json

TEXT = """{"a": [1, {"b": "x, ]}"}, [], {}, [[2]]], "": {"": null},
 "\\u0061\\"b" : {"c/d~": {"e": true , "f":[3 ]}}, "e": "e"}"""


def all_paths(value: Any, path: list[str | int]) -> list[tuple[list[str | int], Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value)] + [found for key, each in inner for found in all_paths(each, [*path, key])]


def test_every_value_is_found_where_it_stands() -> None:
    for path, value in all_paths(json.loads(TEXT), []):
        place = place_in_json(TEXT, path)
        assert place is not None, path
        assert json.loads(TEXT[slice(*place)]) == value, path


def test_names_of_members() -> None:
    start, end = place_in_json(TEXT, ['a"b', "c/d~"], "f") or (0, 0)
    assert (TEXT[start:end], TEXT[end]) == ('"f"', ":")
    start, end = place_in_json(TEXT, [], "e") or (0, 0)
    assert TEXT[start:] == '"e": "e"}'
    assert place_in_json(TEXT, [], "none") == (0, len(TEXT))


@pytest.mark.parametrize("path", [["b"], ["a", 9], ["a", "0"], ["e", "e"], ["a", 2, 0]])
def test_what_is_not_there(path: list[str | int]) -> None:
    assert place_in_json(TEXT, path, "x") is None
