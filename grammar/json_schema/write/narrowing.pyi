from collections.abc import Callable

from stackmask.grammar.ir import Choice, Expr, Repeat, RuleSet, Sequence

MAX_KEPT: int
MAX_LETTERS: int

def with_narrower(
    rules: RuleSet,
    *,
    choices: Callable[[Choice], Expr | None] | None = None,
    sequences: Callable[[Sequence], Expr | None] | None = None,
    repeats: Callable[[Repeat], Expr | None] | None = None,
    resolved: bool,
) -> RuleSet:
    """Return the rules with all parts replaced that are written narrower, but not under a complement.

    ``choices``, ``sequences``, ``repeats``: what is asked about each choice that begins with characters,
    sequence and repetition. It returns what is written in its place, or None to look into it; a sequence in
    place of another one is looked into too. ``resolved``: also what resolvers return, whenever they do.
    Cost: linear in the expressions, which are visited once per object; no recursion. Words are remembered.
    """
