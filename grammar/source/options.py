"""Report unknown arguments of a call, with suggestions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

from stackmask.grammar.source.diagnostics import StackmaskError

GRAMMAR_OF: Final = "Grammar.of(…), which takes types, schemas, patterns, choices, paths and EBNF text"
# options of other libraries, by what is read, and what to write here
ELSEWHERE: Final[dict[str, dict[str, str]]] = {
    "ebnf": {"root_rule_name": "`start`", "start_rule": "`start`"},
    "schema": {
        "any_whitespace": '`whitespace="any"` or "compact"',
        "max_whitespace_cnt": '`whitespace={"max": n}`',
        "whitespace_pattern": '`whitespace={"pattern": regex}`',
        "indent": '`whitespace={"indent": n}`',
        "separators": '`whitespace={"separators": (item, member)}`',
        "strict_mode": "`additionalProperties: false` into the schema",
        "strict": "`additionalProperties: false` into the schema",
    },
    "Grammar": {
        "compile": "Compiler(vocabulary).compile(grammar)",
        "matcher": "Compiler(vocabulary).compile(grammar).matcher()",
        "from_gbnf": "Grammar.from_ebnf(text), which reads GBNF as it is",
        "from": GRAMMAR_OF,
    },
    "regex": {"flavour": "`flavor`", "dialect": "`flavor`"},
    "sql": {"allow_writes": "`read_only=False`", "limit": "`max_limit`"},
    "vocabulary": {"vocab_size": "`size`", "stop_token_ids": "`stop_ids`", "eos_token_id": "`stop_ids`"},
    "compiler": {
        "cache_limit_bytes": "`cache_bytes`",
        "cache_enabled": "`cache_bytes`, the memory that is kept",
        "max_threads": "no number of threads: a compiler is safe to share between threads",
        "tokenizer_info": "the vocabulary as first argument",
    },
    "generate": {
        "max_tokens": "`max_new_tokens`",
        "max_length": "`max_new_tokens`, which does not count the prompt",
        "stop": "`stop_strings`",
        "enable_thinking": 'it into `chat_options={"enable_thinking": …}`',
        "continue_final_message": 'it into `chat_options={"continue_final_message": …}`',
        "schema": "it as fourth argument, `grammar`",
        "response_format": "it as fourth argument, `grammar`",
        "output_type": "it as fourth argument, `grammar`",
    },
}

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind")


class ArgumentError(StackmaskError, TypeError):
    """An argument has the wrong type, or does not exist."""


class MissingNameError(StackmaskError, AttributeError):
    """An object does not have this name. The message suggests a replacement."""


def missing_name(owner: Any, name: str) -> NoReturn:
    """As the ``__getattr__`` of a class, raise the error with the advice in ``ELSEWHERE`` for the name or its
    first word.
    """
    called = (owner if isinstance(owner, type) else type(owner)).__name__
    cures = ELSEWHERE.get(called, {})
    cure = cures.get(name) or cures.get(name.partition("_")[0])
    if cure is None:
        raise AttributeError(f"{called} has no attribute {name!r}", name=name, obj=owner)
    raise MissingNameError(f"{called} has no `{name}`; write {cure}")


class Suggesting(type):
    """A metaclass that suggests replacements for names that a class and its objects do not have."""

    if not TYPE_CHECKING:
        __getattr__ = missing_name


def explains_options(
    elsewhere: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a call report an unknown option, and suggest a similar one.

    ``elsewhere``: options of other libraries, and their replacements.
    Cost: a check of the names of keyword arguments.
    """
    others = elsewhere or {}

    def decorate(call: Callable[P, R]) -> Callable[P, R]:
        known = frozenset(inspect.signature(call).parameters)

        @wraps(call)
        def checked(*args: P.args, **options: P.kwargs) -> R:
            if not known.issuperset(options):
                raise unknown_option(
                    call.__qualname__, next(n for n in options if n not in known), known, others
                )
            return call(*args, **options)

        return checked

    return decorate


def unknown_option(
    call: str, name: str, known: frozenset[str], elsewhere: Mapping[str, str]
) -> ArgumentError:
    """Return the error for an unknown option of a call."""
    from stackmask.grammar.source.similar import advice

    cure = f"write {elsewhere[name]}" if name in elsewhere else advice(name, sorted(known - {"self", "cls"}))
    return ArgumentError(f"{call.removesuffix('.__init__')} has no option `{name:.60}`; {cure}")


def check_text_and_start(text: Any, start: Any) -> None:
    """Check the types of a grammar text and the name of its start rule. Raises: ArgumentError."""
    if not isinstance(text, str):
        raise ArgumentError(
            f"a grammar is str, not {type(text).__name__}: Grammar.from_file reads a file, and Grammar.of makes "
            "grammars of types, schemas, patterns and paths"
        )
    if start is not None and not isinstance(start, str):
        raise ArgumentError(f"`start` is the name of a rule, not {type(start).__name__}")


def operand(other: Any, kind: type[Kind]) -> Kind:
    """Return an operand of a grammar operator. Raises: ArgumentError if it is not a grammar."""
    if not isinstance(other, kind):
        raise ArgumentError(
            f"a Grammar is put together with another one, not {type(other).__name__}: Grammar.of makes one of types and "
            "schemas, Grammar.from_choices of strings"
        )
    return other


def whole_number(name: str, value: Any, low: int = 0) -> int:
    """Return the integer in an argument. Raises: ArgumentError if it is no integer, or below ``low``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"`{name}` is a whole number, not {value!r:.60} ({type(value).__name__})")
    number = int(value)
    if number < low:
        raise ArgumentError(f"`{name}` is {number}: the least is {low}")
    return number
