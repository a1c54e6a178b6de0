"""The supported versions of the servers."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.source.diagnostics import StackmaskError

# first and last minor version, both included
SUPPORTED: Final = {"vllm": ((0, 29), (0, 33)), "sglang": ((0, 5), (0, 5))}


class ServerVersionError(StackmaskError):
    """The server's version is not supported by the adapter."""


def check_version(server: str, version: str) -> None:
    """Check the server's version. Raises: ServerVersionError if the version is unsupported; unreadable
    versions are accepted.
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or version.startswith(("0.1.dev", "dev")):
        return
    low, high = SUPPORTED[server]
    if not low <= (int(found[1]), int(found[2])) <= high:
        raise ServerVersionError(
            f"this stackmask is for {server} {low[0]}.{low[1]} to {high[0]}.{high[1]}, not {version}: "
            f"install one of these, or another stackmask"
        )
