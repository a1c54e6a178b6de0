"""``stackmask check``: check a grammar, and whether it accepts a text."""

from __future__ import annotations

import sys
from pathlib import Path

from stackmask.grammar.ir.dump import summary
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.files import bundled_path
from stackmask.grammar.whole_strings import wider
from stackmask.runtime.cli.console import output, show, show_error
from stackmask.runtime.cli.grammars import Reading, load_grammar
from stackmask.runtime.cli.loading import load_tokenizer
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.matching.matcher import MatcherError
from stackmask.runtime.matching.refusal import explain, judge
from stackmask.runtime.strings.engine import compile_for_text
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MAX_TEXT_BYTES = 1 << 28
ACCEPTED, REJECTED = 0, 1


def read_data(file: Path) -> bytes:
    """Read the bytes of a file, or of standard input for ``-``.

    Raises: StackmaskError with a one-line message if this fails.
    """
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
        else:
            with file.open("rb") as source:
                data = source.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise StackmaskError(f"cannot read {file}: {error.strerror or error}") from None
    if len(data) > MAX_TEXT_BYTES:
        raise StackmaskError(f"the text is larger than {MAX_TEXT_BYTES >> 20} MiB: {file}")
    return data


def run_check(
    name: str, reading: Reading, text: str | None, file: Path | None, is_verbose: bool = False
) -> int:
    """Check a grammar, and a text if one is given; return the exit status.

    ``is_verbose``: also print the report on how the grammar was read.
    """
    grammar = load_grammar(name, reading=reading)
    compiled = compile_for_text(grammar)
    if text is None and file is None:
        show(output(), f"ok: {summary(grammar.rules)}")
    if is_verbose and grammar.report is not None:
        keywords = getattr(grammar.report, "keywords", {})  # of a JSON Schema
        if keywords:
            counts = ", ".join(f"`{name}` {count}" for name, count in keywords.items())
            show(output(), f"shaped by: {counts}")
        show(output(), str(grammar.report))
    if text is None and file is None:
        # those of the bundled grammars are nothing to mend: each has a second rule to start from
        warnings = [] if bundled_path(name) is not None else grammar.warnings
        if warnings:
            count = f"{len(warnings)} warning{'s' if len(warnings) != 1 else ''}"
            show_error(f"note: {count}, which stackmask lint shows")
        return ACCEPTED
    data = read_data(file) if file is not None else (text or "").encode("utf-8", "surrogateescape")
    verdict = judge(compiled, data)
    if verdict.accepted:
        show(output(), "accepted")
        return ACCEPTED
    show_error(explain(verdict, data, "<text>" if file is None else str(file)))
    if why := wider(grammar, data, whole=True):
        show_error(f"note: {why}")
    return REJECTED


# -- ``stackmask complete``: mend a text that was cut, with the shortest end that the grammar has for it -


def run_complete(name: str, start: str | None, text: str, model: str | None) -> int:
    """Print a text with its shortest completion, and the number of tokens; return the exit status."""
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
