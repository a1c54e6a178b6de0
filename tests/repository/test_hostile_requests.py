"""The hostile requests of the benchmark are what its page says: many, small, and the same each time."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from repository.tree import REPO


@pytest.fixture
def hostile_requests(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPO / "lab" / "benchmarks"))
    import hostile_requests

    for name in [name for name in sys.modules if name.split(".")[0] == "hostile_requests"]:
        monkeypatch.delitem(sys.modules, name)
    return hostile_requests


def test_many_small_requests_that_are_the_same_each_time(hostile_requests: ModuleType) -> None:
    requests = hostile_requests.all_requests()  # refuses two of one name, and any that is too large
    assert len(requests) >= 240
    assert len({request.family for request in requests}) >= 100
    assert max(request.bytes for request in requests) <= 64 * 1024
    assert max(len(request.text) for request in requests) <= 40_000
    assert requests == hostile_requests.all_requests()
