"""Errors of a schema, with their locations."""

from __future__ import annotations

from typing import TypeAlias

from stackmask.grammar.source.diagnostics import StackmaskError

Where: TypeAlias = "tuple[Where, str | int] | str"
"""A place in a schema: the URI of a document, or a place and the key or index below it. Places are not
joined, since nearly all of them are never shown."""

MAX_TOKEN_SHOWN = 80
MAX_TOKENS_SHOWN = 40


def pointer(where: Where) -> str:
    """Return the location as a JSON pointer (RFC 6901), after the URI of its document if there is one."""
    tokens: list[str] = []
    while not isinstance(where, str):
        where, token = where
        text = str(token).replace("~", "~0").replace("/", "~1")
        tokens.append(text if len(text) <= MAX_TOKEN_SHOWN else text[:MAX_TOKEN_SHOWN] + "…")
    tokens.reverse()
    if len(tokens) > MAX_TOKENS_SHOWN:
        half = MAX_TOKENS_SHOWN // 2
        tokens = [*tokens[:half], "…", *tokens[-half:]]
    return where + "#" + "".join("/" + token for token in tokens)


class SchemaError(StackmaskError):
    """The schema is invalid: malformed JSON, a keyword with a value of the wrong type, a dangling reference.

    Attributes: ``pointer`` (where), ``keyword`` (may be empty), ``reason``.
    """

    where: Where
    """The place in the schema, from which ``pointer`` is computed."""

    pointer: str
    """The place in the schema, as a JSON pointer with the URI of its document, if any."""

    keyword: str
    """The keyword that caused the error; empty for the whole schema."""

    reason: str
    """The problem, without the place."""

    def __init__(self, where: Where, keyword: str, reason: str) -> None:
        self.where = where
        self.pointer = pointer(where)
        self.keyword = keyword
        self.reason = reason
        place = f"{self.pointer}: " if self.pointer != "#" or keyword else ""
        super().__init__(f"{place}{f'`{keyword}`: ' if keyword else ''}{reason}")


class UnsupportedSchemaError(SchemaError):
    """The schema is valid, but a keyword cannot be enforced exactly here, or only beyond a budget."""


class UnsatisfiableSchemaError(SchemaError):
    """No JSON value is valid; the reason names the conflicting parts."""


class DialectError(SchemaError):
    """The schema does not conform to the requested dialect.

    Attributes: ``dialect`` (its name), ``cure`` (the remedy).
    """

    dialect: str
    """The name of the dialect."""

    cure: str
    """The suggested replacement."""

    def __init__(self, dialect: str, where: Where, keyword: str, reason: str, cure: str) -> None:
        self.dialect = dialect
        self.cure = cure
        super().__init__(where, keyword, reason)
