"""Questions over measures: the best n, the best one, one row for each, rankings, thresholds, one by name."""

from __future__ import annotations

import re

from training import measures_more  # noqa: F401  registers its measures
from training.drawing import Drawer, NounPhrase, Rejected, agree
from training.frames import FRAMES
from training.lexicon import MONEY, number_condition, time_condition
from training.metrics import MEASURES, SUBJECTS, Measure, Subject
from training.query import Query, quote
from training.values import mark


class MeasureQuestions(Drawer):
    """Draws (question, SQL) over the measures of metrics.py."""

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
        found = [
            n for n in measure.get("noun") if "by <noun>" in frame or not n.startswith(("how", "popular"))
        ]
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
        kinds = (
            ["clause"] * 5 + ["noun"] * 4 + (["adjective"] * 4 if measure.get(f"adjective_{suffix}") else [])
        )
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
