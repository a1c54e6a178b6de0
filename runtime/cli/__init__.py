"""The command line ``stackmask``. This module imports only packages that are always installed."""

from __future__ import annotations

import sys

from stackmask.runtime.cli.exit_status import INTERRUPTED, USAGE_ERROR
from stackmask.runtime.extras import MissingExtraError, require


def main() -> None:
    """Run the command line; without the extra ``cli``, explain how to install it."""
    try:
        with require("cli"):
            from stackmask.runtime.cli.app import app
        app(prog_name="stackmask")
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(USAGE_ERROR) from None
    except KeyboardInterrupt:  # before a command runs, or after it
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
