"""What may stand between two elements: blanks of any number and kind, or no more than one."""

from __future__ import annotations

from typing import Literal as OneOf
from typing import TypeAlias, get_args

from stackmask.grammar.ebnf.lower import SKIP_RULE
from stackmask.grammar.ir import NOTHING, Expr, Literal, Repeat, RuleRef
from stackmask.grammar.sql.schema.errors import SQLError

Blanks: TypeAlias = OneOf["any", "single"]


def check_blanks(blanks: object) -> None:
    """Refuse anything but the two. Raises: SQLError."""
    if blanks not in get_args(Blanks):
        raise SQLError(f"blanks: {blanks!r:.60} is neither {' nor '.join(map(repr, get_args(Blanks)))}")


def blank_rules(module: str, allow_comments: bool, blanks: Blanks) -> dict[str, Expr]:
    """Return the rules of what is skipped, which stand in ``module.``; none where they stay as the dialect has them.

    Raises: SQLError for comments where a single blank is all there may be.
    """
    if blanks == "single":
        if allow_comments:
            raise SQLError('allow_comments: comments do not go with blanks="single"')
        # in PostgreSQL blanks also stand in the gap between the parts of a string
        return {SKIP_RULE: Repeat(Literal(b" "), 0, 1), f"{module}gap": NOTHING}
    return {} if allow_comments else {SKIP_RULE: Repeat(RuleRef(f"{module}blank"), 0, None)}
