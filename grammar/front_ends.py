"""What the front ends ask of an engine before the first grammar comes."""

from __future__ import annotations

from functools import cache
from typing import Any

from stackmask.grammar.ir import ANY_CHAR, Expr, KeySyntax
from stackmask.grammar.json_schema.text.strings import KEY_SYNTAX


def classes_worth_preparing() -> tuple[Expr, ...]:
    """Return the character classes that most grammars repeat, each front end's own first.

    A new front end adds its ``PREPARED_CLASSES`` here. Readers that take a while to import are imported by this
    call, or the first request would wait for them.
    """
    from stackmask.grammar.json_schema.frontend import PREPARED_CLASSES

    # many patterns look for a match anywhere in a text
    return (*PREPARED_CLASSES, ANY_CHAR)


def key_syntax() -> KeySyntax:
    """Return how keys of objects are written, which the automaton must know to tell them apart.

    One engine knows one syntax; JSON Schema is the one front end that asks for keys.
    """
    return KEY_SYNTAX  # mutant: key-syntax


@cache
def schema_reader() -> Any:
    """Return what reads schemas, which is imported when it is first needed."""
    from stackmask.grammar.json_schema.frontend import schema_rules

    return schema_rules
