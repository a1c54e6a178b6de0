"""Draw sentences: resolve choices, agree in number, narrow nouns down, vary the spelling."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from training import names
from training.lexicon import CONDITIONS, EXTRA_NOUNS, Condition, draw_condition
from training.values import CLOSE, MARKED, OPEN, TENS, WORDS, Values

SEED = 7
HELD_OUT = 0.2  # share of every list of frames
MIN_FRAMES = 5  # shorter lists are for training alone
CHOICE = re.compile(r"\{([^{}\[\]]*)\}|\[([^{}\[\]]*)\]")
AGREE = {"@have": ("has", "have"), "@are": ("is", "are"), "@do": ("does", "do"), "@were": ("was", "were")}
OPTION_SHARE = 0.4  # of optional words that are said
WELL_KNOWN = {
    *names.CITIES, *(city for cities in names.CITIES.values() for city in cities), *names.CATEGORIES,
    *names.DEPARTMENTS, *names.CARRIERS, *(t for titles in names.DEPARTMENTS.values() for t in titles),
    *names.STATUSES, *WORDS, *TENS.values(),
}  # fmt: skip  # values whose capitals are known without seeing them


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


class Drawer:
    """Draws words and phrases for one side of the split."""

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
                else (self.rng.choice(found[2].split("|")) if self.rng.random() < OPTION_SHARE else "")
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
        post = " ".join(post.split()).replace(
            "<rel>", "who" if person else self.rng.choice(("that", "which"))
        )
        noun = f"{pre} {many}".strip()
        return NounPhrase(
            agree(f"{pre} {one} {post}".strip(), False), agree(f"{noun} {post}".strip(), True), noun,
            agree(post, True), where, tables,
        )  # fmt: skip

    def condition(self, condition: Condition) -> tuple[str, str, str, str]:
        """Draw a condition with its choices resolved, so that both numbers share them."""
        before, after, sql, table = draw_condition(self.values, condition)
        return self.choose(before), self.choose(after), sql, table

    def dress(self, question: str) -> str:
        """Vary case, punctuation, politeness and, in training, spelling."""
        rng = self.rng
        if rng.random() < 0.05 and not self.held_out:
            prefix = rng.choice(
                (
                    "Please tell me: ",
                    "Tell me, ",
                    "Hi, ",
                    "Please: ",
                    "Quick question: ",
                    "Hello! ",
                    "SQL for: ",
                )
            )
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
            question = "".join(
                p if p.startswith(OPEN) else p.lower() for p in re.split(f"({MARKED.pattern})", question)
            )
        if not self.held_out and rng.random() < 0.04:
            question = self.misspell(question)
        return question

    def misspell(self, question: str) -> str:
        """Drop, double or swap a letter of one word that is not a value."""
        spots = [
            m
            for m in re.finditer(r"[a-z]{5,}", question)
            if OPEN not in question[: m.start()] or CLOSE in question[m.end() :][:0]
        ]
        if not spots:
            return question
        spot = self.rng.choice(spots)
        i = self.rng.randrange(spot.start() + 1, spot.end() - 1)
        change = self.rng.choice((question[i] * 2, "", question[i + 1] + question[i]))
        return (
            question[:i] + change + question[i + (2 if len(change) == 2 and change[0] != change[1] else 1) :]
        )


def skeleton_of(question: str) -> str:
    """Return the wording alone: values masked, case and punctuation dropped."""
    masked = MARKED.sub(" _ ", question).lower()
    return " ".join(re.findall(r"[a-z_'-]+", masked))
