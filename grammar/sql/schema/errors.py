"""What can be wrong with the arguments of ``Grammar.from_sql``."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class SQLError(StackmaskError):
    """An argument that no grammar of SQL can be made of; the text says which one, and what would do."""
