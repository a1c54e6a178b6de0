from typing import final

@final
class StoreLock:
    """Hold it during every call that steps or makes masks.

    Raises: StackmaskError if the thread inside asks again: an action or resolver used its own matcher.
    """

    def __new__(cls) -> StoreLock: ...
    def __enter__(self) -> StoreLock: ...
    def __exit__(self, *exc: object) -> None: ...
