"""Name the extra to install when a library is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stackmask.grammar.source.diagnostics import StackmaskError

# the top-level modules that each extra brings
EXTRAS = {
    "cli": frozenset({"typer", "rich"}),
    "hf": frozenset({"torch", "transformers", "safetensors", "tokenizers", "tqdm", "pydantic"}),
    "sql": frozenset({"sqlalchemy", "psycopg", "sqlglot"}),
    "serve": frozenset({"starlette", "uvicorn"}),
    "audit": frozenset({"jsonschema", "jsonschema_rs", "referencing"}),
    "bench": frozenset({"matplotlib"}),
    "gpu": frozenset({"torch", "triton"}),
}


class MissingExtraError(StackmaskError, ImportError):
    """A feature needs libraries that are not installed; the message names the extra that installs them."""


@contextmanager
def require(extra: str) -> Iterator[None]:
    """Turn a failed import of one of the extra's libraries into a message that names the extra.

    Raises: MissingExtraError. Other import errors are passed on, since they do not concern an extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS[extra]:  # mutant: other-imports
            raise
        raise MissingExtraError(
            f"this needs {missing}, which is not installed: pip install 'stackmask[{extra}]'"
        ) from None
