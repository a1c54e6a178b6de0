"""The front ends' requirements on an engine that apply before the first grammar."""

from __future__ import annotations

from stackmask.grammar.ir import ANY_CHAR, Expr, KeySyntax
from stackmask.grammar.json_schema.text.strings import KEY_SYNTAX


def classes_worth_preparing() -> tuple[Expr, ...]:
    """Return the character classes that most grammars repeat, beginning with those of each front end.

    A new front end adds its ``PREPARED_CLASSES`` here. This call also imports slow readers, so that the first
    request does not wait for them.
    """
    from stackmask.grammar.json_schema.frontend import PREPARED_CLASSES

    # many patterns look for a match anywhere in a text
    return (*PREPARED_CLASSES, ANY_CHAR)


def key_syntax() -> KeySyntax:
    """Return the syntax of object keys, which the automaton needs to distinguish them.

    One engine supports one syntax; JSON Schema is the only front end with keys.
    """
    return KEY_SYNTAX  # mutant: key-syntax
