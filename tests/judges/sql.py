"""SQLite's own parser, asked to EXPLAIN the statement in an empty database.

The parser reads the whole statement before names are looked up, so "no such table" means "parsed". A few
checks run inside the parser and stop it early; they are told apart as ``semantic``: the rest of such a
statement was never read.
"""

from __future__ import annotations

import re
import sqlite3

from judges.verdict import ACCEPTED, Verdict, decoded, rejected

_SYNTAX = re.compile(
    r"syntax error|incomplete input|unrecognized token|one statement at a time|unknown join type"
    r"|a JOIN clause is required|unsupported frame|clause should come (before|after)|null character"
)
_LIMIT = re.compile(r"parser stack overflow|too (many|large|deep|big)|maximum depth|at most \d+ tables")


def judge(data: bytes) -> Verdict:
    """Judge one SELECT statement; a name that does not exist is no syntax error."""
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("EXPLAIN " + text)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        message = str(error)
        if _SYNTAX.search(message):
            return rejected(message)
        return Verdict(True, message, "limit" if _LIMIT.search(message) else "semantic")
    finally:
        connection.close()
    return ACCEPTED
