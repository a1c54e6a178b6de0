from typing import Any

class Contents:
    size: int
    portable: bool

    def key(self, schema: dict[str, Any], keywords: frozenset[str]) -> tuple[Any, ...] | None: ...
