"""Questions over entities: counts, lists, columns, averages, and the sentences of facts.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from training.drawing import Drawer, NounPhrase, Rejected, agree
from training.facts import FACTS, Fact
from training.facts_more import AGGREGATES
from training.frames import FRAMES
from training.lexicon import CONDITIONS, ENTITIES, time_condition
from training.query import Query, quote, unqualified
from training.values import mark

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
ABOVE_ADJECTIVE = (
    "Which <D> are <adj> than [the] average?",
    "{List|Show} [me] [all|the] <D> {that are|} <adj> than [the] average",
    "Find <D> <adj> than the average <d>",
    "<D> <adj> than {average|the average <d>}",
    "What <D> are <adj> than {the|an} average <d>?",
    "Give me all <D> {that|which} are <adj> than average",
    "Which <D> are <adj> than {the|} others on average?",
)


class EntityQuestions(Drawer):
    """Draws (question, SQL) over the rows of a table and the facts of facts.py."""

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
        return self.fill(
            frame, D=phrase.many, d=phrase.one, columns=columns, column="{" + singular + "}"
        ), query.sql()

    def number(self) -> tuple[str, str]:
        """Average, extreme or sum of a column."""
        column, nouns = self.rng.choice(list(NUMBERS.items()))
        intent = self.rng.choice(("average", "average", "highest", "lowest", "total"))
        if intent == "total" and column in ("products.price", "reviews.rating"):
            intent = "average"
        call = {"average": "ROUND(AVG(x), 2)", "highest": "MAX(x)", "lowest": "MIN(x)", "total": "SUM(x)"}[
            intent
        ]
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
            text = self.rng.choice(
                re.split(" ", self.values.person("customers") + " " + self.values.product())
            )
            return (f'"{text}"' if self.rng.random() < 0.3 else text), {"<%v%>": quote(f"%{text}%")}
        if fact.value == "person":
            value = self.values.person("employees" if "employees" in fact.sql else "customers")
        else:
            value = str(getattr(self.values, fact.value)())
        return value, {"<v>": quote(value)}
