"""What a judge says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """``accepted``: in the language. ``note`` says why not, or names a later check that the text fails.

    A parser that also checks meaning (an unknown label, a missing table) accepts the syntax and says so
    in ``note``; ``kind`` is then ``"semantic"``, or ``"limit"`` where an implementation limit was hit.
    """

    accepted: bool
    note: str = ""
    kind: str = ""


ACCEPTED = Verdict(True)


def rejected(note: object) -> Verdict:
    """Return the verdict of a syntax error."""
    return Verdict(False, str(note), "syntax")


def decoded(data: bytes) -> str | None:
    """Return the text, or None if it is not well-formed UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
