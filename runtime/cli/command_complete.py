"""``stackmask complete``: mend a text that was cut, with the shortest end that the grammar has for it."""

from __future__ import annotations

from stackmask.runtime.cli.checking import ACCEPTED, REJECTED
from stackmask.runtime.cli.console import output, show
from stackmask.runtime.cli.grammars import load_grammar
from stackmask.runtime.cli.loading import load_tokenizer
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.matching.matcher import MatcherError
from stackmask.runtime.vocabulary.vocabulary import Vocabulary


def run_complete(name: str, start: str | None, text: str, model: str | None) -> int:
    """Print a text with its shortest end, and how many tokens that takes; return the exit status."""
    grammar = load_grammar(name, start)
    matcher = Compiler(Vocabulary.from_huggingface(load_tokenizer(model))).compile(grammar).matcher()
    if text and not matcher.accept_string(text):
        show(output(), matcher.refusal or "the text is refused")
        return REJECTED
    try:
        found = matcher.shortest_completion()
    except MatcherError as error:
        show(output(), str(error))
        return REJECTED
    show(output(), (text.encode() + found.text).decode("utf-8", "replace"))
    show(output(), f"{len(found.text)} bytes more, {len(found.tokens)} tokens and a stop token")
    return ACCEPTED
