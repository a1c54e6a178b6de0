"""Compare the engines by their figures, and by the equality of their masks."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
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
from stackmask.runtime.comparison.engines import FSM, PUSHDOWN, installed_peers
from stackmask.runtime.comparison.measuring import Column, Limits, Task, measure
from stackmask.runtime.comparison.subject import ComparisonError, Subject
from stackmask.runtime.comparison.tokenizer import Text, Tokenizer, draw_text, given_text
from stackmask.runtime.extras import require
from stackmask.runtime.matching.compiler import Compiler

MAX_TOKENS: Final = 2_000  # of a text: all masks along it are kept


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences of masks from those of the pushdown engine.

    ``places``: the number of ``compared`` masks that differ. ``position``: the number of tokens before the
    first of these; ``offset``: of bytes. ``token``: the lowest id that differs there; ``tokens``: their
    number; ``allowed``: True if only this engine allows the token, False if only the pushdown engine does;
    ``why``: an explanation.
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
    """The result: one column for each engine, the pushdown engine first. ``differences``: from that engine."""

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
        """Return whether every finite-state machine without a bound on recursion has the masks of the
        pushdown engine.
        """
        exact = [c.name for c in self.columns if c.engine == FSM and c.depth is None]
        return all(self.differences[name].places == 0 for name in exact if name in self.differences)

    def document(self) -> dict[str, Any]:
        """Return the result as JSON values, with the date and the machine."""
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
    """Return the figures of a column's masks in µs: first, mean, p99 and worst, of both passes."""
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

    ``text``: the text to follow; by default a random one, drawn with ``seed``. ``depths``: for each, another
    finite-state machine with recursion expanded to this depth. ``peers``: other libraries, if they are
    installed.
    Raises: GrammarError and so on if the language has errors; ComparisonError if the text is not in the
    language.
    Cost: about half a second per engine plus the time of the engine, within the limits.
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
    """Compare masks, as far as both engines followed the text."""
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
    """Return a difference with the reason for its first position, according to the grammar of the pushdown engine."""
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


# --------------------------------------------------------------------------------------------------------
# Draw a comparison: what each token of the text costs, when a text of so many tokens is done, and the memory
# --------------------------------------------------------------------------------------------------------

ENDINGS: Final = (".svg", ".png", ".pdf")
COLORS: Final = ("#1a5fb4", "#c64600", "#e5a50a", "#613583", "#26a269", "#77767b", "#a51d2d", "#986a44")
TITLE_CHARACTERS: Final = 90


def check_plot(file: Path) -> None:
    """Check that a plot can be drawn to the file.

    Raises: MissingExtraError without matplotlib; ComparisonError for an unsupported suffix.
    """
    if file.suffix.lower() not in ENDINGS:
        raise ComparisonError(f"a plot is written to {', '.join(ENDINGS)}, not to {file}")
    with require("bench"):
        import matplotlib  # noqa: F401


def draw(document: dict[str, Any], file: Path) -> None:
    """Draw the result of ``Comparison.document``.

    Raises: as ``check_plot``; ComparisonError if the file cannot be written.
    """
    check_plot(file)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    engines: dict[str, Any] = document["engines"]
    colors = dict(zip(engines, itertools.cycle(COLORS), strict=False))
    shown = {name: engine for name, engine in engines.items() if engine["again_us"]}
    # without pyplot there is no global state and no window; a fixed salt makes equal figures equal files
    with mpl.rc_context({"svg.hashsalt": "stackmask", "font.size": 9, "axes.grid": True, "grid.alpha": 0.25}):
        figure = Figure(figsize=(12, 7.2), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(_title(document), fontsize=10)
        (masks, total), (costs, memory) = figure.subplots(2, 2)
        _draw_masks(masks, shown, colors)
        _draw_totals(total, shown, colors)
        _draw_costs(costs, engines, colors)
        _draw_memory(memory, engines, colors)
        if handles := masks.get_legend_handles_labels()[0]:
            figure.legend(
                handles, masks.get_legend_handles_labels()[1], loc="outside lower center", ncols=len(handles)
            )
        try:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)
        except OSError as error:
            raise ComparisonError(f"cannot write {file}: {error.strerror or error}") from None


def _title(document: dict[str, Any]) -> str:
    subject, text = document["subject"], document["text"]
    name = (subject["origin"] and Path(subject["origin"]).name) or " ".join(subject["source"].split())
    if len(name) > TITLE_CHARACTERS:
        name = name[: TITLE_CHARACTERS - 1] + "…"
    tokenizer = document["tokenizer"]
    plain = f"{subject['kind']}: {name}".replace("$", r"\$")  # no mathematics in titles
    return (
        f"{plain}\n{Path(tokenizer['name']).name} ({tokenizer['size']:,} tokens), a text of {text['tokens']} tokens; "
        f"{document['cpu']}, {document['date']}"
    )


def _draw_masks(axes: Any, engines: dict[str, Any], colors: dict[str, str]) -> None:
    axes.set_title("mask at each token: first visit (line), later (dots)")
    axes.set_xlabel("token of the text")
    axes.set_ylabel("µs")
    axes.set_yscale("log")
    for name, engine in engines.items():
        axes.plot(engine["first_pass_us"], color=colors[name], linewidth=1.1, label=name)
        axes.plot(engine["again_us"], ".", color=colors[name], markersize=3)


def _draw_totals(axes: Any, engines: dict[str, Any], colors: dict[str, str]) -> None:
    axes.set_title("compile and all masks so far")
    axes.set_xlabel("tokens written, the text again and again")
    axes.set_ylabel("ms")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, engine in engines.items():
        counts, sums = running_total(engine["compile_ms"], engine["first_pass_us"], engine["again_us"])
        axes.plot(counts, sums, color=colors[name], linewidth=1.3)


def running_total(
    compile_ms: float, first_us: Sequence[float], again_us: Sequence[float], limit: int = 100_000
) -> tuple[list[int], list[float]]:
    """Return the cumulative ms by number of tokens, if the text is generated again and again.

    The first round has the cost of first visits, later rounds the cost of cached masks.
    """
    counts, sums = [1], [compile_ms + first_us[0] / 1e3]
    for us in first_us[1:]:
        counts.append(counts[-1] + 1)
        sums.append(sums[-1] + us / 1e3)
    mean = sum(again_us) / len(again_us) / 1e3
    base, spent = counts[-1], sums[-1]
    count = base
    while count < limit:
        count = max(count + 1, int(count * 1.25))
        counts.append(count)
        sums.append(spent + (count - base) * mean)
    return counts, sums


def _draw_costs(axes: Any, engines: dict[str, Any], colors: dict[str, str]) -> None:
    axes.set_title("before the first token: compile (dark) and first mask (light)")
    axes.set_xlabel("ms")
    values = [e["compile_ms"] for e in engines.values()]
    values += [e["first_mask_us"] and e["first_mask_us"] / 1e3 for e in engines.values()]
    _scale(axes, values)
    _names(axes, engines)
    for row, (name, engine) in enumerate(engines.items()):
        if engine["compile_ms"] is None or engine["first_mask_us"] is None:
            _note(axes, row, engine["refusal"] or "")
            continue
        axes.barh(row - 0.18, engine["compile_ms"], height=0.34, color=colors[name])
        axes.barh(row + 0.18, engine["first_mask_us"] / 1e3, height=0.34, color=colors[name], alpha=0.45)


def _draw_memory(axes: Any, engines: dict[str, Any], colors: dict[str, str]) -> None:
    axes.set_title("memory: by its own account (dark), growth of the process (light)")
    axes.set_xlabel("KiB")
    _scale(
        axes,
        [
            e[key] and e[key] / 1024
            for e in engines.values()
            for key in ("memory_bytes", "process_growth_bytes")
        ],
    )
    _names(axes, engines)
    for row, (name, engine) in enumerate(engines.items()):
        if engine["refusal"] is not None:
            _note(axes, row, engine["refusal"])
            continue
        for offset, key, alpha in ((-0.18, "memory_bytes", 1.0), (0.18, "process_growth_bytes", 0.45)):
            if engine[key]:
                axes.barh(row + offset, engine[key] / 1024, height=0.34, color=colors[name], alpha=alpha)


def _scale(axes: Any, values: list[float | None]) -> None:
    """Set a logarithmic axis that begins a decade below the least value, since the lengths of bars have no
    meaning there.
    """
    known = [value for value in values if value]
    if known:
        axes.set_xscale("log")
        axes.set_xlim(10.0 ** math.floor(math.log10(min(known)) - 0.5), max(known) * 2)


def _names(axes: Any, engines: dict[str, Any]) -> None:
    axes.set_yticks(range(len(engines)), list(engines))
    axes.set_ylim(len(engines) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _note(axes: Any, row: int, text: str) -> None:
    text = text if len(text) <= 62 else text[:61] + "…"
    axes.text(
        0.01,
        row,
        text.replace("$", r"\$"),
        transform=axes.get_yaxis_transform(),
        va="center",
        fontsize=7,
        color="#555",
    )
