"""Judges of whole texts that share no code with the engine: two validators of schemas, ``re`` and Node, SQLite, Earley.

A judge is sure only where all that it asks agree. What they disagree about, and where a text means something that JSON
leaves open (a name twice, a number beyond a double), is undecided.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from typing import Any, Protocol

from stackmask.runtime.audit.cases import Language
from stackmask.runtime.audit.json_reader import begins_json

MAX_SAID = 160  # characters of what a validator says
FORMAT = "only a format forbids it"
FORMAT_ALLOWS = "only a format allows it"
NAME_TWICE = "a name comes twice"
# Why a text has no verdict although its meaning is known: JSON and its schemas leave it to each program whether it is taken.
OPTIONAL = (FORMAT, NAME_TWICE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a text. ``valid``: None where the judges disagree or cannot tell; ``category``: what an invalid
    text breaks, or why there is no verdict; ``says``: each judge's words."""

    valid: bool | None
    category: str = ""
    says: dict[str, str] = field(default_factory=dict)


class Unjudgeable(Exception):
    """No judge can read the language; the message says why."""


class Judge(Protocol):
    """What is asked of a judge."""

    def judge(self, text: bytes) -> Verdict:
        """Say whether a text is of the language."""

    def may_begin(self, text: bytes) -> bool | None:
        """Say whether a text of the language begins so: False is a proof, None where that is not known."""


class _Undecided(Exception):
    """A text that JSON gives no one meaning."""


def read_value(text: bytes) -> Any:
    """Return the value of a JSON text.

    Raises: ValueError if it is none; _Undecided for a name that comes twice, a number that is no finite double, a lone
    surrogate, which validators and parsers take in different ways, and nesting beyond Python's.
    """

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _Undecided(NAME_TWICE)
        return found

    def number(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise _Undecided("a number beyond a double")
        return value

    def integer(digits: str) -> int:
        if len(digits) > 300:
            raise _Undecided("a number beyond a double")
        return int(digits)

    def none(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    try:
        decoded = text.decode()
        value = json.loads(
            decoded, object_pairs_hook=whole, parse_float=number, parse_int=integer, parse_constant=none
        )
    except RecursionError:
        raise _Undecided("nested too deeply for a parser") from None
    if "\\u" in decoded:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _Undecided("a lone surrogate") from None
    return value


class SchemaJudge:
    """``jsonschema`` and, where it is installed, ``jsonschema-rs``, which is another implementation with other regexes.

    Formats: a text that only a format forbids has no verdict, since the specification lets validators ignore formats. Where
    both validators, told to look at formats, refuse it, the category is ``FORMAT``; else they disagree about the format.
    """

    def __init__(self, source: str) -> None:
        import jsonschema
        import referencing

        schema = json.loads(source)
        try:
            kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
            kind.check_schema(schema)
            registry: Any = referencing.Registry()
            self.plain = kind(schema, registry=registry)
            self.strict = kind(schema, registry=registry, format_checker=kind.FORMAT_CHECKER)
            self.fast: tuple[Any, Any] | None = None
            if find_spec("jsonschema_rs") is not None:
                import jsonschema_rs

                self.fast = (
                    jsonschema_rs.validator_for(schema, validate_formats=False, retriever=_nothing),
                    jsonschema_rs.validator_for(schema, validate_formats=True, retriever=_nothing),
                )
        except Exception as error:  # noqa: BLE001  # whatever a validator has against a schema
            raise Unjudgeable(f"{type(error).__name__}: {_short(error)}") from None

    def judge(self, text: bytes) -> Verdict:
        """Say whether a text is of the language."""
        try:
            value = read_value(text)
        except _Undecided as error:
            return Verdict(None, str(error))
        except ValueError as error:  # UnicodeDecodeError too
            return Verdict(False, "no JSON", {"json": _short(error)})
        try:
            return self._of(value)
        except Exception as error:  # noqa: BLE001  # a validator that fails has no verdict: bad patterns, references
            return Verdict(None, "a validator fails", {"error": f"{type(error).__name__}: {_short(error)}"})

    def _of(self, value: Any) -> Verdict:
        first = next(self.plain.iter_errors(value), None)
        says = {"jsonschema": "valid" if first is None else _short(first.message)}
        verdicts = {first is None}
        if self.fast is not None:
            other = next(self.fast[0].iter_errors(value), None)
            says["jsonschema-rs"] = "valid" if other is None else _short(other.message)
            verdicts.add(other is None)
        if len(verdicts) == 2:  # mutant: one-validator
            return Verdict(None, "the validators disagree", says)
        if first is not None:
            if self.strict.is_valid(value) and (self.fast is None or self.fast[1].is_valid(value)):
                return Verdict(None, FORMAT_ALLOWS, says)  # as with `oneOf`, or under `not`
            return Verdict(False, _keyword(first), says)
        formats = {self.strict.is_valid(value)}
        if self.fast is not None:
            formats.add(self.fast[1].is_valid(value))
        if formats == {True}:
            return Verdict(True, "", says)
        return Verdict(None, FORMAT if formats == {False} else "the validators disagree about a format", says)

    def may_begin(self, text: bytes) -> bool | None:
        """Say whether any JSON begins so; what the schema says of it is not looked at."""
        return None if begins_json(text) else False


def _nothing(address: str) -> None:
    """Fetch no schema: a judge does not use the network."""
    raise ValueError(f"not fetched: {address}")


def _keyword(error: Any) -> str:
    """Return the keyword that fails; of a choice, the one inside of it that all its branches fail by, if it is one."""
    inner = {str(each.validator) for each in error.context or ()}
    return f"{error.validator} ({inner.pop()})" if len(inner) == 1 else str(error.validator)


class SqlJudge:
    """SQLite, with the tables: what it prepares is of the language. Nothing runs."""

    def __init__(self, source: str) -> None:
        self.database = sqlite3.connect(":memory:")
        try:
            self.database.executescript(source)
        except sqlite3.Error as error:
            raise Unjudgeable(f"SQLite: {error}") from None

    def judge(self, text: bytes) -> Verdict:
        """Say whether SQLite takes a query; that it only reads is not asked."""
        try:
            query = text.decode()
        except UnicodeDecodeError as error:
            return Verdict(False, "no UTF-8", {"utf-8": _short(error)})
        try:
            self.database.execute("EXPLAIN " + query).fetchone()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            said = _short(error)
            return Verdict(False, said.partition(":")[0], {"sqlite": said})
        return Verdict(True, "", {"sqlite": "prepares"})

    def may_begin(self, text: bytes) -> bool | None:
        """It knows whole queries only."""
        return None


def make_judge(language: Language) -> Judge:
    """Return the judge of a language. Raises: Unjudgeable."""
    match language.kind:
        case "schema":
            return SchemaJudge(language.source)
        case "sql":
            return SqlJudge(language.source)
        case "regex":
            from stackmask.runtime.audit.judge_regex import RegexJudge

            return RegexJudge(language.source, language.flavor)
        case "grammar":
            from stackmask.runtime.audit.judge_grammar import GrammarJudge

            return GrammarJudge(language.source, language.start)


def judge_versions() -> dict[str, str]:
    """Return the judges that are installed, with their versions."""
    found = {"sqlite": sqlite3.sqlite_version}
    if (node := shutil.which("node")) is not None:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=60)
        found["node"] = done.stdout.strip().removeprefix("v")
    for name, module in (("jsonschema", "jsonschema"), ("jsonschema-rs", "jsonschema_rs"), ("lark", "lark")):
        if find_spec(module) is not None:
            found[name] = metadata.version(name)
    return found


def _short(error: object) -> str:
    said = " ".join(str(error).split())
    return said if len(said) <= MAX_SAID else said[: MAX_SAID - 1] + "…"
