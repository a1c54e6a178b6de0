"""Exit statuses of the command line."""

from __future__ import annotations

from typing import Final

USAGE_ERROR: Final = 2  # bad input: arguments, files, grammars
INTERRUPTED: Final = 130  # as shells count it: 128 + SIGINT
