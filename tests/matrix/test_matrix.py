"""All engines of the matrix say the same of every case, and every layer is used by some case."""

from __future__ import annotations

from collections import Counter

import pytest
from support.campaign import mostly_campaign

from matrix.corpus import Case, all_cases
from matrix.engines import ALL_ON, EVICTED, LAYERED
from matrix.judging import judge
from stackmask.pda.masks.layers import LAYERS

CASES = all_cases()
BY_NAME = {case.name: case for case in CASES}
GROUPS = 12

# layer → (a case that it serves, a count that tells); "mask_bytes" where it changes what is kept alone
USED = {
    "walks": ("regex: .*[ab]1.*", "simulations"),
    "runs": ("regex: ([ab1]+\\s+){0,30}[ab]+", "visited_nodes"),
    "subtrees": ("regex: .*[ab]1.*", "visited_nodes"),
    "accepted": ("regex: .*[ab]1.* anywhere", "visited_nodes"),
    "counts": ("regex: ([ab1]+\\s+){0,30}[ab]+", "shortened_walks"),
    "prefixes": ("regex: (ab|ba|a1a|b\\.b){2,6}[^a]*", "word_walks"),
    "literals": ("regex: (ab|ba|a1a|b\\.b){2,6}[^a]*", "word_walks"),
    "operand_lists": ("regex: (ab|ba|a1a|b\\.b){2,6}[^a]* anywhere", "joined_masks"),
    "patched": ("regex: (\\w+\\s){3,40}", "mask_bytes"),
    "settled_places": ("runs 1", "settled_places"),
}


@pytest.mark.parametrize("group", mostly_campaign(range(GROUPS), 1))
def test_all_engines_say_the_same(group: int) -> None:
    engines: Counter[str] = Counter()
    places = judged = 0
    for case in CASES[group::GROUPS]:
        found = judge(case)
        if found is not None:
            judged += 1
            places += found.places
            engines.update(found.engines)
    assert judged >= 8
    assert places > 60
    assert all(engines[name] == judged for name in (ALL_ON, *LAYERED, EVICTED))
    assert engines["oracle"] + engines["tokens tried"] == judged
    assert engines["finite"] >= 5


def test_every_layer_has_a_case() -> None:
    assert sorted(set(USED) ^ set(LAYERS)) == [], "not both a layer and a row of USED"


@pytest.mark.parametrize("layer", mostly_campaign(USED, 3))
def test_layer_is_used(layer: str) -> None:
    """A switch that does nothing, or a layer that serves nothing any more, would pass all other tests."""
    name, count = USED[layer]
    found = judge(BY_NAME[name])
    assert found is not None
    assert found.counts[ALL_ON][count] != found.counts[f"without {layer}"][count]


def test_constrained_runs_save_visits() -> None:
    """Runs of a member that a semantic value limits: 1 of 8 nodes is visited. They have no switch of their own."""
    found = judge(BY_NAME["schema: recursion, order any"])
    assert found is not None
    assert 5 * found.counts[ALL_ON]["visited_nodes"] < found.counts["without runs"]["visited_nodes"]


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(CASES)


def test_evicted_masks_are_dropped() -> None:
    case: Case = BY_NAME["schema: choices, order schema"]
    found = judge(case)
    assert found is not None
    assert found.counts[EVICTED]["drops"] >= found.places // 2
