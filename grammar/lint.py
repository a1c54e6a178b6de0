"""The warnings of a grammar, whichever front end read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmask.grammar.ir import RuleSet
from stackmask.grammar.source.diagnostics import Diagnostic, Warnings

if TYPE_CHECKING:
    from stackmask.grammar.json_schema.document.report import Report
    from stackmask.grammar.lark.modules import LarkReport


def find_warnings(
    rules: RuleSet, is_ebnf: bool, regex: tuple[str, str, str] | None, report: Report | LarkReport | None
) -> Warnings:
    """Return what is allowed in a grammar and looks like a mistake.

    ``is_ebnf``: its first source is EBNF. ``regex``: the pattern that it was made of, its flavour and its flags.
    Cost: reading the text once more.
    """
    found: list[Diagnostic] = []
    if is_ebnf:
        from stackmask.grammar.ebnf.warnings import grammar_warnings

        found += grammar_warnings(rules)
    if regex is not None:  # mutant: regex-warnings
        from stackmask.grammar.regex.warnings import regex_warnings

        found += regex_warnings(*regex)
    if report is not None:
        found += [
            Diagnostic(
                "G209", f"{note.pointer}: unknown keyword `{note.keyword}`", None, "", note.reason, "warning"
            )
            for note in getattr(report, "unknown", ())
        ]
    found += getattr(report, "warnings", ())  # of Lark
    warnings = Warnings(found)
    warnings.sources = rules.sources
    return warnings
