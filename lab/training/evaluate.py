"""Measure execution accuracy on the held-out questions, with the SQL grammar and without."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from training.make_questions import Pair

MAX_NEW_TOKENS = 128
MAX_STEPS = 20_000_000  # of SQLite's virtual machine: ends a query that would not
DIGITS = 6  # floating point sums are compared to this many decimals

Answer = Callable[[str], tuple[str, bool]]  # question -> SQL, and whether it came to its end


@dataclass(frozen=True)
class Outcome:
    """One question, what was expected, what came out, and whether it gives the same rows."""

    question: str
    intent: str
    gold: str
    predicted: str
    finished: bool
    parses: bool
    runs: bool
    right: bool


def open_database(path: Path) -> sqlite3.Connection:
    """Open a database for reading."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def rows_of(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]] | None:
    """Return the rows of a query, or None if it fails."""
    steps = 0

    def tick() -> int:
        nonlocal steps
        steps += 1
        return int(steps * 1000 > MAX_STEPS)

    connection.set_progress_handler(tick, 1000)
    try:
        rows = connection.execute(sql).fetchall()
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return None
    return [tuple(round(v, DIGITS) if isinstance(v, float) else v for v in row) for row in rows]


def same_rows(connection: sqlite3.Connection, gold: str, predicted: str) -> bool:
    """Compare results as multisets of rows, or as lists where the gold query orders them."""
    wanted, found = rows_of(connection, gold), rows_of(connection, predicted)
    if wanted is None or found is None:
        return False
    return wanted == found if " ORDER BY " in gold else Counter(wanted) == Counter(found)


def parses(sql: str) -> bool:
    """Say whether SQLite can parse a statement, whatever tables it names."""
    with closing(sqlite3.connect(":memory:")) as empty:
        try:
            empty.execute("EXPLAIN " + sql)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            text = str(error)
            return (
                "syntax error" not in text and "incomplete input" not in text and "unrecognized" not in text
            )
    return True


def answerer(model: Any, tokenizer: Any, grammar: Any = "sql", temperature: float = 0.0) -> Answer:
    """Answer within a grammar or a bundled one by its name, or freely with None; greedily, or sampled at a temperature.

    Samples are drawn from the whole distribution with a seed per question, the same with a grammar and without.
    """
    import stackmask
    from stackmask.runtime.embedded import prompt_for

    rules = stackmask.Grammar.bundled(grammar) if isinstance(grammar, str) else grammar
    options: dict[str, Any] = {"do_sample": False}
    if temperature > 0:
        options = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}

    def answer(question: str) -> tuple[str, bool]:
        seed = zlib.crc32(question.encode()) if temperature > 0 else None
        (result,) = stackmask.generate(
            model,
            tokenizer,
            [prompt_for(question)],
            rules,
            max_new_tokens=MAX_NEW_TOKENS,
            seed=seed,
            **options,
        )
        return result.text, result.finished

    return answer


def judge(pairs: Sequence[Pair], database: Path, answer: Answer, label: str = "") -> list[Outcome]:
    """Ask every question and compare the rows."""
    connection = open_database(database)
    try:
        outcomes = []
        for pair in tqdm(pairs, desc=label, unit="question", dynamic_ncols=True, mininterval=2):
            predicted, finished = answer(pair.question)
            runs = rows_of(connection, predicted) is not None
            outcomes.append(
                Outcome(
                    pair.question,
                    pair.intent,
                    pair.sql,
                    predicted,
                    finished,
                    parses(predicted),
                    runs,
                    same_rows(connection, pair.sql, predicted),
                )
            )
        return outcomes
    finally:
        connection.close()


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return shares of right, running and unparsable answers, over all and by intent."""
    intents = Counter(o.intent for o in outcomes)
    right = Counter(o.intent for o in outcomes if o.right)
    return {
        "questions": len(outcomes),
        "right": sum(o.right for o in outcomes),
        "accuracy": round(sum(o.right for o in outcomes) / len(outcomes), 4),
        "does_not_parse": sum(not o.parses for o in outcomes),
        "does_not_run": sum(not o.runs for o in outcomes),
        "cut_off": sum(not o.finished for o in outcomes),
        "by_intent": {intent: f"{right[intent]}/{count}" for intent, count in sorted(intents.items())},
    }


def report(pairs: Sequence[Pair], database: Path, answer: Answer, label: str) -> dict[str, Any]:
    """Judge and sum up, with the wrong answers."""
    started = time.perf_counter()
    outcomes = judge(pairs, database, answer, label)
    seconds = time.perf_counter() - started
    wrong = [asdict(o) for o in outcomes if not o.right]
    return summary(outcomes) | {"seconds_per_question": round(seconds / len(pairs), 4), "wrong": wrong}
