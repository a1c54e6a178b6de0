"""What can be told of an expression from its text: the name that PostgreSQL gives its column, and whether it is a constant.

Of an expression there is the text without the names in it (at most :data:`KEPT` bytes), and its *log*: the names by
themselves, in order. Both together say which expression it is, where no sign can belong to two operands.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from stackmask.grammar.sql.scope.state import Query

# bytes of an expression, without the names in it, that tell whether it is a name or a number
KEPT: Final = 200
# ("column", name), ("member", table, name) or ("call", name); None where a query stands within the expression
Log: TypeAlias = tuple[tuple[str, ...], ...] | None
Use: TypeAlias = tuple[str, str]  # a table of FROM and a column; "" for no table, or for a column of several

BARE: Final = re.compile(r"[(\s]*[)\s]*")
MEMBER: Final = re.compile(r"[(\s]*\.[)\s]*")
CONSTANT: Final = re.compile(
    r"[(\s]*(?:[+-]?\s*[0-9.][0-9.eE+-]*|(?:[eEnNuUbBxX]&?)?'.*'|\$\$.*|null|true|false)[)\s]*",
    re.IGNORECASE | re.DOTALL,
)
INTEGER: Final = re.compile(r"[(\s]*([0-9]+)[)\s]*")
SIGNED_INTEGER: Final = re.compile(r"[(\s+-]*([0-9]+)[)\s]*")
LONG_INTEGER: Final = re.compile(r"[(\s+-]*[0-9]*[)\s]*")
STRINGS: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\$\$.*?\$\$", re.DOTALL)
BLANKS: Final = re.compile(r"\s+")
BESIDE_SIGNS: Final = re.compile(r" ?([(),]) ?")
SIGN: Final = re.compile(r"(?:^|[-+*/%<>=~!@#&|^?,(\[:])\s*[-+]")
OPERATORS: Final = re.compile(
    r"[-+*/%<>=~!@#&|^?]|\b(?:and|or|not|is|isnull|notnull|in|like|ilike|between|any|some|all)\b",
    re.IGNORECASE,
)
NO_NAME: Final = re.compile(r"\s*(?:[0-9.][0-9.eE]*|null|true|false)?\s*", re.IGNORECASE)
TAIL: Final = re.compile(
    r"\s*(?:ilter\s*)?(?:over\s*)?", re.IGNORECASE
)  # what has actions is not in the text
CALL: Final = re.compile(r"\s*([a-z_][a-z0-9_$]*)\s*\(\)\s*", re.IGNORECASE)
NAMED_OTHERWISE: Final = frozenset(
    {"cast", "trim", "case", "exists", "array", "interval", "date", "in", "any", "not"}
)
BY_ITSELF: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)
OTHER_NAMES: Final = frozenset(
    {
        "case",
        "btrim",
        "ltrim",
        "rtrim",
        "timezone",
        "exists",
        "array",
        "int2",
        "int4",
        "int8",
        "float4",
        "float8",
    }
    | {
        "bool",
        "bpchar",
        "varchar",
        "numeric",
        "timestamptz",
        "timetz",
        "timestamp",
        "time",
        "interval",
        "date",
    }
)


class Figure(NamedTuple):
    """The name of a column: ``name``, None if it has none that can be written; or one of ``maybe``, None for any."""

    name: str | None
    maybe: frozenset[str] | None = frozenset()


def figure(text: str, log: Log) -> Figure:
    """Return what PostgreSQL calls the column of an expression without a label.

    Source: FigureColname of PostgreSQL's parser: the last name of a column or function, through casts and
    parentheses; operators have none.
    """
    if log is None or len(text) >= KEPT:
        return Figure(None, None)
    column = plain_column(text, log)
    if column is not None:
        return Figure(column[1])
    flat = _flat(text)
    if flat is None:
        return Figure(None, None)
    if not log and NO_NAME.fullmatch(flat):
        return Figure(None)
    if OPERATORS.search(flat.replace("::", "")) and not re.search(r"\b(?:case|at)\b", flat, re.IGNORECASE):
        return Figure(None)
    inner = text.lstrip()[
        1:
    ].lstrip()  # a second "(" there may be of the call, and the first of a larger expression
    if (
        log
        and log[0][0] == "call"
        and inner[:1] != "("
        and flat.startswith("()")
        and TAIL.fullmatch(flat[2:])
    ):
        return Figure(log[0][1])
    call = CALL.fullmatch(flat)
    if call and call[1].lower() not in NAMED_OTHERWISE:
        return Figure(call[1].lower())
    if flat.strip().lower() in BY_ITSELF:
        return Figure(flat.strip().lower())
    words = frozenset(re.findall(r"[a-z_][a-z0-9_$]*", text.lower()))
    return Figure(None, words | OTHER_NAMES | {entry[-1] for entry in log})


def plain_column(text: str, log: Log) -> Use | None:
    """Return the column that an expression is nothing but."""
    if not log or len(log) != 1 or text.count("(") != text.count(")"):
        return None
    entry = log[0]
    if entry[0] == "column" and BARE.fullmatch(text):
        return "", entry[1]
    if entry[0] == "member" and MEMBER.fullmatch(text):
        return entry[1], entry[2]
    return None


def same_text(text: str, log: Log) -> tuple[str, Log] | None:
    """Return what only equal expressions have in common; None if that cannot be said."""
    if log is None or len(text) >= KEPT or SIGN.search(STRINGS.sub("''", text)):
        return None
    parts: list[str] = []
    end = 0
    for string in STRINGS.finditer(
        text
    ):  # what stands between them is read without regard to case and blanks
        parts += [_plain(text[end : string.start()]), string[0]]
        end = string.end()
    return "".join([*parts, _plain(text[end:])]).strip(), log


def _plain(text: str) -> str:
    return BESIDE_SIGNS.sub(r"\1", BLANKS.sub(" ", text.lower()))


def ordinal(query: Query, data: bytes) -> int | None:
    """Return the number of a column that GROUP BY or ORDER BY reads, -1 for one that it refuses, None for none.

    PostgreSQL reads no signs, and refuses other constants.
    """
    text = data.decode("utf-8", "replace")
    if not query.catalog.dialect.groups:
        if len(data) >= KEPT:
            return -1 if LONG_INTEGER.fullmatch(text.strip()) else None
        found = SIGNED_INTEGER.fullmatch(text.strip())
        if not found or text.count("(") != text.count(")"):  # a call
            return None
        return -1 if "-" in text else int(found[1])
    if query.log is None or query.log:
        return None
    if len(text) >= KEPT:
        return -1
    found = INTEGER.fullmatch(text.strip())
    if found:
        return int(found[1])
    return -1 if CONSTANT.fullmatch(text.strip()) else None


def of_postgres(query: Query) -> bool:
    """Return whether what an expression is is told from all of its text."""
    return query.catalog.dialect.groups


def begins_ordinal(is_postgres: bool, begun: bytes) -> bool:
    """Return whether an expression may be a number, or its text says something else."""
    return is_postgres or LONG_INTEGER.fullmatch(begun.decode("utf-8", "replace")) is not None


def _flat(text: str) -> str | None:
    """Return the text without what stands in parentheses, brackets and quotes; None if it is broken off."""
    text = STRINGS.sub("0", text)
    found: list[str] = []
    depth = 0
    for char in text:
        if char in "([":
            depth += 1
        if depth == 0 or (depth == 1 and char in "()" and not (char == "(" and found[-1:] == ["("])):
            found.append(char)
        if char in ")]":
            depth -= 1
            if depth < 0:
                return None
    return None if depth or "'" in text else "".join(found).lstrip()
