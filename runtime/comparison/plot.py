"""Draw a comparison: what each token of the text costs, when a text of so many tokens is done, and the memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stackmask.runtime.comparison.subject import ComparisonError
from stackmask.runtime.extras import require

ENDINGS: Final = (".svg", ".png", ".pdf")
COLORS: Final = ("#1a5fb4", "#c64600", "#e5a50a", "#613583", "#26a269", "#77767b", "#a51d2d", "#986a44")
TITLE_CHARACTERS: Final = 90


def check_plot(file: Path) -> None:
    """Make sure that a plot can be drawn to the file.

    Raises: MissingExtraError without matplotlib; ComparisonError for an ending that it does not draw.
    """
    if file.suffix.lower() not in ENDINGS:
        raise ComparisonError(f"a plot is written to {', '.join(ENDINGS)}, not to {file}")
    with require("bench"):
        import matplotlib  # noqa: F401


def draw(document: dict[str, Any], file: Path) -> None:
    """Draw what ``Comparison.document`` returned.

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
    """Return after how many tokens how many ms were spent, if the text is written again and again.

    The first round costs what first visits cost, the later ones what masks cost that are known.
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
    """Set a logarithmic axis that begins a decade below the least value: a bar's length means nothing on it."""
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
