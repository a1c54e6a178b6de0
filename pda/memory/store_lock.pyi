from typing import final

from stackmask.pda.memory.work_meter import WorkAccount, WorkMeter

@final
class StoreLock:
    """Hold it during every call that steps or makes masks.

    Raises: StackmaskError if the thread inside asks again: an action or resolver used its own matcher.
        SpoiledError if memory ran out inside, in the middle of a change.
    """

    @property
    def spoiled(self) -> bool:
        """Whether memory ran out inside: what it guards may be half changed, and it is not taken any more."""

    @property
    def meter(self) -> WorkMeter:
        """What counts the work of the thread inside."""

    def __new__(cls, meter: WorkMeter | None = None) -> StoreLock: ...
    def renew_in_child(self) -> None:
        """Make the lock usable in a forked process."""

    def is_taken(self) -> bool:
        """Tell whether another thread is inside."""

    def enter(self, account: WorkAccount | None) -> None:
        """Enter; what is done inside is charged to the account. ``leave`` in a ``finally``."""

    def leave(self, done: bool) -> None:
        """Leave, and tell whether the work came to its end."""

    def __enter__(self) -> StoreLock: ...
    def __exit__(self, *exc: object) -> None: ...

def renew_locks() -> None:
    """Make all locks usable in a forked process."""
