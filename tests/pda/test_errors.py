"""What errors about limits say: the limit, its value, and the knob that raises it."""

from __future__ import annotations

from stackmask.pda.errors import BudgetError, SpoiledError


def test_a_limit_that_can_be_raised_names_its_knob() -> None:
    error = BudgetError("max_terms", 20_000_000, "local states")
    assert str(error) == "local states: more than 20,000,000 (max_terms); raise it with Limits(max_terms=…)"
    assert (error.limit, error.value) == ("max_terms", 20_000_000)


def test_a_fixed_limit_says_so() -> None:
    error = BudgetError("max_guards", 63, "follow restrictions", fixed=True)
    assert str(error) == "follow restrictions: more than 63 (max_guards); this limit is fixed"


def test_what_is_spoiled_says_what_to_do() -> None:
    assert "create a new matcher" in str(SpoiledError())
