"""How elements are written: keywords in capitals or not, and what may stand between two elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from typing import Literal as OneOf

from stackmask.grammar.ir import (
    NOTHING,
    CharClass,
    Choice,
    Expr,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    Sequence,
)
from stackmask.grammar.ir.build import rewrite
from stackmask.grammar.notation.loading import SKIP_RULE
from stackmask.grammar.sql.schema.errors import SQLError

CHOICES: Final = {
    "profile": ("exact", "model"),
    "blanks": ("any", "single"),
    "keywords": ("any", "upper"),
    "double_quotes": ("names", "strings"),
}


class QuerySpelling(NamedTuple):
    """How queries are spelled; ``profile`` gives what the others leave open.

    ``keywords``: "upper" for capitals alone. ``blanks``: "single" for one space at most. ``double_quotes``: over a schema of
    SQLite, what "…" may be.
    """

    profile: OneOf["exact", "model"] = "exact"
    allow_comments: bool = False
    blanks: OneOf["any", "single"] | None = None
    keywords: OneOf["any", "upper"] | None = None
    double_quotes: OneOf["names", "strings"] = "names"

    def checked(self, dialect: str) -> QuerySpelling:
        """Return it with what the profile gives. Raises: SQLError for what means nothing."""
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed and not (value is None and name in ("blanks", "keywords")):
                raise SQLError(f"{name}: {value!r:.60} is neither {' nor '.join(map(repr, allowed))}")
        if dialect == "postgres" and self.double_quotes == "strings":
            raise SQLError("double_quotes: PostgreSQL reads names alone in double quotes")
        model = self.profile == "model"
        blanks = self.blanks or ("single" if model else "any")
        if blanks == "single" and self.allow_comments:
            raise SQLError('allow_comments: comments do not go with blanks="single"')
        return self._replace(blanks=blanks, keywords=self.keywords or ("upper" if model else "any"))

    def respell(self, bodies: Mapping[str, Expr], module: str) -> dict[str, Expr]:
        """Return the rules with keywords and blanks as they are to be; those of blanks stand in ``module``."""
        result = dict(bodies)
        if self.blanks == "single":
            # in PostgreSQL blanks also stand in the gap between the parts of a string
            result |= {SKIP_RULE: Repeat(Literal(b" "), 0, 1), f"{module}gap": NOTHING}
        elif not self.allow_comments:
            result[SKIP_RULE] = Repeat(RuleRef(f"{module}blank"), 0, None)
        if self.keywords == "upper":
            for name, body in bodies.items():
                if name.split(".")[-1].isupper() and _is_keyword(body):
                    result[name] = rewrite(body, _capital)
        return result


def _is_keyword(body: Expr) -> bool:
    """Return whether a rule is words alone, or letters of one."""
    match body:
        case Sequence(items) | Choice(items):
            return all(map(_is_keyword, items))
        case CharClass():
            return _capital(body) is not body
    return isinstance(body, Literal | RuleRef | NotFollowedBy)


def _capital(expr: Expr) -> Expr:
    match expr:
        case CharClass(((upper, first), (lower, last))) if upper == first and lower == last == upper + 32:
            return Literal(bytes([upper]))
    return expr
