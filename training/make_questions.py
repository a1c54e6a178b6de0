"""Make question/SQL pairs from the lexicon; keep a fifth of the sentence frames for the held-out set."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from training import (
    measures_more,  # noqa: F401  registers its measures
    names,
)
from training.facts import AGGREGATES, FACTS, Fact
from training.frames import FRAMES
from training.lexicon import (
    CONDITIONS,
    ENTITIES,
    EXTRA_NOUNS,
    MONEY,
    Condition,
    draw_condition,
    number_condition,
    time_condition,
)
from training.metrics import MEASURES, SUBJECTS, Measure, Subject
from training.query import Query, quote, unqualified
from training.values import CLOSE, MARKED, OPEN, TENS, WORDS, Values, mark

SEED = 7
HELD_OUT = 0.2  # share of every list of frames
MIN_FRAMES = 5  # shorter lists are for training alone
CHOICE = re.compile(r"\{([^{}\[\]]*)\}|\[([^{}\[\]]*)\]")
AGREE = {"@have": ("has", "have"), "@are": ("is", "are"), "@do": ("does", "do"), "@were": ("was", "were")}
LIST_COLUMNS = {
    "orders": ["orders.id", "orders.ordered_on", "orders.total"],
    "shipments": ["shipments.id", "shipments.carrier", "shipments.shipped_on"],
    "reviews": ["reviews.id", "reviews.rating", "reviews.written_on"],
}
# entity -> (plural wording, singular wording, column, also without the name)
COLUMNS = {
    "customers": (
        ("emails|email addresses|e-mails|e-mail addresses", "email|email address|e-mail", "customers.email", True),
        ("cities|home towns", "city", "customers.city", False),
        ("countries", "country", "customers.country", False),
        ("joining dates|sign-up dates", "joining date|sign-up date", "customers.joined_on", True),
    ),
    "products": (
        ("prices", "price", "products.price", True),
        ("stock levels|stocks", "stock|stock level", "products.stock", True),
        ("categories", "category", "categories.name", False),
        ("suppliers", "supplier", "suppliers.name", False),
    ),
    "employees": (
        ("salaries|wages", "salary|wage", "employees.salary", True),
        ("job titles|titles|positions", "job title|title|position", "employees.title", False),
        ("departments", "department", "employees.department", False),
        ("hiring dates|hire dates", "hiring date|hire date", "employees.hired_on", True),
        ("cities", "city", "employees.city", False),
    ),
    "suppliers": (("cities", "city", "suppliers.city", False), ("countries", "country", "suppliers.country", False)),
    "orders": (
        ("dates", "date", "orders.ordered_on", True),
        ("totals|amounts|values", "total|amount|value", "orders.total", True),
    ),
}  # fmt: skip
NUMBERS = {
    "products.price": "price|price|unit price", "products.stock": "stock|stock level",
    "employees.salary": "salary|salary|pay|wage", "orders.total": "total|value|amount|order value|order total",
    "shipments.cost": "cost|shipping cost", "reviews.rating": "rating|score|number of stars",
}  # fmt: skip
BARE_NUMBERS = {
    "products.price": "price|product price|price of a product|item price", "products.stock": "stock|stock level",
    "employees.salary": "salary|salary|employee salary|pay|wage", "orders.total": "order value|order total|order amount|order size",
    "shipments.cost": "shipping cost|shipment cost|cost of a shipment|delivery cost", "reviews.rating": "rating|review score|review rating",
}  # fmt: skip
WEIGHTS = {
    "top": 20, "one": 10, "each": 9, "rank": 5, "having": 7, "single": 13, "fact": 19, "count": 6, "list": 7,
    "column": 4, "number": 6, "aggregate": 5, "average": 3,
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A question with its SQL; ``skeleton`` is the question with its values masked."""

    question: str
    sql: str
    intent: str
    frame: str
    skeleton: str


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its conditions in both numbers, and in two parts; and what they mean in SQL."""

    one: str
    many: str
    noun: str
    post: str
    where: list[str]
    tables: list[str]


class Rejected(Exception):
    """The draw makes no sentence; draw again."""


def split(name: str, frames: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the frames for training and those held out."""
    if len(frames) < MIN_FRAMES:
        return list(frames), []
    order = list(dict.fromkeys(frames))
    random.Random(f"{SEED} {name}").shuffle(order)
    held = max(1, round(HELD_OUT * len(order)))
    return order[held:], order[:held]


def agree(text: str, plural: bool) -> str:
    """Inflect ``@have`` and ``word@s`` for a singular or plural subject."""
    for key, forms in AGREE.items():
        text = text.replace(key, forms[plural])
    return re.sub(r"@(e?s)\b", "" if plural else r"\1", text)


class Maker:
    """Draws pairs for one side of the split."""

    def __init__(self, rng: random.Random, held_out: bool, known: dict[str, list[str]] | None = None) -> None:
        self.rng = rng
        self.held_out = held_out
        self.values = Values(rng, known)
        self.frame = ""

    def pick(self, name: str, frames: Sequence[str], keep: str = "") -> str:
        """Draw a frame of this side, one that contains ``keep``."""
        found = [frame for frame in split(name, frames)[self.held_out] if keep in frame]
        if not found:
            raise Rejected
        self.frame = self.rng.choice(found)
        return self.frame

    def choose(self, text: str) -> str:
        """Resolve ``{a|b}`` and ``[a]`` from the inside out."""
        while found := CHOICE.search(text):
            option = (
                self.rng.choice(found[1].split("|"))
                if found[1] is not None
                else (self.rng.choice(found[2].split("|")) if self.rng.random() < 0.4 else "")
            )
            text = text[: found.start()] + option + text[found.end() :]
        return text

    def fill(self, text: str, **slots: str) -> str:
        """Resolve choices and slots until nothing is left."""
        text = self.choose(text)
        for key, value in slots.items():
            if f"<{key}>" in text:
                text = text.replace(f"<{key}>", self.choose(value))
        return self.choose(text)

    # noun phrases ---------------------------------------------------------------------------------

    def nouns(self, key: str, singular: Sequence[str], plural: Sequence[str]) -> tuple[str, str]:
        """Draw a noun in both numbers."""
        pairs = list(zip(singular, plural, strict=True))
        if key in EXTRA_NOUNS and self.rng.random() < 0.2:
            pairs = list(EXTRA_NOUNS[key])
        return self.rng.choice(pairs)

    def phrase(
        self, key: str, singular: Sequence[str], plural: Sequence[str], person: bool, *, entity: str, count: int
    ) -> NounPhrase:  # fmt: skip
        """Draw a noun with up to ``count`` conditions."""
        one, many = self.nouns(key, singular, plural)
        pre = post = ""
        where: list[str] = []
        tables: list[str] = []
        used: set[str] = set()
        options = CONDITIONS.get(entity, ())
        for condition in self.rng.sample(options, min(count, len(options))):
            if condition.column in used:
                continue
            used.add(condition.column)
            before, after, sql, table = self.condition(condition)
            if pre and before:
                continue
            pre = pre or before
            joined = post and after.startswith("<rel>") and self.rng.random() < 0.6
            post = f"{post} and {after}" if joined else f"{post} {after}"
            where.append(sql)
            if table != entity:
                tables.append(table)
        post = " ".join(post.split()).replace("<rel>", "who" if person else self.rng.choice(("that", "which")))
        noun = f"{pre} {many}".strip()
        return NounPhrase(
            agree(f"{pre} {one} {post}".strip(), False), agree(f"{noun} {post}".strip(), True), noun,
            agree(post, True), where, tables,
        )  # fmt: skip

    def condition(self, condition: Condition) -> tuple[str, str, str, str]:
        """Draw a condition with its choices resolved, so that both numbers share them."""
        before, after, sql, table = draw_condition(self.values, condition)
        return self.choose(before), self.choose(after), sql, table

    def subject_phrase(self, subject: Subject) -> NounPhrase:
        """Draw the subject of a measure, sometimes with a condition."""
        count = 1 if subject.entity and self.rng.random() < 0.3 else 0
        return self.phrase(
            subject.key, subject.singular, subject.plural, subject.person, entity=subject.entity, count=count
        )

    def period(self, measure: Measure, share: float = 0.2) -> tuple[str, list[str]]:
        """Sometimes draw a period that the measure is limited to."""
        if measure.subject == "months" and self.rng.random() < 0.4:
            year = self.values.year()
            return f" in {mark(year)}", [f"strftime('%Y', orders.ordered_on) = '{year}'"]
        if not measure.time or self.rng.random() >= share:
            return "", []
        text, sql = time_condition(self.values, measure.time)
        return " " + text, [sql]

    # queries over measures --------------------------------------------------------------------------

    def query(self, measure: Measure, where: list[str], tables: list[str], *, value: str = "") -> Query:
        """Start a query of one measure."""
        subject = SUBJECTS[measure.subject]
        query = Query(subject.base)
        query.join(*measure.joins)
        if value:
            query.where.append(f"{subject.show} = {quote(value)}")
        query.where += where
        for table in tables:
            query.join(table)
        for condition in where:
            for table in re.findall(r"\b(orders|reviews|shipments)\.", condition):
                query.join(table)
        return query

    def grouped(self, measure: Measure, where: list[str], tables: list[str]) -> Query:
        """Return subject and measure per group, or per row for a plain column."""
        subject = SUBJECTS[measure.subject]
        query = self.query(measure, where, tables)
        show = f"{subject.show} AS {subject.alias}" if subject.alias else subject.show
        if measure.plain:
            query.select = list(dict.fromkeys([show, measure.sql]))
        else:
            query.select = [show, f"{measure.sql} AS {measure.alias}"]
            query.group = subject.group
        return query

    def order(self, query: Query, measure: Measure, desc: bool) -> None:
        """Order by the measure."""
        query.order = (measure.sql if measure.plain else measure.alias) + (" DESC" if desc else "")

    def measure(self, need: str = "", plain: bool | None = None) -> Measure:
        """Draw a measure, customers and products more often than the rest."""
        found = [m for m in MEASURES if (not need or m.get(need)) and (plain is None or m.plain == plain)]
        if need != "single":
            found += [m for m in found if m.subject in ("customers", "products", "categories", "employees")]
            found += [m for m in found if m.alias in ("spent", "revenue", "units")]
        return self.rng.choice(found)

    def noun(self, measure: Measure, frame: str) -> str:
        """Draw a noun that suits the frame."""
        found = [n for n in measure.get("noun") if "by <noun>" in frame or not n.startswith(("how", "popular"))]
        if "{of|for}" in frame:
            found = [n for n in found if "their" not in n and "they" not in n]
        if not found:
            raise Rejected
        noun = self.choose(self.rng.choice(found))
        if "{of|for}" in frame and re.search(r"\b(they|their|placed|made|bought by)\b", noun):
            raise Rejected
        return noun

    def directions(self, desc: bool, date: bool) -> dict[str, str]:
        """Return the slots that tell the direction."""
        if date:
            return {
                "high": "{latest|most recent}" if desc else "{earliest|oldest}",
                "top": "newest" if desc else "oldest", "best": "newest" if desc else "oldest",
                "first": "latest" if desc else "earliest",
                "direction": "{, {newest|latest} first|from newest to oldest|in descending order|descending}" if desc
                else "{, {oldest|earliest} first|from oldest to newest|in ascending order|ascending|}",
            }  # fmt: skip
        return {
            "high": "{highest|highest|largest|biggest|greatest}" if desc else "{lowest|lowest|smallest}",
            "top": "top" if desc else "{bottom|last|lowest}",
            "best": "{best|top|leading}" if desc else "{worst|weakest}",
            "first": "{first|highest}" if desc else "{last|lowest}",
            "direction": "{, {highest|largest|biggest} first|from {highest|largest|most} to {lowest|smallest|least}|in descending order|descending|in decreasing order|starting with the {highest|largest}}" if desc
            else "{, {lowest|smallest} first|from {lowest|smallest|least} to {highest|largest|most}|in ascending order|ascending|in increasing order|starting with the {lowest|smallest}}",
        }  # fmt: skip

    def superlative(self, several: bool) -> tuple[str, str]:
        """Draw the first n, or the first one, by a measure."""
        desc = self.rng.random() < 0.68
        suffix = "most" if desc else "least"
        measure = self.measure("most")
        date = measure.sql.endswith("_on")
        subject = SUBJECTS[measure.subject]
        kinds = ["clause"] * 5 + ["noun"] * 4 + (["adjective"] * 4 if measure.get(f"adjective_{suffix}") else [])
        kind = self.rng.choice(kinds)
        intent = ("top " if several else "one ") + kind
        phrase = self.subject_phrase(subject)
        one, many, where, tables = phrase.one, phrase.many, phrase.where, phrase.tables
        when, period = self.period(measure)
        text, number = self.values.small() if several else ("", 1)
        if several and kind in ("clause", "adjective") and self.rng.random() < 0.03:
            text, number = "", 10  # "our best customers" without a number means ten
        slots = {
            "D": many, "d": one, "n": mark(text) if text else "", "Who": "Who" if subject.person else "{What|Which}",
            "rel": "who" if subject.person else "{that|which}", **self.directions(desc, date),
        }  # fmt: skip
        frame = self.pick(intent, FRAMES[intent], "<high>" if date and kind == "noun" else "")
        if kind == "clause":
            phrases = measure.get(suffix)
            if not phrases:
                raise Rejected
            slots["most"] = agree(self.choose(self.rng.choice(phrases)), several) + when
            if "<D>" not in frame and "<d>" not in frame and (where or not subject.person):
                raise Rejected
            if slots["most"].startswith("where "):
                frame = frame.replace("<rel> <most>", "<most>")
        elif kind == "noun":
            slots["noun"] = self.noun(measure, frame) + when
        else:
            slots["adj"] = self.choose(self.rng.choice(measure.get(f"adjective_{suffix}")))
            spenders = measure.alias == "spent" and self.rng.random() < 0.2 and not where
            if spenders and frame.count("<D>") + frame.count("<d>") == 1 and "<adj> <" in frame:
                slots["adj"] = "{biggest|top|highest|largest}" if desc else "{lowest|smallest}"
                slots["D"], slots["d"] = "spenders", "spender"
            frame = self.at_end(frame, when)
        query = self.grouped(measure, where + period, tables)
        self.order(query, measure, desc)
        query.limit = number
        return self.fill(frame, **slots), query.sql()

    @staticmethod
    def at_end(frame: str, text: str) -> str:
        """Put words before the final question mark."""
        return frame[:-1].rstrip() + text + "?" if frame.endswith("?") else frame + text

    def top(self) -> tuple[str, str]:
        """The n best or worst."""
        return self.superlative(True)

    def one(self) -> tuple[str, str]:
        """The best or worst one."""
        return self.superlative(False)

    def each(self) -> tuple[str, str]:
        """The measure of every subject."""
        measure = self.measure("noun", plain=False)
        subject = SUBJECTS[measure.subject]
        own = bool(measure.get("each")) and self.rng.random() < 0.45
        when, period = self.period(measure, 0.15)
        where: list[str] = []
        tables: list[str] = []
        counted = [n for n in measure.get("noun") if n.startswith("number of ")]
        if counted and self.rng.random() < 0.2:
            frame = self.pick("each count", FRAMES["each count"])
            phrase = self.subject_phrase(subject)
            where, tables = phrase.where, phrase.tables
            things = self.rng.choice(counted).removeprefix("number of ")
            question = self.fill(frame, d=phrase.one, D=phrase.many, things=things, when=when)
        elif own:
            frame = self.pick(f"each {subject.key} {measure.sql} {measure.joins}", measure.get("each"))
            question = self.fill(self.at_end(frame, when))
        else:
            frame = self.pick("each", FRAMES["each"])
            phrase = self.subject_phrase(subject)
            one, many, where, tables = phrase.one, phrase.many, phrase.where, phrase.tables
            question = self.fill(frame, D=many, d=one, noun=self.noun(measure, frame) + when)
        query = self.grouped(measure, where + period, tables)
        if subject.alias:
            query.order = subject.alias
        return question, query.sql()

    def rank(self) -> tuple[str, str]:
        """All subjects in the order of the measure."""
        measure = self.measure("noun")
        subject = SUBJECTS[measure.subject]
        desc = self.rng.random() < 0.65
        frame = self.pick("rank", FRAMES["rank"])
        phrase = self.subject_phrase(subject)
        one, many, where, tables = phrase.one, phrase.many, phrase.where, phrase.tables
        when, period = self.period(measure, 0.1)
        slots = self.directions(desc, measure.sql.endswith("_on"))
        if desc and re.search("[Rr]ank", frame) and self.rng.random() < 0.5:
            slots["direction"] = ""
        query = self.grouped(measure, where + period, tables)
        self.order(query, measure, desc)
        question = self.fill(frame, D=many, d=one, noun=self.noun(measure, frame) + when, **slots)
        return question.replace(" ,", ","), query.sql()

    def having(self) -> tuple[str, str]:
        """Subjects whose measure passes a threshold, listed or counted."""
        measure = self.measure("compare", plain=False)
        subject = SUBJECTS[measure.subject]
        counted = self.rng.random() < 0.25
        intent = "having count" if counted else "having"
        frame = self.pick(intent, FRAMES[intent])
        phrase = self.subject_phrase(subject)
        one, many, where, tables = phrase.one, phrase.many, phrase.where, phrase.tables
        when, period = self.period(measure, 0.15)
        text = self.choose(self.rng.choice(measure.get("compare")))
        verbal = not text.startswith(("with", "whose", "where", "of which", "in which", "we ", "<c>"))
        if "<verb>" in frame and not verbal:
            raise Rejected
        money = any(name in measure.sql for name in (*MONEY, "unit_price"))
        threshold, tail = number_condition(self.values, measure.span, money=money)
        clause = agree(text, True).replace("<c>", threshold) + when
        rel = "who" if subject.person else self.rng.choice(("that", "which"))
        restriction = f"{rel} {clause}" if verbal or text.startswith("we ") else clause
        if text.startswith("<c>"):
            restriction = f"where {clause}"
        question = self.fill(frame, D=many, d=one, verb=clause, restriction=restriction)
        query = self.grouped(measure, where + period, tables)
        query.having = f"{measure.sql} {tail}"
        if not counted:
            return question, query.sql()
        query.select = [f"{subject.show} AS {subject.alias}" if subject.alias else query.group]
        return question, f"SELECT COUNT(*) FROM ({query.sql()})"

    def named(self, subject: Subject) -> tuple[str, str]:
        """Draw the name of one subject: how the question calls it, and its value."""
        kind = subject.value
        if kind == "person":
            return (value := self.values.person(subject.key)), value
        value = str(getattr(self.values, kind)())
        return value, value

    def single(self) -> tuple[str, str]:
        """The measure of one named subject."""
        measure = self.measure("single")
        subject = SUBJECTS[measure.subject]
        name, value = self.named(subject)
        when, period = self.period(measure, 0.2)
        if self.rng.random() < 0.7:
            frame = self.pick(f"single {subject.key} {measure.sql} {measure.joins}", measure.get("single"))
            question = self.fill(self.at_end(frame, when), v=mark(name))
        else:
            frame = self.pick("single", FRAMES["single"])
            noun = self.noun(measure, frame)
            called = {
                "employees": "[the] {employee|worker|salesperson} <v>", "suppliers": "{[the] supplier <v>|<v>}",
                "customers": "[the] {customer|client} <v>", "products": "{[the] <v>|the product <v>}",
                "categories": "{[the] <v> category|[the] category <v>|<v>}", "departments": "[the] <v> department",
                "cities": "{<v>|[the city of] <v>}", "titles": "[the] {title|position} <v>",
            }.get(subject.key, "<v>")  # fmt: skip
            if subject.key == "customers" and not re.search("sales|turnover|revenue", noun):
                called = "{<v>|the customer <v>}"
            if measure.plain and subject.person:
                called = "<v>"
            question = self.fill(self.at_end(frame, when), noun=noun, v=called).replace("<v>", mark(name))
        query = self.query(measure, period, [], value=value)
        query.select = [measure.sql if measure.plain else f"{measure.sql} AS {measure.alias}"]
        return question, query.sql()

    # queries over entities --------------------------------------------------------------------------

    def entity(self, *, verb: bool = False, keys: Sequence[str] = ()) -> tuple[str, NounPhrase, str, Query]:
        """Draw an entity with conditions: key, noun phrase, predicate, query with FROM and WHERE."""
        key = self.rng.choice(list(keys) or ["customers", "customers", "products", "products", *ENTITIES])
        entity = ENTITIES[key]
        count = self.rng.choices((0, 1, 2), (12, 63, 25))[0]
        query = Query(key)
        predicate = ""
        column = ""
        if verb:
            options = [c for c in CONDITIONS[key] if any(p.startswith("<rel>") for p in c.post)]
            if not options:
                raise Rejected
            condition = self.rng.choice(options)
            column = condition.column
            post = tuple(p for p in condition.post if p.startswith("<rel>"))
            _, after, sql, table = self.condition(replace(condition, post=post, pre=()))
            predicate = agree(after.removeprefix("<rel> "), True)
            count = 1 if self.rng.random() < 0.2 else 0
        phrase = self.phrase(key, entity.singular, entity.plural, entity.person, entity=key, count=count)
        where, tables = phrase.where, phrase.tables
        if verb:
            if any(column in w for w in where):
                raise Rejected
            where, tables = [*where, sql], [*tables, *([table] if table != key else [])]
        query.where = where
        query.join(*dict.fromkeys(tables))
        return key, phrase, predicate, query

    def count(self) -> tuple[str, str]:
        """How many rows there are."""
        verb = self.rng.random() < 0.3
        intent = "count verb" if verb else "count"
        frame = self.pick(intent, FRAMES[intent])
        _, phrase, predicate, query = self.entity(verb=verb)
        query.select = ["COUNT(*)"]
        return self.fill(frame, D=phrase.many, N=phrase.noun, post=phrase.post, verb=predicate), query.sql()

    def list(self) -> tuple[str, str]:
        """The rows themselves."""
        verb = self.rng.random() < 0.35
        intent = "list verb" if verb else "list"
        frame = self.pick(intent, FRAMES[intent])
        key, phrase, predicate, query = self.entity(verb=verb)
        if key in LIST_COLUMNS and "names" in frame:
            raise Rejected
        query.select = LIST_COLUMNS.get(key, [ENTITIES[key].show])
        return self.fill(frame, D=phrase.many, N=phrase.noun, post=phrase.post, verb=predicate), query.sql()

    def column(self) -> tuple[str, str]:
        """A column of the rows, with or without the name."""
        key = self.rng.choice(["customers", "products", "employees", *COLUMNS])
        plural, singular, column, alone = self.rng.choice(COLUMNS[key])
        named = not alone or self.rng.random() < 0.5
        intent = "list name column" if named else "list column"
        frame = self.pick(intent, FRAMES[intent])
        key, phrase, _, query = self.entity(keys=[key])
        if named and key == "orders" and "ame" in frame:
            raise Rejected
        query.select = [ENTITIES[key].show, column] if named else [column]
        query.join(column.partition(".")[0])
        columns = "{" + plural + "}" if not named or self.rng.random() < 0.7 else "{" + singular + "}"
        return self.fill(frame, D=phrase.many, d=phrase.one, columns=columns, column="{" + singular + "}"), query.sql()

    def number(self) -> tuple[str, str]:
        """Average, extreme or sum of a column."""
        column, nouns = self.rng.choice(list(NUMBERS.items()))
        intent = self.rng.choice(("average", "average", "highest", "lowest", "total"))
        if intent == "total" and column in ("products.price", "reviews.rating"):
            intent = "average"
        call = {"average": "ROUND(AVG(x), 2)", "highest": "MAX(x)", "lowest": "MIN(x)", "total": "SUM(x)"}[intent]
        table = column.partition(".")[0]
        if self.rng.random() < 0.2:
            frame = self.pick("bare number", FRAMES["bare number"])
            word = {"average": "{average|average|mean}", "highest": "{highest|maximum|largest}",
                    "lowest": "{lowest|minimum|smallest}", "total": "{total|total|overall}"}[intent]  # fmt: skip
            query = Query(table, select=[call.replace("x", column)])
            return self.fill(frame, x="{" + BARE_NUMBERS[column] + "}", which=word), query.sql()
        frame = self.pick(intent, FRAMES[intent])
        _, phrase, _, query = self.entity(keys=[table])
        query.select = [call.replace("x", column)]
        return self.fill(frame, D=phrase.many, d=phrase.one, x="{" + nouns + "}"), query.sql()

    def aggregate(self) -> tuple[str, str]:
        """Averages and sums in words of their own."""
        key, select, frames = self.rng.choice(AGGREGATES)
        frame = self.pick(f"aggregate {select}", frames)
        _, phrase, _, query = self.entity(keys=[key])
        query.select = [select]
        return self.fill(frame, D=phrase.many, d=phrase.one), query.sql()

    def average(self) -> tuple[str, str]:
        """Rows above or below the average of a column."""
        column = self.rng.choice([c for c in NUMBERS if c != "reviews.rating"])
        table = column.partition(".")[0]
        entity = ENTITIES[table]
        one, many = self.nouns(table, entity.singular, entity.plural)
        above = self.rng.random() < 0.6
        adjectives = {
            "products.price": "{more expensive|pricier|dearer}/{cheaper|less expensive}",
            "employees.salary": "{better paid|paid more}/{worse paid|paid less}",
            "orders.total": "{larger|bigger|more valuable}/{smaller|less valuable}",
            "shipments.cost": "{more expensive|costlier}/{cheaper|less expensive}",
        }
        if column in adjectives and self.rng.random() < 0.4:
            adjective = adjectives[column].split("/")[0 if above else 1]
            frame = self.pick("above average adjective", ABOVE_ADJECTIVE)
            question = self.fill(frame, D=many, d=one, adj=adjective)
        else:
            frame = self.pick("above average", FRAMES["above average"])
            word = ("above" if above else "below") if "<above> average" in frame or "are <above>" in frame else (
                "{above|higher than|over|greater than}" if above else "{below|lower than|under}")  # fmt: skip
            question = self.fill(frame, D=many, d=one, x="{" + NUMBERS[column] + "}", above=word)
        query = Query(table, select=[entity.show, column])
        query.where = [f"{column} {'>' if above else '<'} (SELECT AVG({column}) FROM {table})"]
        return question, query.sql()

    def fact(self) -> tuple[str, str]:
        """A sentence of its own."""
        fact = self.rng.choice(FACTS)
        frame = self.pick(fact.name, fact.frames)
        sql = fact.sql
        frame, sql = self.fact_conditions(fact, frame, sql)
        question = self.fill(frame)
        if fact.value:
            value, literals = self.fact_value(fact)
            question = question.replace("<v>", mark(value))
            for slot, literal in literals.items():
                sql = sql.replace(slot, literal)
        return question, sql

    def fact_conditions(self, fact: Fact, frame: str, sql: str) -> tuple[str, str]:
        """Add a period and a condition where the fact takes them."""
        period = post = ""
        inner = outer = ""
        if fact.time and (self.rng.random() < 0.3 or re.search(r"(?<!\[)<t>", frame)) and "<t>" in frame:
            period, condition = time_condition(self.values, fact.time)
            inner = f" AND {condition}" if " JOIN " in sql else f" WHERE {unqualified(condition)}"
        own = [c for c in CONDITIONS.get(fact.entity, ()) if c.column.startswith(fact.entity + ".")]
        if own and "<post>" in frame and self.rng.random() < 0.35:
            _, post, condition, _ = self.condition(replace(self.rng.choice(own), pre=()))
            post = agree(post.replace("<rel>", "that"), True)
            outer = " AND " + unqualified(condition)
        frame = frame.replace("[<t>]", period).replace("<t>", period)
        frame = frame.replace("[<post>]", post)
        sql = sql.replace("<time>", inner).replace("<only-time>", inner).replace("<where>", outer)
        return frame, sql

    def fact_value(self, fact: Fact) -> tuple[str, dict[str, str]]:
        """Draw the value of a fact and its literals in the SQL."""
        if fact.value == "number":
            number = str(self.rng.randint(1, 1150))
            return number, {"<v>": number}
        if fact.value == "letters":
            text = self.rng.choice("ABCDEFGHIJKLMNOPRSTVWY") if self.rng.random() < 0.6 else self.rng.choice(
                (self.values.person("customers"), self.values.product()))[: self.rng.randint(2, 3)]  # fmt: skip
            return (f'"{text}"' if self.rng.random() < 0.3 else text), {"<v%>": quote(f"{text}%")}
        if fact.value == "word":
            text = self.rng.choice(re.split(" ", self.values.person("customers") + " " + self.values.product()))
            return (f'"{text}"' if self.rng.random() < 0.3 else text), {"<%v%>": quote(f"%{text}%")}
        if fact.value == "person":
            value = self.values.person("employees" if "employees" in fact.sql else "customers")
        else:
            value = str(getattr(self.values, fact.value)())
        return value, {"<v>": quote(value)}

    # the pair ---------------------------------------------------------------------------------------

    def pair(self) -> Pair:
        """Draw until a pair comes out."""
        while True:
            intent = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            try:
                question, sql = getattr(self, intent)()
            except Rejected:
                continue
            assert not re.search(r"[<>](?=[a-zA-Z]+>)|[{}\[\]@]", question), (question, self.frame)
            question = self.dress(" ".join(question.replace(" ?", "?").replace(" ,", ",").split()))
            skeleton = skeleton_of(question)
            return Pair(question.replace(OPEN, "").replace(CLOSE, ""), sql, intent, self.frame, skeleton)

    def dress(self, question: str) -> str:
        """Vary case, punctuation, politeness and, in training, spelling."""
        rng = self.rng
        if rng.random() < 0.05 and not self.held_out:
            prefix = rng.choice(("Please tell me: ", "Tell me, ", "Hi, ", "Please: ", "Quick question: ", "Hello! ", "SQL for: "))
            question = prefix + question[:1].lower() + question[1:]
        if question.endswith("?"):
            question = question[:-1] + rng.choices(("?", "", " ?"), (75, 23, 2))[0]
        elif rng.random() < 0.3:
            question += rng.choice((".", ".", "?", "!"))
        if rng.random() < 0.9:
            question = question[:1].upper() + question[1:]
        values = [value[1:-1] for value in MARKED.findall(question)]
        if rng.random() < 0.06 and all(value in WELL_KNOWN or value[:1].isdigit() for value in values):
            question = question.lower()
        elif rng.random() < 0.1:
            question = "".join(p if p.startswith(OPEN) else p.lower() for p in re.split(f"({MARKED.pattern})", question))
        if not self.held_out and rng.random() < 0.04:
            question = self.misspell(question)
        return question

    def misspell(self, question: str) -> str:
        """Drop, double or swap a letter of one word that is no value."""
        spots = [m for m in re.finditer(r"[a-z]{5,}", question) if OPEN not in question[: m.start()] or CLOSE in question[m.end() :][:0]]
        if not spots:
            return question
        spot = self.rng.choice(spots)
        i = self.rng.randrange(spot.start() + 1, spot.end() - 1)
        change = self.rng.choice((question[i] * 2, "", question[i + 1] + question[i]))
        return question[:i] + change + question[i + (2 if len(change) == 2 and change[0] != change[1] else 1) :]


WELL_KNOWN = {
    *names.CITIES, *(city for cities in names.CITIES.values() for city in cities), *names.CATEGORIES,
    *names.DEPARTMENTS, *names.CARRIERS, *(t for titles in names.DEPARTMENTS.values() for t in titles),
    *names.STATUSES, *WORDS, *TENS.values(),
}  # fmt: skip  # values whose capitals are known without seeing them


def skeleton_of(question: str) -> str:
    """Return the wording alone: values masked, case and punctuation dropped."""
    masked = MARKED.sub(" _ ", question).lower()
    return " ".join(re.findall(r"[a-z_'-]+", masked))


ABOVE_ADJECTIVE = (
    "Which <D> are <adj> than [the] average?",
    "{List|Show} [me] [all|the] <D> {that are|} <adj> than [the] average",
    "Find <D> <adj> than the average <d>",
    "<D> <adj> than {average|the average <d>}",
    "What <D> are <adj> than {the|an} average <d>?",
    "Give me all <D> {that|which} are <adj> than average",
    "Which <D> are <adj> than {the|} others on average?",
)


def training_pairs(count: int, seed: int = SEED) -> Iterator[Pair]:
    """Draw pairs from the frames for training."""
    maker = Maker(random.Random(f"training {seed}"), held_out=False)
    for _ in range(count):
        yield maker.pair()


def known_names(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the names that the database holds."""
    return {
        table: [name for (name,) in connection.execute(f"SELECT name FROM {table} ORDER BY id")]
        for table in ("customers", "employees", "products", "suppliers")
    }


def held_out_pairs(
    count: int, database: Path, seen: set[str], seed: int = SEED, skip: set[str] | None = None
) -> list[Pair]:
    """Draw questions from held-out frames whose wording is not in ``seen`` and whose answer is not empty."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)
    try:
        maker = Maker(random.Random(f"held out {seed}"), held_out=True, known=known_names(connection))
        pairs: list[Pair] = []
        used = set(skip or ())
        while len(pairs) < count:
            pair = maker.pair()
            if pair.skeleton in seen or pair.skeleton in used:
                continue
            rows = connection.execute(pair.sql).fetchall()
            if not rows or rows in ([(None,)], [(0,)]):
                continue
            used.add(pair.skeleton)
            pairs.append(pair)
        return pairs
    finally:
        connection.close()


def write_pairs(path: Path, pairs: Sequence[Pair]) -> None:
    """Write pairs as JSON lines."""
    with path.open("w", encoding="utf-8") as out:
        for pair in pairs:
            out.write(json.dumps({"question": pair.question, "sql": pair.sql, "intent": pair.intent, "frame": pair.frame}) + "\n")
