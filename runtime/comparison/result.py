"""Put the engines side by side: their figures, and whether their masks are equal bit for bit."""

from __future__ import annotations

import dataclasses
import datetime
import platform
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.whole_strings import wider
from stackmask.runtime.comparison.engines import FSM, PUSHDOWN
from stackmask.runtime.comparison.measuring import Column, Limits, Task, measure
from stackmask.runtime.comparison.peers import installed_peers
from stackmask.runtime.comparison.subject import ComparisonError, Subject
from stackmask.runtime.comparison.texts import Text, draw_text, given_text
from stackmask.runtime.comparison.tokenizer import Tokenizer
from stackmask.runtime.matching.compiler import Compiler

MAX_TOKENS: Final = 2_000  # of a text: all masks along it are kept


@dataclass(frozen=True, slots=True)
class Difference:
    """Where masks differ from those of the pushdown engine.

    ``places``: of ``compared`` masks so many differ. ``position``: tokens before the first of these, ``offset``: bytes.
    ``token``: the lowest id on which they disagree there, ``tokens``: how many do; ``allowed``: whether the engine allows
    the token, which the pushdown engine does not, or the other way round; ``why``: in words.
    """

    compared: int
    places: int
    position: int = 0
    offset: int = 0
    token: int = 0
    text: str = ""
    tokens: int = 0
    allowed: bool = False
    why: str = ""


@dataclass(slots=True)
class Comparison:
    """What came out: one column per engine, the pushdown engine first. ``differences``: of the others from it."""

    subject: Subject
    tokenizer: str
    vocabulary_size: int
    text: Text
    tokens: int
    columns: list[Column]
    differences: dict[str, Difference] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def is_equal(self) -> bool:
        """Return whether every finite-state machine without a bound on recursion has the masks of the pushdown engine."""
        exact = [c.name for c in self.columns if c.engine == FSM and c.depth is None]
        return all(self.differences[name].places == 0 for name in exact if name in self.differences)

    def document(self) -> dict[str, Any]:
        """Return everything as what JSON can hold, with the date and the machine."""
        return {
            "date": datetime.date.today().isoformat(),
            "cpu": _cpu(),
            "python": platform.python_version(),
            "versions": self.versions,
            "subject": dataclasses.asdict(self.subject),
            "tokenizer": {"name": self.tokenizer, "size": self.vocabulary_size},
            "text": {
                "shown": self.text.shown,
                "bytes": len(self.text.data),
                "tokens": self.tokens,
                "complete": self.text.complete,
                "seed": self.text.seed,
            },
            "engines": {column.name: self._column(column) for column in self.columns},
            "masks equal": self.is_equal,
        }

    def _column(self, column: Column) -> dict[str, Any]:
        difference = self.differences.get(column.name)
        return {
            "refusal": column.refusal,
            "depth": column.depth,
            "setup_ms": _rounded(column.setup_ms),
            "compile_ms": _rounded(column.compile_ms),
            **figures(column),
            "accept_us": _rounded(column.accept_us),
            "stopped_at_token": column.stopped_at,
            "states": column.states,
            "memory_bytes": column.memory_bytes,
            "process_growth_bytes": column.growth_bytes,
            "forced_tokens": column.forced_tokens,
            "difference": None if difference is None else dataclasses.asdict(difference),
            "first_pass_us": [_rounded(us) for us in column.first_pass],
            "again_us": [_rounded(us) for us in column.again],
            "details": column.details,
        }


def figures(column: Column) -> dict[str, float | None]:
    """Return the figures of a column's masks in µs: the first one, mean, p99 and worst, of both passes."""
    found: dict[str, float | None] = {
        "first_mask_us": _rounded(column.first_pass[0]) if column.first_pass else None
    }
    for name, times in (("first_pass", column.first_pass), ("again", column.again)):
        ordered = sorted(times)
        found[f"{name}_mean_us"] = _rounded(statistics.fmean(ordered)) if ordered else None
        found[f"{name}_p99_us"] = _rounded(ordered[int(len(ordered) * 0.99)]) if ordered else None
        found[f"{name}_worst_us"] = _rounded(ordered[-1]) if ordered else None
    return found


def compare(
    subject: Subject,
    tokenizer: Tokenizer,
    *,
    text: str | None = None,
    seed: int = 0,
    depths: Sequence[int] = (),
    peers: bool = True,
    limits: Limits | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> Comparison:
    """Compare the engines on one language along one text.

    ``text``: what is followed; without it one is drawn from the language by ``seed``. ``depths``: for each a further
    finite-state machine, with recursion written out so far. ``peers``: other libraries, if they are installed.
    Raises: GrammarError and so on if the language has errors; ComparisonError if the text is not in it.
    Cost: about half a second per engine and what the engine takes, within the limits.
    """
    vocabulary = tokenizer.vocabulary
    compiled = Compiler(vocabulary).compile(subject.grammar())
    followed = draw_text(compiled.grammar, seed) if text is None else given_text(compiled, text)
    ids = tokenizer.encode(followed.data)
    if len(ids) > MAX_TOKENS:
        raise ComparisonError(f"the text has {len(ids)} tokens; at most {MAX_TOKENS} are followed")
    tokens = vocabulary.tokens
    lengths = [len(tokens[i] or b"") for i in ids]
    task = Task(tokenizer, subject, ids, lengths, limits or Limits())
    versions = installed_peers() if peers else {}
    columns = [Column(PUSHDOWN, PUSHDOWN), Column(FSM, FSM)]
    columns += [Column(f"{FSM}, depth {depth}", FSM, depth) for depth in dict.fromkeys(depths)]
    deepest = max(depths, default=None)
    columns += [Column(name, name, deepest) for name in versions]
    result = Comparison(
        subject, tokenizer.name, vocabulary.size, followed, len(ids), columns, versions=versions
    )
    with tempfile.TemporaryDirectory(prefix="stackmask-") as folder:
        kept: npt.NDArray[np.int32] | None = None
        for number, column in enumerate(columns):
            progress(column.name)
            file = Path(folder) / f"{number}.npy"
            columns[number] = column = measure(column, task, file)
            if column.refusal is not None or not file.exists():
                continue
            masks = np.load(file)
            if number == 0:
                kept = masks
            elif kept is not None:
                found = _difference(kept, masks, lengths, tokens)
                result.differences[column.name] = _explained(found, compiled.grammar, followed.data)
    return result


def _difference(
    ours: npt.NDArray[np.int32],
    theirs: npt.NDArray[np.int32],
    lengths: list[int],
    tokens: Sequence[bytes | None],
) -> Difference:
    """Compare masks, as far as both followed the text."""
    compared = min(len(ours), len(theirs))
    differing = ours[:compared] ^ theirs[:compared]
    places = np.flatnonzero(differing.any(axis=1))
    if not len(places):
        return Difference(compared, 0)
    at = int(places[0])
    bits = np.flatnonzero(np.unpackbits(differing[at].astype("<i4").view(np.uint8), bitorder="little"))
    token = int(bits[0])
    text = tokens[token] if token < len(tokens) else None
    return Difference(
        compared,
        len(places),
        at,
        sum(lengths[:at]),
        token,
        "(no text)" if text is None else text.decode("utf-8", "backslashreplace"),
        len(bits),
        bool(theirs[at, token // 32] >> (token % 32) & 1),  # mutant: which-side
    )


def _explained(found: Difference, grammar: Grammar, data: bytes) -> Difference:
    """Return a difference with the reason for its first place: what the grammar of the pushdown engine says there."""
    if not found.places:
        return found
    if not found.allowed:
        return dataclasses.replace(found, why="strings of the grammar begin so")
    why = wider(grammar, data[: found.offset] + found.text.encode(), whole=False)
    return dataclasses.replace(found, why=why or "no string of the grammar begins so")


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
