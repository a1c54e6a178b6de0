"""Which cases of a test run every time, and which only with ``pytest --all``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

campaign = pytest.mark.campaign
# how many times as many random cases: ``./dev nightly`` runs thousands
SCALE = int(os.environ.get("STACKMASK_SCALE", "1"))


def mostly_campaign(cases: Iterable[Any], kept: int) -> list[Any]:
    """Return the cases, of which so many run every time, spread evenly, and the others with ``--all``."""
    cases = list(cases)
    every = {len(cases) * number // kept for number in range(kept)}
    return [case if place in every else _marked(case) for place, case in enumerate(cases)]


def _marked(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, campaign])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=campaign)
