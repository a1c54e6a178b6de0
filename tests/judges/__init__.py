"""Independent judges: is a text in the language, by a program that knows nothing of our grammars?

``JUDGES[name]`` judges the language of ``grammars/<name>.ebnf``. Every judge is a function from the bytes
of one whole text to a :class:`Verdict`. Judges share no code with the grammars or with the engine; they
ask the language's own parser (``json``, ``sqlite3``, Lua, expat, ``ast``, ``re``), and add what the
parser is lenient about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from judges import arithmetic, csv, indented, json, lua, postgres, python, regex, sql, xml
from judges.verdict import Verdict

JUDGES: Mapping[str, Callable[[bytes], Verdict]] = {
    "arithmetic": arithmetic.judge,
    "csv": csv.judge,
    "indented": indented.judge,
    "json": json.judge,
    "lua": lua.judge,
    "postgres": postgres.judge,
    "python": python.judge,
    "regex": regex.judge,
    "sql": sql.judge,
    "sqlite": sql.judge,
    "xml": xml.judge,
}

__all__ = ["JUDGES", "Verdict"]
