"""What names an id in a header of the engine has the type of that id: see pda/ids.pxd."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from repository.tree import REPO

HEADERS = sorted(path for path in (REPO / "pda").rglob("*.pxd") if path.name != "ids.pxd")

# last words of names, singular, that say which table an integer is an index of
WORDS = {
    *("term", "state", "continuation", "prefix", "kid", "item", "set", "guard", "map", "call", "rule"),
    *("test", "symbol", "sem", "value", "text", "action", "resolver", "key", "slot", "spec", "need"),
    *("frame", "parent", "config", "configuration", "link"),
    *("token", "node", "child", "place", "summary", "group"),
    *("mask", "row", "base", "origin", "reader", "pending", "repeat", "code", "run", "member", "tail"),
    *("filter", "literal", "split", "alternative", "operand", "patched"),
}

# the same words where they mean something else
OTHER_MEANINGS = {
    ("vocabulary/token_trie.pxd", "nodes"): "a number of nodes",
    ("vocabulary/token_trie.pxd", "states"): "a number of states of an automaton",
    ("masks/run_tables.pxd", "states"): "a number of states of an automaton",
    ("masks/run_tables.pxd", "kid"): "a place in the list of children",
    ("masks/run_tables.pxd", "state"): "a state of the automaton of a prefix code",
    ("masks/runs.pxd", "state"): "a state of the automaton of a prefix code",
    ("masks/runs.pxd", "continuation"): "a place in a list of this search",
    ("masks/trie_walk.pxd", "state"): "a state of UTF-8",
    ("masks/runs.pxd", "spelled_continuations"): "pairs of a term and a place in this list",
    ("masks/trie_walk.pxd", "nodes"): "a number of nodes",
    ("context/callables.pxd", "test"): "what tells texts apart",
    ("context/callables.pxd", "tests"): "what tells texts apart",
    ("context/semantic_states.pxd", "tests"): "what tells texts apart",
    ("memory/hash_tables.pxd", "value"): "of any table",
    ("terms/term_table.pxd", "key"): "what tells terms of one kind apart",
    ("terms/term_table.pxd", "operand"): "what tells calls of one action apart",
    ("terms/term_table.pxd", "most_tokens"): "a number of tokens",
    ("stack/configuration_table.pxd", "operand"): "what tells edges of one action apart",
    ("text.pxd", "state"): "a state of UTF-8",
    ("context/object_keys.pxd", "slots"): "a number of slots",
    ("masks/trie_walk.pxd", "next_kid"): "a place in the list of children",
    ("masks/trie_walk.pxd", "last_kid"): "a place in the list of children",
    ("masks/trials.pxd", "next_kid"): "a place in the list of children",
    ("masks/trials.pxd", "last_kid"): "a place in the list of children",
}

BARE = re.compile(r"\bint32_t(?:\[\d+\])?[\]&*]* +[&*]*(\w+)(?!\w*\()")


def bare_integers(path: str) -> Iterator[str]:
    """Yield the names of fields, parameters and functions of a header that are declared as bare integers."""
    for line in (REPO / "pda" / path).read_text(encoding="utf-8").splitlines():
        code = line.partition("#")[0]
        for match in BARE.finditer(code):
            yield match[1]


def names_an_id(name: str) -> bool:
    last = name.rpartition("_")[2]
    return last in WORDS or last.removesuffix("s") in WORDS


@pytest.mark.parametrize("path", [str(path.relative_to(REPO / "pda")) for path in HEADERS])
def test_ids_have_their_types(path: str) -> None:
    found = {name for name in bare_integers(path) if names_an_id(name)}
    assert found == {name for where, name in OTHER_MEANINGS if where == path}


def test_the_pattern_finds_fields_parameters_and_vectors() -> None:
    code = "    int32_t term\ncdef f(int32_t* frame, vector[int32_t]& tokens)\ncdef int32_t[256] node\n"
    assert BARE.findall(code) == ["term", "frame", "tokens", "node"]
