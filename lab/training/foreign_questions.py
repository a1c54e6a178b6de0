"""Questions about drawn schemas, with the SQL that answers them."""

from __future__ import annotations

import random
from collections.abc import Callable

from training.foreign_schemas import Drawn, invent, plural
from training.names import FIRST, LAST, OTHER_CITIES, OTHER_COUNTRIES, OTHER_FIRST, OTHER_LAST

Question = tuple[str, str]
ABOVE = ("above", "over", "more than", "greater than", "higher than", "larger than", "bigger than")
BELOW = ("below", "under", "less than", "smaller than", "lower than", "fewer than")
LEAST, MOST = ("at least", "no less than"), ("at most", "no more than", "up to")
AFTER, BEFORE = ("after", "since", "later than"), ("before", "until", "earlier than")
HIGH = ("highest", "largest", "biggest", "greatest", "maximum", "top")
LOW = ("lowest", "smallest", "least", "minimum")


class Impossible(Exception):
    """The schema has nothing that this kind of question could be about."""


class Asker:
    """Draws questions about one schema."""

    def __init__(self, rng: random.Random, tables: list[Drawn]) -> None:
        self.rng = rng
        self.tables = tables
        self.kinds: list[tuple[int, Callable[[], Question]]] = [
            (4, self.count), (6, self.count_where), (3, self.listing), (8, self.listing_where),
            (5, self.aggregate), (3, self.aggregate_where), (8, self.top), (4, self.distinct), (6, self.grouped),
            (3, self.most_common), (7, self.look_up), (2, self.above_average), (8, self.children), (6, self.busiest),
            (4, self.per_parent), (3, self.childless), (3, self.columns), (3, self.parent_of),
        ]  # fmt: skip

    def ask(self) -> Question:
        """Return (question, SQL)."""
        weights = [weight for weight, _ in self.kinds]
        while True:
            try:
                question, sql = self.rng.choices(self.kinds, weights)[0][1]()
            except Impossible:
                continue
            return self.dress(question), sql

    def dress(self, question: str) -> str:
        """Vary how a question begins and ends."""
        rng = self.rng
        if rng.random() < 0.08:
            question = question.rstrip("?.")
        if rng.random() < 0.08:
            question = question[0].lower() + question[1:]
        if rng.random() < 0.04:
            question = rng.choice(("Please tell me: ", "Quick question: ", "I want to know: ")) + question
        return question

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def table(self) -> Drawn:
        return self.rng.choice(self.tables)

    def one_of(self, names: list[str]) -> str:
        if not names:
            raise Impossible
        return self.rng.choice(names)

    def said(self, column: str) -> str:
        """Return how a text says the name of a column."""
        return column.replace("_", " ") if self.rng.random() < 0.9 else column

    def text(self, person: bool = False) -> str:
        rng = self.rng
        kind = rng.random()
        if person or kind < 0.25:
            return f"{rng.choice(FIRST + OTHER_FIRST)} {rng.choice(LAST + OTHER_LAST)}"
        if kind < 0.45:
            return rng.choice(OTHER_CITIES + OTHER_COUNTRIES)
        if kind < 0.75:
            return " ".join(invent(rng).capitalize() for _ in range(rng.choice((1, 1, 2))))
        return invent(rng)

    def number(self) -> str:
        rng = self.rng
        return str(
            rng.choice(
                (rng.randint(1, 20), rng.randint(1, 999), rng.randint(1, 40) * 50, rng.randint(1, 99) * 1000)
            )
        )

    def day(self) -> str:
        rng = self.rng
        if rng.random() < 0.5:
            return f"{rng.randint(1900, 2030)}"
        return f"{rng.randint(1990, 2030)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"

    def condition(self, t: Drawn) -> tuple[str, str]:
        """Return how a condition is said behind the noun, and its SQL."""
        rng = self.rng
        kind = rng.choices(("number", "text", "date"), (5, 5, 2))[0]
        if kind == "text":
            column, value = self.one_of(t.texts), self.text()
            c = self.said(column)
            said = self.pick(
                f"whose {c} is {value}", f"with {c} {value}", f"with the {c} {value}", f"of {c} {value}",
                f"where the {c} is {value}", f"that have {value} as {c}", f"having {c} {value}",
            )  # fmt: skip
            return said, f"{column} = '{value.replace(chr(39), chr(39) * 2)}'"
        if kind == "date":
            column, value = self.one_of(t.dates), self.day()
            c = self.said(column)
            words, sign = rng.choice(((AFTER, ">"), (BEFORE, "<")))
            return self.pick(
                f"{c} ", f"that were {c} ", f"{c} ", f"with {c} "
            ) + f"{rng.choice(words)} {value}", (f"{column} {sign} '{value}'")
        column, value = self.one_of(t.numbers), self.number()
        c = self.said(column)
        words, sign = rng.choice(
            ((ABOVE, ">"), (ABOVE, ">"), (BELOW, "<"), (BELOW, "<"), (LEAST, ">="), (MOST, "<="))
        )
        how = rng.choice(words)
        said = self.pick(
            f"with a {c} {how} {value}", f"with {c} {how} {value}", f"whose {c} is {how} {value}",
            f"with {how} {value} {c}", f"that have a {c} {how} {value}", f"where {c} is {how} {value}",
            f"having {how} {value} {c}", f"with a {c} of {how} {value}",
        )  # fmt: skip
        return said, f"{column} {sign} {value}"

    def where(self, t: Drawn) -> tuple[str, str]:
        said, sql = self.condition(t)
        if self.rng.random() < 0.15:
            other, also = self.condition(t)
            if also.split()[0] != sql.split()[0]:
                return f"{said} and {other}", f"{sql} AND {also}"
        return said, sql

    def count(self) -> Question:
        t = self.table()
        return self.pick(
            f"How many {t.many} are there?", f"How many {t.many} do we have?", f"Count the {t.many}",
            f"What is the number of {t.many}?", f"Number of {t.many}", f"How many {t.many} are in the database?",
            f"Count all {t.many}.", f"Give me the number of {t.many}", f"Total number of {t.many}",
        ), f"SELECT COUNT(*) FROM {t.name}"  # fmt: skip

    def count_where(self) -> Question:
        t = self.table()
        said, sql = self.where(t)
        return self.pick(
            f"How many {t.many} {said}?", f"How many {t.many} are there {said}?", f"Count the {t.many} {said}",
            f"What is the number of {t.many} {said}?", f"Number of {t.many} {said}",
            f"How many {t.many} do we have {said}?", f"How many {t.many} can you find {said}?",
        ), f"SELECT COUNT(*) FROM {t.name} WHERE {sql}"  # fmt: skip

    def listing(self) -> Question:
        t = self.table()
        return self.pick(
            f"List all {t.many}", f"Which {t.many} are there?", f"Show me the {t.many}", f"Show all {t.many}.",
            f"What are the {plural(t.label)} of all {t.many}?", f"Give me the {t.label} of every {t.one}",
            f"What are the {t.many}?", f"List the {plural(t.label)} of the {t.many}",
        ), f"SELECT {t.label} FROM {t.name}"  # fmt: skip

    def listing_where(self) -> Question:
        t = self.table()
        said, sql = self.where(t)
        return self.pick(
            f"Which {t.many} are there {said}?", f"List the {t.many} {said}", f"Show me all {t.many} {said}",
            f"List all {t.many} {said}.", f"What are the {plural(t.label)} of the {t.many} {said}?",
            f"Find the {t.many} {said}", f"Give me the {t.many} {said}", f"{t.many.capitalize()} {said}",
            f"Which {t.many} exist {said}?", f"Name the {t.many} {said}",
        ), f"SELECT {t.label} FROM {t.name} WHERE {sql}"  # fmt: skip

    def _aggregate(self, t: Drawn) -> tuple[str, str]:
        column = self.one_of(t.numbers)
        c = self.said(column)
        word, function = self.rng.choice(
            (("average", "AVG"), ("mean", "AVG"), ("average", "AVG"), ("total", "SUM"), ("combined", "SUM"),
             (self.rng.choice(HIGH), "MAX"), (self.rng.choice(LOW), "MIN"))
        )  # fmt: skip
        return f"{word} {c}", f"{function}({column})"

    def aggregate(self) -> Question:
        t = self.table()
        said, sql = self._aggregate(t)
        return self.pick(
            f"What is the {said} of all {t.many}?", f"What is the {said} of the {t.many}?", f"{said.capitalize()} of the {t.many}",
            f"Show the {said} of {t.many}", f"What's the {said} of our {t.many}?", f"Calculate the {said} of all {t.many}",
            f"What is the {said} among {t.many}?", f"Find the {said} of the {t.many}", f"What is the {said} for {t.many}?",
        ), f"SELECT {sql} FROM {t.name}"  # fmt: skip

    def aggregate_where(self) -> Question:
        t = self.table()
        said, sql = self._aggregate(t)
        which, test = self.where(t)
        return self.pick(
            f"What is the {said} of {t.many} {which}?", f"What is the {said} of all {t.many} {which}?",
            f"{said.capitalize()} of the {t.many} {which}", f"Find the {said} of {t.many} {which}",
        ), f"SELECT {sql} FROM {t.name} WHERE {test}"  # fmt: skip

    def top(self) -> Question:
        t = self.table()
        column = self.one_of(t.numbers + t.dates)
        rng, c = self.rng, self.said(column)
        date = column in t.dates
        down = rng.random() < 0.65
        order = f"ORDER BY {column}{' DESC' if down else ''}"
        word = rng.choice(
            (("latest", "most recent", "newest") if down else ("earliest", "oldest"))
            if date
            else (HIGH if down else LOW)
        )
        if rng.random() < 0.5:
            return self.pick(
                f"Which {t.one} has the {word} {c}?", f"What is the {t.one} with the {word} {c}?",
                f"Find the {t.one} with the {word} {c}", f"Who has the {word} {c}?" if t.person else f"Which {t.one} has the {word} {c}?",
                f"Name the {t.one} with the {word} {c}", f"What is the {t.label} of the {t.one} with the {word} {c}?",
            ), f"SELECT {t.label} FROM {t.name} {order} LIMIT 1"  # fmt: skip
        n = rng.choice((2, 3, 3, 4, 5, 5, 6, 7, 8, 10, 10, 12, 15, 20))
        small = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
        said = small[n - 2] if n <= 10 and rng.random() < 0.5 else str(n)
        return self.pick(
            f"Which {said} {t.many} have the {word} {c}?", f"What are the {said} {t.many} with the {word} {c}?",
            f"List the {said} {t.many} with the {word} {c}", f"Show the {said} {t.many} with the {word} {c}",
            f"The {said} {t.many} with the {word} {c}", f"{'Top' if down else 'Bottom'} {said} {t.many} by {c}",
        ), f"SELECT {t.label} FROM {t.name} {order} LIMIT {n}"  # fmt: skip

    def distinct(self) -> Question:
        t = self.table()
        column = self.one_of(t.texts)
        c = self.said(column)
        if self.rng.random() < 0.5:
            return self.pick(
                f"What different {plural(c)} do {t.many} have?", f"Which {plural(c)} are there among {t.many}?",
                f"List the distinct {plural(c)} of the {t.many}", f"What {plural(c)} of {t.many} are there?", f"Show every {c} of the {t.many} once",
            ), f"SELECT DISTINCT {column} FROM {t.name}"  # fmt: skip
        return self.pick(
            f"How many different {plural(c)} do {t.many} have?", f"How many distinct {plural(c)} are there among {t.many}?",
            f"Count the different {plural(c)} of {t.many}", f"Number of distinct {plural(c)} of the {t.many}",
        ), f"SELECT COUNT(DISTINCT {column}) FROM {t.name}"  # fmt: skip

    def grouped(self) -> Question:
        t = self.table()
        column = self.one_of(t.texts)
        c = self.said(column)
        if self.rng.random() < 0.5:
            return self.pick(
                f"How many {t.many} are there per {c}?", f"How many {t.many} are there for each {c}?", f"Number of {t.many} by {c}",
                f"Count the {t.many} per {c}", f"For each {c}, how many {t.many} are there?", f"How many {t.many} does each {c} have?",
            ), f"SELECT {column}, COUNT(*) FROM {t.name} GROUP BY {column}"  # fmt: skip
        said, sql = self._aggregate(t)
        return self.pick(
            f"What is the {said} of {t.many} per {c}?", f"What is the {said} of the {t.many} for each {c}?",
            f"{said.capitalize()} of {t.many} by {c}", f"Show the {said} of {t.many} for every {c}",
            f"For each {c}, what is the {said} of the {t.many}?",
        ), f"SELECT {column}, {sql} FROM {t.name} GROUP BY {column}"  # fmt: skip

    def most_common(self) -> Question:
        t = self.table()
        column = self.one_of(t.texts)
        c = self.said(column)
        return self.pick(
            f"Which {c} has the most {t.many}?", f"What is the most common {c} of {t.many}?", f"Most frequent {c} among the {t.many}",
            f"Which {c} do most {t.many} have?", f"Which {c} is the most common among {t.many}?",
        ), f"SELECT {column} FROM {t.name} GROUP BY {column} ORDER BY COUNT(*) DESC LIMIT 1"  # fmt: skip

    def look_up(self) -> Question:
        t = self.table()
        column = self.one_of(t.numbers + t.texts + t.dates)
        value = self.text(t.person)
        c = self.said(column)
        questions = [
            f"What is the {c} of {value}?", f"What {c} does {value} have?", f"What is the {c} of the {t.one} {value}?",
            f"Show the {c} of {t.one} {value}", f"Tell me the {c} of {value}", f"What's {value}'s {c}?", f"{c.capitalize()} of {value}",
        ]  # fmt: skip
        if column in t.dates:
            questions += [f"When was {value} {c}?", f"When was the {t.one} {value} {c}?"] * 2
        owners = [other for other in self.tables if column in other.columns]
        question = self.rng.choice(questions)
        if len(owners) > 1 and t.one not in question:
            raise Impossible
        return (
            question,
            f"SELECT {column} FROM {t.name} WHERE {t.label} = '{value.replace(chr(39), chr(39) * 2)}'",
        )

    def above_average(self) -> Question:
        t = self.table()
        column = self.one_of(t.numbers)
        c = self.said(column)
        word, sign = self.rng.choice((("above", ">"), ("below", "<")))
        return self.pick(
            f"Which {t.many} have a {c} {word} the average?", f"List the {t.many} with a {c} {word} average",
            f"{t.many.capitalize()} with {word} average {c}", f"Which {t.many} have {word} average {c}?",
            f"Show the {t.many} whose {c} is {word} the average",
        ), f"SELECT {t.label} FROM {t.name} WHERE {column} {sign} (SELECT AVG({column}) FROM {t.name})"  # fmt: skip

    def _family(self) -> tuple[Drawn, str, Drawn]:
        pairs = [(t, key, parent) for t in self.tables for key, parent in t.parents.items()]
        if not pairs:
            raise Impossible
        return self.rng.choice(pairs)

    def children(self) -> Question:
        t, key, p = self._family()
        value = self.text(p.person)
        by = self.pick("of", "in", "by", "from", "belonging to", "at", "for")
        whose = f"{by} {value}" if self.rng.random() < 0.6 else f"{by} the {p.one} {value}"
        test = f"WHERE {key} = (SELECT id FROM {p.name} WHERE {p.label} = '{value.replace(chr(39), chr(39) * 2)}')"
        if whose == f"{by} {value}" and len(t.parents) > 1:
            raise Impossible
        kind = self.rng.random()
        if kind < 0.4:
            return self.pick(
                f"How many {t.many} are {whose}?", f"How many {t.many} {whose} are there?", f"Count the {t.many} {whose}",
                f"How many {t.many} does {value} have?" if p.one in whose or len(t.parents) == 1 else f"Count the {t.many} {whose}",
                f"Number of {t.many} {whose}",
            ), f"SELECT COUNT(*) FROM {t.name} {test}"  # fmt: skip
        if kind < 0.8 or not t.numbers:
            return self.pick(
                f"Which {t.many} are {whose}?", f"List the {t.many} {whose}", f"Show all {t.many} {whose}",
                f"What {t.many} are {whose}?", f"{t.many.capitalize()} {whose}", f"Give me the {t.many} {whose}",
            ), f"SELECT {t.label} FROM {t.name} {test}"  # fmt: skip
        said, sql = self._aggregate(t)
        return self.pick(
            f"What is the {said} of the {t.many} {whose}?", f"{said.capitalize()} of all {t.many} {whose}",
        ), f"SELECT {sql} FROM {t.name} {test}"  # fmt: skip

    def busiest(self) -> Question:
        t, key, p = self._family()
        down = self.rng.random() < 0.75
        much = "most" if down else self.pick("fewest", "least")
        order = f"ORDER BY COUNT(*){' DESC' if down else ''}"
        n = self.rng.choice((1, 1, 1, 2, 3, 5, 10))
        base = f"FROM {p.name} JOIN {t.name} ON {key} = {p.name}.id GROUP BY {p.name}.id {order} LIMIT {n}"
        sql = f"SELECT {p.name}.{p.label} {base}"
        if n > 1:
            return self.pick(
                f"Which {n} {p.many} have the {much} {t.many}?", f"The {n} {p.many} with the {much} {t.many}",
                f"List the {n} {p.many} with the {much} {t.many}", f"Top {n} {p.many} by number of {t.many}" if down else f"Which {n} {p.many} have the {much} {t.many}?",
            ), sql  # fmt: skip
        return self.pick(
            f"Which {p.one} has the {much} {t.many}?", f"What is the {p.one} with the {much} {t.many}?",
            f"Name the {p.one} with the {much} {t.many}", f"Who has the {much} {t.many}?" if p.person and len(t.parents) == 1 else f"Which {p.one} has the {much} {t.many}?",
            f"Find the {p.one} that has the {much} {t.many}",
        ), sql  # fmt: skip

    def per_parent(self) -> Question:
        t, key, p = self._family()
        if self.rng.random() < 0.6 or not t.numbers:
            said, value = f"number of {t.many}", "COUNT(*)"
            question = self.pick(
                f"How many {t.many} does each {p.one} have?", f"How many {t.many} are there per {p.one}?",
                f"Number of {t.many} per {p.one}", f"Count the {t.many} for each {p.one}", f"For each {p.one}, how many {t.many} are there?",
            )  # fmt: skip
        else:
            said, value = self._aggregate(t)
            question = self.pick(
                f"What is the {said} of {t.many} per {p.one}?", f"What is the {said} of the {t.many} of each {p.one}?",
                f"{said.capitalize()} of {t.many} for each {p.one}", f"For every {p.one}, show the {said} of its {t.many}",
            )  # fmt: skip
        if "(" in value and value != "COUNT(*)" and any(value[4:-1] == c for c in p.columns):
            raise Impossible
        return (
            question,
            f"SELECT {p.name}.{p.label}, {value} FROM {p.name} JOIN {t.name} ON {key} = {p.name}.id GROUP BY {p.name}.id",
        )

    def childless(self) -> Question:
        t, key, p = self._family()
        return self.pick(
            f"Which {p.many} have no {t.many}?", f"List the {p.many} without {t.many}", f"{p.many.capitalize()} without any {t.many}",
            f"Show all {p.many} that have no {t.many}", f"Which {p.many} do not have any {t.many}?",
        ), f"SELECT {p.label} FROM {p.name} WHERE id NOT IN (SELECT {key} FROM {t.name})"  # fmt: skip

    def columns(self) -> Question:
        t = self.table()
        column = self.one_of(t.numbers + t.texts + t.dates)
        c = self.said(column)
        return self.pick(
            f"Show the {t.label} and {c} of every {t.one}", f"List all {t.many} with their {c}", f"What are the {plural(t.label)} and {plural(c)} of the {t.many}?",
            f"List the {t.many} and their {c}", f"Give me the {t.label} and {c} of all {t.many}",
        ), f"SELECT {t.label}, {column} FROM {t.name}"  # fmt: skip

    def parent_of(self) -> Question:
        t, key, p = self._family()
        value = self.text(t.person)
        return self.pick(
            f"Which {p.one} does {value} belong to?", f"What is the {p.one} of {value}?", f"Which {p.one} does the {t.one} {value} belong to?",
            f"What is the {p.one} of the {t.one} {value}?", f"Which {p.one} is {value} of?", f"Show the {p.one} of {t.one} {value}",
        ), f"SELECT {p.label} FROM {p.name} WHERE id = (SELECT {key} FROM {t.name} WHERE {t.label} = '{value.replace(chr(39), chr(39) * 2)}')"  # fmt: skip
