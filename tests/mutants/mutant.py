"""One fault: what it changes, the invariant that it breaks, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change within one line of a source, which ends with the comment ``# mutant: NAME``.

    ``old``: what the line has, ``new``: what the mutant has in its place. ``breaks``: the invariant, in one sentence.
    ``tests``: what pytest is given; all of them together take less than a minute. ``hangs``: the fault shows as a test
    that does not end.
    """

    name: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]
    hangs: bool = False
