"""Draw docs/jump-forward.svg from the results of jump_forward.py and jump_generation.py.

python lab/benchmarks/plot_jumps.py
"""

from __future__ import annotations

import json
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from record import REPO, RESULTS

WAYS = {
    "free": "no grammar",
    "off": "mask for every token",
    "canonical": "jump-forward",
    "xgrammar": "XGrammar's way",
    "llguidance": "llguidance's way",
}
COLORS = ("#9aa0a6", "#5f6368", "#1a73e8", "#e8a33d", "#3c9d5d")


def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def draw_shares(axes: Any) -> None:
    """Draw the share of forced tokens per tokenizer."""
    found = read("jump_forward")["tokenizers"]
    names = list(found)
    for shift, (mode, label, color) in enumerate(
        (("any", "blanks anywhere", COLORS[0]), ("compact", "compact", COLORS[2]))
    ):
        values = [found[name][mode]["forced_percent"] for name in names]
        axes.barh([i + 0.4 * shift for i in range(len(names))], values, 0.38, label=label, color=color)
    axes.set_yticks([i + 0.2 for i in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xlabel("tokens forced, % (MaskBench documents)")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def draw_times(axes: Any, model: str, title: str) -> None:
    """Draw the processor time per token of each way, against that without a grammar."""
    tasks = read("jump_generation").get(model, {})
    for k, (way, label) in enumerate(WAYS.items()):
        bars = [(i, task["ways"]) for i, task in enumerate(tasks.values()) if way in task["ways"]]
        axes.bar(
            [i + 0.16 * k for i, _ in bars],
            [ways[way]["seconds"] / ways["free"]["seconds"] for _, ways in bars],
            0.15,
            label=label,
            color=COLORS[k],
        )
    axes.set_xticks([i + 0.32 for i in range(len(tasks))], list(tasks))
    axes.set_ylabel("time, no grammar = 1")
    axes.set_title(title, fontsize=10)
    axes.set_ylim(0, 1.65)
    axes.legend(frameon=False, fontsize=7, loc="upper center", ncols=2)


def main() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8))
    draw_shares(axes[0])
    draw_times(axes[1], "random_100m", "random Llama, 100 million parameters")
    draw_times(axes[2], "embedded", "embedded model")
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    mpl.rcParams["svg.hashsalt"] = "stackmask"
    path = REPO / "docs" / "jump-forward.svg"
    figure.savefig(path, metadata={"Date": None})
    print(path.relative_to(REPO))


if __name__ == "__main__":
    main()
