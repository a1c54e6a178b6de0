"""A generation loop whose mask work runs beside the forward pass, and a picture of it.

    python lab/benchmarks/overlap.py

Runs the embedded model, a batch of prompts, greedy, twice: masks after the forward pass, and beside it on a
``MaskWorker``. Both write the same tokens. Writes the timeline to ``docs/overlap.svg``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from record import REPO, use_checkout

use_checkout()

import stackmask as sm
from stackmask.runtime.embedded import load_embedded
from stackmask.runtime.generation.jumping import cache_keyword
from stackmask.runtime.kernels.overlap import MaskWorker

ROWS = 16
STEPS = 40
SHOWN = (8, 11)  # steps in the picture
QUESTION = "Which five customers spent the most?\n"


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work: seconds since the timeline began."""

    lane: str
    name: str
    start: float
    end: float


@dataclass(slots=True)
class Timeline:
    """When pieces of work ran, lane by lane. Entering spans from several threads is safe."""

    spans: list[Span] = field(default_factory=list)
    origin: float = field(default_factory=time.perf_counter)

    @contextmanager
    def span(self, lane: str, name: str) -> Iterator[None]:
        """Note how long the block takes."""
        start = time.perf_counter() - self.origin
        try:
            yield
        finally:
            self.spans.append(Span(lane, name, start, time.perf_counter() - self.origin))

    def overlapped(self, one: str, other: str) -> float:
        """Return for how many seconds both lanes were at work."""
        return sum(
            max(0.0, min(a.end, b.end) - max(a.start, b.start))
            for a in self.spans
            if a.lane == one
            for b in self.spans
            if b.lane == other
        )

    def busy(self, lane: str) -> float:
        """Return the seconds of work in a lane."""
        return sum(span.end - span.start for span in self.spans if span.lane == lane)


class TimedWorker(MaskWorker):  # type: ignore[misc]
    """A worker that notes when it was at work."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self.timeline = timeline

    def submit(self, work: Any) -> None:
        def timed() -> Any:
            with self.timeline.span("masks", "fill"):
                return work()

        super().submit(timed)


def generate(
    model: Any, prompt: list[int], compiled: Any, *, beside: bool
) -> tuple[list[list[int]], Timeline, float]:
    """Return the tokens, the timeline, and seconds."""
    timeline = Timeline()
    matchers = [compiled.matcher() for _ in range(ROWS)]
    mask = sm.allocate_token_bitmask(ROWS, compiled.vocabulary.size, like="torch")
    ids = fed = torch.tensor([prompt] * ROWS)
    cache: Any = None
    keyword = cache_keyword(model)
    tokens: list[int] | None = None
    start = time.perf_counter()
    with TimedWorker(timeline) as worker, torch.inference_mode():
        for _ in range(STEPS):
            worker.start(matchers, mask, tokens)
            if not beside:
                worker.wait()
            with timeline.span("model", "forward"):
                output = model(fed, use_cache=True, **{keyword: cache})
                logits, cache = output.logits[:, -1].contiguous(), output[keyword]
            if beside:
                worker.wait()
            with timeline.span("model", "choose"):
                # rows that have ended only repeat their last token
                live = [row for row, matcher in enumerate(matchers) if not matcher.is_terminated()]
                sm.apply_token_bitmask_inplace(
                    logits, mask, indices=live, vocab_size=compiled.vocabulary.size
                )
                tokens = logits.argmax(-1).tolist()
            fed = torch.tensor(tokens)[:, None]
            ids = torch.cat([ids, fed], dim=1)
    return ids.tolist(), timeline, time.perf_counter() - start


def draw(timelines: dict[str, Timeline], path: Path) -> None:
    """Draw some steps of each loop, one above the other."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "stackmask"
    import matplotlib.pyplot as plt

    colors = {"forward": "#4477aa", "choose": "#66ccee", "fill": "#ee6677"}
    figure, axes = plt.subplots(len(timelines), 1, figsize=(9, 3.4), sharex=True)
    for axis, (title, timeline) in zip(axes, timelines.items(), strict=True):
        forwards = [span for span in timeline.spans if span.name == "forward"]
        first, last = forwards[SHOWN[0]].start, forwards[SHOWN[1]].start
        for span in timeline.spans:
            if first - 0.0005 <= span.start < last:
                axis.barh(
                    span.lane,
                    1000 * (span.end - span.start),
                    left=1000 * (span.start - first),
                    color=colors[span.name],
                    edgecolor=colors[span.name],
                )
        axis.set_title(title, fontsize=9, loc="left")
    for name, color in colors.items():
        axes[0].barh("model", 0, color=color, label=name)
    axes[0].legend(fontsize=8, ncol=3, loc="upper right", bbox_to_anchor=(1, 1.45))
    axes[-1].set_xlabel("ms")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    torch.set_num_threads(1)
    model, tokenizer = load_embedded()
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer, size=model.config.vocab_size)
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.bundled("sql"))
    prompt = tokenizer(QUESTION)["input_ids"]
    generate(model, prompt, compiled, beside=False)  # masks are made here, once
    runs = {name: generate(model, prompt, compiled, beside=name == "beside") for name in ("after", "beside")}
    assert runs["after"][0] == runs["beside"][0]
    draw(
        {
            "masks, then the forward pass": runs["after"][1],
            "masks beside the forward pass": runs["beside"][1],
        },
        REPO / "docs" / "overlap.svg",
    )
    timeline = runs["beside"][1]
    hidden = timeline.overlapped("masks", "model") / timeline.busy("masks")
    result = {
        "rows": ROWS,
        "steps": STEPS,
        "mask_ms_a_step": round(1000 * timeline.busy("masks") / STEPS, 4),
        "forward_ms_a_step": round(1000 * timeline.busy("model") / STEPS, 3),
        "share_of_mask_work_beside_the_model": round(hidden, 3),
    }
    print(result)


if __name__ == "__main__":
    main()
