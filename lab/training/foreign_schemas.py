"""Draw schemas: tables of random things with random columns, some of which refer to each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from training.foreign_words import (
    DATES,
    ENDINGS,
    NUMBERS,
    PEOPLE,
    PREFIXES,
    SYLLABLES,
    TEXTS,
    THINGS,
)

INVENTED = 0.25  # share of names that are no words: they can only be copied


@dataclass
class Drawn:
    """A table: how a text speaks of its rows, the column that names a row, columns by kind, references."""

    name: str
    one: str
    many: str
    label: str
    person: bool
    numbers: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    parents: dict[str, Drawn] = field(default_factory=dict)  # column -> table
    columns: list[str] = field(default_factory=list)  # in order


def plural(word: str) -> str:
    """Return a regular plural; words that look like one stay as they are."""
    if word.endswith("s") and not word.endswith("ss"):
        return word
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "z")) else "s")


def invent(rng: random.Random) -> str:
    """Return a word that is none."""
    word = "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((1, 2, 2, 3))))
    return word + (rng.choice(ENDINGS) if rng.random() < 0.6 else "")


def _word(rng: random.Random, words: Sequence[str]) -> str:
    return invent(rng) if rng.random() < INVENTED else rng.choice(words)


def _columns(rng: random.Random, words: Sequence[str], count: int, taken: set[str]) -> list[str]:
    found = []
    while len(found) < count:
        name = _word(rng, words)
        if rng.random() < 0.2:
            name = f"{rng.choice(PREFIXES)}_{name}"
        elif rng.random() < 0.08:
            name = f"{name}_{_word(rng, NUMBERS)}"
        if name not in taken and len(name) > 2:
            taken.add(name)
            found.append(name)
    return found


def draw_schema(rng: random.Random) -> list[Drawn]:
    """Return one to four tables; later ones may refer to earlier ones."""
    tables: list[Drawn] = []
    words: set[str] = set()
    for _ in range(rng.choices((1, 2, 3, 4), (1, 4, 4, 2))[0]):
        one = _word(rng, THINGS)
        while one in words or len(one) < 3:
            one = _word(rng, THINGS)
        words.add(one)
        many = plural(one)
        label = rng.choices(("name", "title", "label", "code", invent(rng)), (12, 4, 1, 1, 1))[0]
        table = Drawn(many if rng.random() < 0.85 else one, one, many, label, one in PEOPLE)
        taken = {"id", label, *words}
        table.numbers = _columns(rng, NUMBERS, rng.choice((1, 1, 2, 2, 3)), taken)
        table.texts = _columns(rng, TEXTS, rng.choice((0, 1, 1, 2)), taken)
        table.dates = _columns(rng, DATES, rng.choice((0, 0, 1)), taken)
        for parent in rng.sample(tables, min(len(tables), rng.choice((0, 1, 1, 2)))):
            table.parents[f"{parent.one}_id"] = parent
        others = [*table.numbers, *table.texts, *table.dates, *table.parents]
        rng.shuffle(others)
        table.columns = ["id", label, *others]
        tables.append(table)
    return tables


def schema_lines(tables: Sequence[Drawn], rng: random.Random) -> list[tuple[str, list[str]]]:
    """Return (table, columns) in a random order, as a prompt shows them."""
    shown = [(table.name, table.columns) for table in tables]
    rng.shuffle(shown)
    return shown
