"""``stackmask convert``: convert a grammar of another tool to EBNF."""

from __future__ import annotations

import sys
from pathlib import Path

from stackmask.grammar.ebnf.parser import SYNTAX
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.lark.convert import Converted, to_ebnf
from stackmask.grammar.lark.frontend import OnUnsupported
from stackmask.grammar.notation.layout import lay_out
from stackmask.grammar.notation.loading import is_lark
from stackmask.grammar.source.diagnostics import GrammarError
from stackmask.grammar.source.files import read_text
from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.command_diagram import write_file
from stackmask.runtime.cli.console import messages, show
from stackmask.runtime.cli.grammars import NamedGrammarError


def lark_as_ebnf(
    text: str, start: str | None = None, *, name: str, base: Path | None, relax: bool = False
) -> Converted:
    """Return a Lark grammar as valid EBNF, without unused rules that EBNF cannot express.

    Raises: GrammarError.
    """
    how: OnUnsupported = "relax" if relax else "error"
    # what is wrong with the text is said of it, not of the one that is made
    _ = Grammar.from_lark(text, start, name=name, base=base, on_unsupported=how).normalized
    for is_whole in (True, False):
        try:
            made = to_ebnf(text, start, name=name, base=base, on_unsupported=how, is_whole=is_whole)
            _ = Grammar.from_ebnf(made.text).normalized
            break
        except GrammarError:
            if not is_whole:
                raise
    return made


def run_convert(file: Path, start: str | None, made: Path | None, *, relax: bool) -> int:
    """Write a grammar as EBNF, and list on standard error all constructs with another effect there; return
    the exit status.
    """
    is_input = str(file) == "-"
    text = sys.stdin.read() if is_input else read_text(file)
    name, base = ("<stdin>", None) if is_input else (str(file), file.parent)
    if file.suffix.lower() == ".lark" or is_lark(text):
        found, notes = lark_as_ebnf(text, start, name=name, base=base, relax=relax)
        for note in notes:
            show(messages(), note)
    elif start is not None or relax:
        raise NamedGrammarError(
            f"{name} is not a grammar of Lark: leave out {'--start' if start else '--relax'}"
        )
    else:
        _ = Grammar.from_ebnf(text, None, name=name, base=base).normalized
        found = lay_out(text, SYNTAX, name=name)
    if made is None:
        sys.stdout.write(visible(found) if sys.stdout.isatty() else found)
    else:
        write_file(made, found)
    return 0
