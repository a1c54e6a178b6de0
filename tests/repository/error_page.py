"""The page of errors that the site has: what is raised, with an example of each that a test has seen."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from support.golden import read_cases

from stackmask.grammar.source.diagnostic_codes import CODES

# class → module, and the golden case that shows it, or None where no short one does
CLASSES = (
    ("GrammarError", "grammar.source.diagnostics", ("ebnf", "an undefined rule")),
    ("GrammarFileError", "grammar.source.diagnostics", ("ebnf", "a file that is not there")),
    ("SchemaError", "grammar.json_schema.document.errors", ("schemas", "an unknown type")),
    ("UnsatisfiableSchemaError", "grammar.json_schema.document.errors", ("schemas", "minimum above maximum")),
    (
        "UnsupportedSchemaError",
        "grammar.json_schema.document.errors",
        ("schemas", "a pattern with a back-reference"),
    ),
    ("DialectError", "grammar.json_schema.document.errors", None),
    ("StructuralTagError", "grammar.turns.formats.fields", ("tags", "no format")),
    ("ToolError", "grammar.turns.errors", ("tools", "an unknown style")),
    ("TurnError", "grammar.turns.errors", None),
    ("SQLError", "grammar.sql.schema.errors", ("sql", "an unknown dialect")),
    ("OutputError", "grammar.outputs", ("types", "a number")),
    ("ArgumentError", "grammar.source.options", ("ebnf", "bytes instead of a grammar")),
    ("MissingNameError", "grammar.source.options", ("first_words", "a matcher of a grammar")),
    ("BudgetError", "grammar.source.diagnostics", ("types", "a text longer than the limit")),
    ("CancelledError", "grammar.source.diagnostics", None),
    (
        "VocabularyError",
        "pda.errors",
        ("generation", "a stop token of generation_config that is a character of the grammar"),
    ),
    ("ResolverError", "pda.errors", None),
    ("SpoiledError", "pda.errors", None),
    ("MatcherError", "runtime.matching.mask_buffer", ("matchers", "a rollback too far")),
    ("MatcherTypeError", "runtime.matching.mask_buffer", ("matchers", "text as a token")),
    (
        "EmptyMaskError",
        "runtime.matching.mask_buffer",
        ("matchers", "a mask at the end of the text, without a stop token"),
    ),
    ("CompletionError", "runtime.matching.budgets", None),
    ("BitmaskError", "runtime.kernels.errors", ("matchers", "a mask of no rows")),
    ("GenerationError", "runtime.generation.errors", ("generation", "a name instead of a model")),
    ("SampleError", "runtime.strings.engine", None),
    ("FsmError", "runtime.fsm.errors", ("matchers", "a grammar that no automaton can be made of")),
    ("FsmBudgetError", "runtime.fsm.errors", None),
    (
        "MissingFileError",
        "grammar.source.diagnostics",
        ("matchers", "a finite-state machine from a file that is not there"),
    ),
    ("NotAFileError", "grammar.source.diagnostics", ("vocabularies", "a folder to load a vocabulary from")),
    ("MissingExtraError", "runtime.extras", None),
    ("RequestError", "runtime.serving.requests", None),
    ("ServerVersionError", "runtime.serving.versions", None),
)

# names of the setting of mistakes, and what a user writes
SHORT = (
    ("ebnf(", "sm.Grammar.from_ebnf("),
    ("schema(", "sm.Grammar.from_json_schema("),
    ("regex(", "sm.Grammar.from_regex("),
    ("tag(", "sm.Grammar.from_structural_tag("),
    ("matcher('root ::= \"a\"')", "compiler.compile('root ::= \"a\"').matcher()"),
)

INTRODUCTION = """# Errors and diagnostics

Every error that stackmask raises on purpose is a `stackmask.StackmaskError`, which is a `ValueError`.
Its message says where, why, and what to do.
After an error of a call, a matcher is where it was before the call.

    try:
        compiled = compiler.compile(sm.Grammar.from_json_schema(schema))
    except sm.BudgetError as error:
        refuse(f"too much work: raise {error.limit}")
    except sm.StackmaskError as error:
        refuse(str(error))

A text or token that a grammar does not allow is not an error.
`accept_token` and `accept_string` return False, and `matcher.refusal` names the byte, what was expected there, and the rules around it.

## Classes

A class without "`sm.`" is imported from its module.
"""

CODES_INTRODUCTION = """
## Codes of diagnostics

A `GrammarError` holds diagnostics (`error.diagnostics`), each with a code, a place in the text and help.
Codes never change their meaning: G0xx are about the text of a grammar, G1xx about what its rules mean together, and G2xx are warnings (`grammar.warnings`, `stackmask lint`), which change no mask.
"""


def golden(path: Path, title: str) -> tuple[str, str]:
    """Return the input of a golden case and what it says."""
    for case in read_cases(path):
        if case.title == title:
            (said,) = (text for name, text in case.sections.items() if name in ("says", "error"))
            return case.grammar.rstrip(), said.rstrip()
    raise LookupError(f"{path.name} has no case {title!r}")


def example_of(code: str) -> tuple[str, str] | None:
    """Return the shortest text that a test knows to have one diagnostic, of this code, and that diagnostic."""
    found = []
    for path in sorted(TESTS.rglob("cases/*.txt")):
        for case in read_cases(path):
            for name in ("error", "says", "result"):
                said = case.sections.get(name, "").rstrip()
                first = said.partition("error[")[2] or said.partition("warning[")[2]
                if said.count(" --> ") == 1 and first.startswith(f"{code}]") and len(said.splitlines()) < 14:
                    found.append((len(case.grammar) + len(said), case.grammar.rstrip(), said))
    return min(found)[1:] if found else None


def block(given: str, said: str) -> list[str]:
    """Return what was given, and what came, as blocks of text."""
    for short, full in SHORT:
        given = re.sub(rf"(?<!\w){re.escape(short)}", lambda _, full=full: full, given)
    given, said = given.replace("TMP/", ""), said.replace("TMP/", "")
    return ["", "```text", given, "```", "", "```text", said, "```"]


def page() -> str:
    """Return the whole page."""
    public = importlib.import_module("stackmask")
    lines = [INTRODUCTION.rstrip()]
    for name, module, case in CLASSES:
        found = getattr(importlib.import_module(f"stackmask.{module}"), name)
        shown = f"`sm.{name}`" if hasattr(public, name) else f"`stackmask.{module}.{name}`"
        about = (found.__doc__ or "").partition("\n\n")[0].replace("\n    ", " ").replace("``", "`")
        lines += ["", f"### {name}", "", f"{shown}. {about}"]
        if case is not None:
            lines += block(*golden(TESTS / "mistakes" / "cases" / f"{case[0]}.txt", case[1]))
    lines += [CODES_INTRODUCTION.rstrip()]
    for code, about in CODES.items():
        lines += ["", f"### {code}: {about.title}", "", about.explanation]
        example = example_of(code)
        if example is not None:
            lines += block(*example)
    return "\n".join(lines) + "\n"
