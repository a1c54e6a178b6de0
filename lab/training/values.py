"""Draw the values that questions mention; a value is marked so that its wording can be masked."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import random
import re
from datetime import date, timedelta

from training import names

OPEN, CLOSE = "\x01", "\x02"
MARKED = re.compile(f"{OPEN}[^{CLOSE}]*{CLOSE}")
MONTHS = ("January February March April May June July August September October November December").split()
WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()
TENS = {30: "thirty", 40: "forty", 50: "fifty", 100: "a hundred"}
OTHER_SHARE = 0.25  # of training values that the database does not hold


def mark(text: object) -> str:
    """Mark a value inside a question."""
    return f"{OPEN}{text}{CLOSE}"


class Values:
    """A source of values; with ``known`` only such as occur in the database."""

    def __init__(self, rng: random.Random, known: dict[str, list[str]] | None = None) -> None:
        self.rng = rng
        self.known = known

    def other(self) -> bool:
        """Decide whether to draw a value from outside the database."""
        return self.known is None and self.rng.random() < OTHER_SHARE

    def person(self, table: str) -> str:
        """Draw a full name, for the table of customers or of employees."""
        if self.known is not None:
            return self.rng.choice(self.known[table])
        if self.other():
            first = names.OTHER_FIRST + names.FIRST
            return f"{self.rng.choice(first)} {self.rng.choice(names.OTHER_LAST)}"
        return f"{self.rng.choice(names.FIRST)} {self.rng.choice(names.LAST)}"

    def product(self) -> str:
        """Draw a product name."""
        if self.known is not None:
            return self.rng.choice(self.known["products"])
        items = [item for group in names.CATEGORIES.values() for item in group]
        materials = list(names.MATERIALS)
        if self.other():
            items, materials = [*items, *names.OTHER_ITEMS], names.OTHER_MATERIALS
        elif self.rng.random() < 0.1:
            items = names.OTHER_ITEMS
        return f"{self.rng.choice(materials)} {self.rng.choice(items)}"

    def supplier(self) -> str:
        """Draw a supplier's name."""
        if self.known is not None:
            return self.rng.choice(self.known["suppliers"])
        words = names.OTHER_SUPPLIER_WORDS if self.other() else names.SUPPLIER_WORDS
        return f"{self.rng.choice(words)} {self.rng.choice(names.SUPPLIER_SUFFIXES)}"

    def _pick(self, inside: list[str] | tuple[str, ...], outside: list[str] | tuple[str, ...]) -> str:
        return self.rng.choice(outside if self.other() else inside)

    def category(self) -> str:
        """Draw a category."""
        return self._pick(list(names.CATEGORIES), names.OTHER_CATEGORIES)

    def city(self) -> str:
        """Draw a city of the database."""
        return self.rng.choice([city for cities in names.CITIES.values() for city in cities])

    def any_city(self) -> str:
        """Draw a city for a wording that says that it is one."""
        return self.rng.choice(names.OTHER_CITIES) if self.other() else self.city()

    def country(self) -> str:
        """Draw a country; cities and countries outside the database are told apart by these lists."""
        return self._pick(list(names.CITIES), names.OTHER_COUNTRIES)

    def department(self) -> str:
        """Draw a department."""
        return self._pick(list(names.DEPARTMENTS), names.OTHER_DEPARTMENTS)

    def title(self) -> str:
        """Draw a job title."""
        return self._pick([t for titles in names.DEPARTMENTS.values() for t in titles], names.OTHER_TITLES)

    def carrier(self) -> str:
        """Draw a carrier."""
        return self._pick(names.CARRIERS, names.OTHER_CARRIERS)

    def year(self) -> int:
        """Draw a year."""
        return self.rng.randint(2021, 2025) if not self.other() else self.rng.randint(2012, 2032)

    def day(self) -> str:
        """Draw an ISO date."""
        return (date(2021, 1, 1) + timedelta(days=self.rng.randrange(1640))).isoformat()

    def month(self) -> tuple[str, str]:
        """Draw a month, as words and as ``YYYY-MM``."""
        year, month = self.year(), self.rng.randrange(12)
        return f"{MONTHS[month]} {year}", f"{year}-{month + 1:02}"

    def small(self) -> tuple[str, int]:
        """Draw a small count, in words or digits."""
        if self.rng.random() < 0.15:
            n = (
                self.rng.choice([*range(13, 21), *TENS])
                if self.rng.random() < 0.5
                else self.rng.randint(21, 99)
            )
        else:
            n = self.rng.randint(2, 12)
        if self.rng.random() < 0.5 and (n <= 20 or n in TENS):
            return TENS.get(n) or WORDS[n - 1], n
        return str(n), n

    def priced(self, text: str) -> str:
        """Sometimes name a currency; the database knows only one."""
        style = self.rng.random()
        if style < 0.7:
            return text
        return self.rng.choice(("$<>", "$<>", "<> dollars", "<> euros", "€<>", "<> EUR", "<> USD")).replace(
            "<>", text
        )

    def amount(self, low: float, high: float) -> tuple[str, str]:
        """Draw a sum of money or a quantity, as in the question and as in SQL."""
        number = self.rng.uniform(low, high)
        if number >= 100 and self.rng.random() < 0.7:
            step = 10 ** (len(str(int(number))) - self.rng.choice((1, 2)))
            number = max(step, round(number / step) * step)
        if number < 100 and high > 6 and self.rng.random() < 0.15:
            text = f"{int(number)}.{self.rng.choice((5, 25, 75, 99))}"
            return text, text
        text = str(int(number))
        if len(text) > 3 and self.rng.random() < 0.3:
            return f"{int(number):,}", text
        return text, text
