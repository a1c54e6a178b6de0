"""Texts that are no Lark, recognised by their look; and Lark, where a text may be that or EBNF."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ebnf.dialects import LARK, Foreign, foreign_dialect
from stackmask.grammar.source.work import spend

_EBNF: Final = re.compile(r"(?m)^[ \t]*(-*[A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*::=")
_LARK: Final = re.compile(
    r"(?m)^[ \t]*(?:[?!]{0,2}[A-Za-z_][A-Za-z0-9_-]*(?:\{[^}\n:]*\})?(?:\.-?[0-9]+)?(?:\[[^\]\n:]*\])?[ \t]*:(?![:=])"
    r"|%(?:ignore|import|declare|override|extend)\b)"
)
_CURES: Final = {
    "a grammar of ANTLR": "write `name: …` without `;`, `NAME: …` for tokens, `%ignore X` for `-> skip`, `/[^x]/` for `~[x]`",
    "a grammar of yacc or bison": "write `name: …` without `;`, and `NAME: …` for each token",
}
_OTHER: Final = 'a rule is `name: "text" OTHER | …` on a line of its own, a terminal `OTHER: /regex/`'


def is_lark(text: str) -> bool:
    """Return whether a grammar text is Lark rather than EBNF: rules are defined with `:`, and none with `::=`."""
    spend(len(text) // 20)
    return _LARK.search(text) is not None and _EBNF.search(text) is None


def foreign_text(text: str) -> Foreign | None:
    """Tell what a text is that cannot be read; None if it looks like Lark, or like nothing.

    Cost: linear; it is asked for texts with errors only.
    """
    rule = _EBNF.search(text)
    if rule is not None:
        return Foreign("EBNF or GBNF", rule.start(1), rule.end(), "Grammar.from_ebnf(text) reads it as it is")
    found = foreign_dialect(text)
    if found is None or found.what == LARK:
        return None
    if found.what in ("JSON", "a list in JSON", "a path"):
        return found
    if found.what == "a regular expression":
        return (
            None
            if _LARK.search(text)
            else found._replace(
                cure="in a grammar it is `start: /…/`; Grammar.from_regex(pattern) reads it alone"
            )
        )
    return found._replace(cure=_CURES.get(found.what, _OTHER))
