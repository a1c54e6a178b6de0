"""Questions that ask for a change: ``stackmask sql`` only reads, and says so beside the answer."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 2_000  # characters of a question that are looked at

_POLITE = (
    r"(?:(?:please|kindly|now|then|just|first|(?:can|could|will|would) you|you (?:must|should|have to)|go ahead and|let us|let's"
    r"|i (?:want|need|would like)(?: you)? to|i'd like(?: you)? to)[\s,]+){0,4}"
)
# a verb that hardly means anything but a change, unless it is a noun here: "drop in revenue", "update dates of orders"
_CHANGES = (
    r"(?:delete|remove|erase|drop|truncate|insert|update|alter|rename|overwrite|purge|wipe|destroy|modify|edit|cancel|undo"
    r"|replace|deactivate|revoke|upsert)"
)
_NO_NOUN = r"(?!\s+(?:in|of|off|per|by|rates?|dates?|times?|history|logs?|counts?|numbers?)\b)"
# verbs that mean one with such an object only: "add up the totals", "create a list", "set of tables", "change since 2020"
_WITH_OBJECT = (
    r"add\s+(?:an?|another|one|two|new|\d+)\b",
    r"add\s.+\s(?:to|into)\s",
    r"create\s(?!.*\b(?:lists?|tables? of|reports?|summary|overview|ranking|chart|graph|plot|view of|breakdown|histogram|query)\b)",
    r"(?:set|change)\s(?!(?:in|of|from|since|by)\b).+\sto\s",
    r"(?:raise|lower|increase|decrease|reduce)\s.+\s(?:to|by)\s+(?:\W?\d|half\b|an?\b)",
    r"(?:change|raise|lower|increase|decrease|reduce|double|halve|clear|correct)\s+(?:the|all|every|each|its|their|my|our)\b",
    r"(?:move|transfer|assign)\s.+\sto\s",
    r"(?:mark|flag)\s.+\sas\s",
    r"(?:grant|give)\s.+\s(?:access|rights?|permissions?)\b",
)
_FIRST = re.compile(rf"\W*{_POLITE}(?P<word>{_CHANGES}\b{_NO_NOUN}|{'|'.join(_WITH_OBJECT)})", re.IGNORECASE)
_LATER = re.compile(
    rf"(?:\b(?:and|then)\s+(?:then\s+|also\s+)?|[.;!?]\s*)(?P<word>{_CHANGES}\s+(?:the|all|every|each|any|them|it|him|her|this|that"
    r"|these|those)\b)",
    re.IGNORECASE,
)
_SQL = re.compile(
    r"\b(?P<word>delete\s+from|insert\s+into|truncate\s+table|update\s+\w+\s+set|(?:drop|alter|create)\s+(?:temp(?:orary)?\s+)?"
    r"(?:table|view|index|trigger|database|schema|column|user|role))\b(?!\s+of\b)",
    re.IGNORECASE,
)


def asked_change(question: str) -> str | None:
    """Return the verb of a question that seems to ask for a change; None if none does.

    It goes by English verbs and SQL, so it can be wrong either way: it is for a note, and refuses nothing.
    """
    text = " ".join(question[:LONGEST].split())
    found = _SQL.search(text) or _FIRST.match(text) or _LATER.search(text)
    return None if found is None else found["word"].split()[0].lower()
