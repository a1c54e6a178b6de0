from typing import final

@final
class StoreLock:
    """Hold it during every call that steps or makes masks.

    Raises: StackmaskError if the thread inside asks again: an action or resolver used its own matcher.
        SpoiledError if memory ran out inside, in the middle of a change.
    """

    @property
    def spoiled(self) -> bool:
        """Whether memory ran out inside: what it guards may be half changed, and it is not taken any more."""

    def __new__(cls) -> StoreLock: ...
    def __enter__(self) -> StoreLock: ...
    def __exit__(self, *exc: object) -> None: ...
