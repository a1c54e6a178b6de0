"""Errors about DDL: each shows the line, the column and an excerpt of the statements."""

from __future__ import annotations

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostics import Diagnostic, line_and_column, render_one
from stackmask.grammar.sql.schema.errors import SQLError


def ddl_error(text: str, start: int, length: int, message: str) -> SQLError:
    """Return an error that shows the place: line, column and a caret."""
    line, column = line_and_column(text, start)
    diagnostic = Diagnostic("", message, Span(start, start + max(1, length)))
    excerpt = render_one(diagnostic, [SourceText("DDL", text)]).partition("\n")[2]
    return SQLError(f"the DDL cannot be read, line {line}, column {column}: {message}\n{excerpt}")
