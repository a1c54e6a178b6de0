from contextlib import AbstractContextManager
from typing import Final

LAYERS: Final[tuple[str, ...]]

def switch(names: tuple[str, ...] | list[str], on: bool) -> None: ...
def without(*names: str) -> AbstractContextManager[None]: ...
