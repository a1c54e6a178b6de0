"""Which versions of the servers the adapters are for."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.source.diagnostics import StackmaskError

# first and last minor version, both included
SUPPORTED: Final = {"vllm": ((0, 29), (0, 33)), "sglang": ((0, 5), (0, 5))}


class ServerVersionError(StackmaskError):
    """A server of a version that the adapter is not for."""


def check_version(server: str, version: str) -> None:
    """Raises: ServerVersionError if the adapter is not for this version; one that cannot be read is let through."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or version.startswith(("0.1.dev", "dev")):
        return
    low, high = SUPPORTED[server]
    if not low <= (int(found[1]), int(found[2])) <= high:
        raise ServerVersionError(
            f"this stackmask is for {server} {low[0]}.{low[1]} to {high[0]}.{high[1]}, not {version}: "
            f"install one of these, or another stackmask"
        )
