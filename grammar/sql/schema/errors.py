"""Errors in the arguments of ``Grammar.from_sql``."""

from __future__ import annotations

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostics import Diagnostic, StackmaskError, line_and_column, render_one


class SQLError(StackmaskError):
    """An argument is unsuitable for a SQL grammar; the message names it and the valid alternatives."""


# -- Errors about DDL: each shows the line, the column and an excerpt of the statements. -----------------


def ddl_error(text: str, start: int, length: int, message: str) -> SQLError:
    """Return an error that shows the position: line, column and a caret."""
    line, column = line_and_column(text, start)
    diagnostic = Diagnostic("", message, Span(start, start + max(1, length)))
    excerpt = render_one(diagnostic, [SourceText("DDL", text)]).partition("\n")[2]
    return SQLError(f"the DDL cannot be read, line {line}, column {column}: {message}\n{excerpt}")
