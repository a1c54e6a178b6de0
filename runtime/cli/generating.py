"""``stackmask generate``: one prompt, one grammar, one text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.console import messages, show_error
from stackmask.runtime.cli.grammars import Reading, load_grammar
from stackmask.runtime.cli.loading import load_model
from stackmask.runtime.embedded import prompt_for
from stackmask.runtime.strings.engine import SampleError

FINISHED, UNFINISHED = 0, 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """The settings for choosing tokens; without a temperature, the most probable token is chosen."""

    max_new_tokens: int
    temperature: float | None = None
    top_p: float = 1.0
    seed: int | None = None

    def options(self) -> dict[str, Any]:
        """Return the arguments for ``generate``."""
        options: dict[str, Any] = {
            "max_new_tokens": self.max_new_tokens,
            "do_sample": self.temperature is not None,
        }
        if self.temperature is not None:
            options |= {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        return options


def run_generate(
    prompt: str,
    grammar_name: str,
    reading: Reading,
    model_name: str | None,
    sampling: Sampling,
    *,
    chat: bool,
) -> int:
    """Generate, streaming the text; return the exit status."""
    grammar = load_grammar(grammar_name, reading=reading)
    _ = grammar.normalized  # its errors come before the model is loaded
    asked: Any = [{"role": "user", "content": prompt}] if chat else prompt
    if model_name is None:
        asked = prompt_for(prompt)
    with messages().status("loading the model"):
        model, tokenizer = load_model(model_name)

    from stackmask.runtime.generation import generate

    shown = (
        visible if sys.stdout.isatty() else str
    )  # in a pipe, a text is what the grammar says, byte for byte

    def write(_: int, text: str) -> None:
        sys.stdout.write(shown(text))
        sys.stdout.flush()

    try:
        (result,) = generate(model, tokenizer, [asked], grammar, on_text=write, **sampling.options())
    finally:
        sys.stdout.write("\n")
        sys.stdout.flush()
    if result.finished:
        return FINISHED
    show_error(f"not finished: {result.note}")
    return UNFINISHED


# -- ``stackmask sample``: texts of a grammar, drawn by chance -------------------------------------------

DRAWN = 0


def run_sample(name: str, reading: Reading, count: int, seed: int) -> int:
    """Print some random texts; return the exit status."""
    grammar = load_grammar(name, reading=reading)
    shown = visible if sys.stdout.isatty() else str  # in a pipe, a text is what the grammar says
    try:
        texts = grammar.sample(count, seed)
    except SampleError as error:
        show_error(f"error: {error}")
        return UNFINISHED
    for text in texts:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        sys.stdout.write(shown(text) + "\n")
    return DRAWN
