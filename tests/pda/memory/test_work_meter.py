"""Work is counted for each request, and ends it by name."""

from __future__ import annotations

import pytest

from stackmask.pda.errors import BudgetError, CancelledError
from stackmask.pda.memory.work_meter import StoreLock, WorkAccount, WorkMeter


def test_a_request_is_charged_for_its_own_calls_only() -> None:
    lock = StoreLock(WorkMeter())
    one, other = WorkAccount(1_000_000), WorkAccount(1_000_000)
    for account, units in ((one, 300), (other, 250_000), (one, 7), (None, 5_000_000)):
        lock.enter(account)
        lock.meter.charge(units)
        lock.leave(True)
    assert one.left == 1_000_000 - 307
    assert other.left == 750_000
    assert lock.meter.done == 5_250_307


def test_a_request_without_units_is_refused_by_name() -> None:
    lock = StoreLock(WorkMeter())
    account = WorkAccount(1000)
    lock.enter(account)
    with pytest.raises(BudgetError, match=r"more than 1,000 \(max_work\)"):
        lock.meter.charge(1001)
    # every later unit too, until more is granted
    with pytest.raises(BudgetError, match="max_work"):
        lock.meter.charge(1)
    lock.leave(True)
    assert account.left < 0
    account.grant(500)
    assert account.left == 500
    lock.enter(account)
    lock.meter.charge(400)
    lock.leave(True)
    # one call may use all that was granted
    account.grant(10_000)
    lock.enter(account)
    lock.meter.charge(10_000)
    lock.leave(True)


def test_one_call_may_not_use_all() -> None:
    lock = StoreLock(WorkMeter(max_call=700))
    account = WorkAccount(900)
    lock.enter(account)
    with pytest.raises(BudgetError, match="max_work"):
        lock.meter.charge(701)
    lock.leave(True)
    assert account.left == 199


def test_a_call_of_a_request_with_a_larger_limit_may_use_three_quarters_of_that() -> None:
    lock = StoreLock(WorkMeter(max_call=700))
    account = WorkAccount(100_000)
    lock.enter(account)
    lock.meter.charge(74_000)
    lock.leave(True)
    lock.enter(account)
    with pytest.raises(BudgetError, match="100,000"):
        lock.meter.charge(27_000)
    lock.leave(True)


def test_a_cancelled_request_ends_at_the_next_check() -> None:
    lock = StoreLock(WorkMeter())
    account = WorkAccount(10_000_000)
    lock.enter(account)
    lock.meter.charge(10)
    account.cancel()
    with pytest.raises(CancelledError):
        lock.meter.charge(200_000)
    lock.leave(True)
    assert account.cancelled
