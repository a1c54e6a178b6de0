"""Make question/SQL pairs from the lexicon; keep a fifth of the sentence frames for the held-out set."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from training.drawing import SEED, Rejected, skeleton_of
from training.handwritten import FIRST, SECOND
from training.over_entities import EntityQuestions
from training.over_measures import MeasureQuestions
from training.values import CLOSE, OPEN

HELD_OUT_FILE = Path(__file__).resolve().parent / "held_out.json"
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


class Maker(MeasureQuestions, EntityQuestions):
    """Draws pairs for one side of the split."""

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


def training_pairs(count: int, seed: int = SEED) -> Iterator[Pair]:
    """Draw pairs from the frames for training."""
    maker = Maker(random.Random(f"training {seed}"), held_out=False)
    for _ in range(count):
        yield maker.pair()


def skeletons(count: int, seed: int = SEED + 1) -> set[str]:
    """Return the wordings of the pairs that training draws (train.py uses the next seed for its batches)."""
    return {pair.skeleton for pair in training_pairs(count, seed)}


def known_names(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the names that the database holds."""
    return {
        table: [name for (name,) in connection.execute(f"SELECT name FROM {table} ORDER BY id")]
        for table in ("customers", "employees", "products", "suppliers")
    }


def held_out_pairs(count: int, database: Path, seen: set[str], seed: int = SEED) -> list[Pair]:
    """Draw questions from held-out frames whose wording is not in ``seen`` and whose answer is not empty."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)
    try:
        maker = Maker(random.Random(f"held out {seed}"), held_out=True, known=known_names(connection))
        pairs: list[Pair] = []
        used: set[str] = set()
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


def write_held_out(pairs: Sequence[Pair], path: Path = HELD_OUT_FILE) -> None:
    """Write the held-out questions, one to a line."""
    lines = [json.dumps({f.name: getattr(pair, f.name) for f in fields(Pair)}) for pair in pairs]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def read_held_out(path: Path = HELD_OUT_FILE) -> list[Pair]:
    """Read the held-out questions."""
    return [Pair(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def handwritten_pairs() -> tuple[list[Pair], list[Pair]]:
    """Return the two sets of questions written by hand."""
    first, second = (
        [Pair(question, sql, "handwritten", "", "") for question, sql in questions]
        for questions in (FIRST, SECOND)
    )
    return first, second
