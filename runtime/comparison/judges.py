"""Judges of whole texts that share no code with the engine: two schema validators, ``re`` and Node, SQLite, Earley.

A judge decides only if all of its validators agree. Disagreements, and texts whose meaning JSON leaves open
(duplicate names, a number beyond a double), are undecided.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import select
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from typing import IO, Any, Final, Protocol

from stackmask.grammar import ir
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.comparison.json_reader import begins_json
from stackmask.runtime.comparison.subject import Subject

MAX_SAID = 160  # characters of what a validator says
FORMAT = "only a format forbids it"
FORMAT_ALLOWS = "only a format allows it"
NAME_TWICE = "a name comes twice"
# Why a text has no verdict although its meaning is known: JSON and its schemas leave it to each program whether it is taken.
OPTIONAL = (FORMAT, NAME_TWICE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a text. ``valid``: None if the judges disagree or cannot decide; ``category``: the
    constraint that an invalid text violates, or the reason for no verdict; ``says``: each judge's message.
    """

    valid: bool | None
    category: str = ""
    says: dict[str, str] = field(default_factory=dict)


class Unjudgeable(Exception):
    """No judge can read the language; the message gives the reason."""


class Judge(Protocol):
    """The interface of a judge."""

    def judge(self, text: bytes) -> Verdict:
        """Return the verdict on a text."""

    def may_begin(self, text: bytes) -> bool | None:
        """Return whether the text is a prefix of the language: False is a proof, None means unknown."""


class _Undecided(Exception):
    """JSON leaves the meaning of the text open."""


def read_value(text: bytes) -> Any:
    """Return the value of a JSON text.

    Raises: ValueError if it is invalid; _Undecided for a duplicate name, a number that is not a finite
    double, a lone surrogate, or nesting beyond Python's limit, all of which validators and parsers treat
    differently.
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
        raise ValueError(f"{word} is not JSON")

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
    """``jsonschema`` and, if installed, ``jsonschema-rs``, an independent implementation with another regex engine.

    Formats: a text that only a format forbids has no verdict, since the specification lets validators ignore
        formats. If both validators, with formats enabled, refuse it, the category is ``FORMAT``; otherwise
        they disagree about the format.
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
        """Return the verdict on a text."""
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
        """Return whether the text is a prefix of JSON; the schema is ignored."""
        return None if begins_json(text) else False


def _nothing(address: str) -> None:
    """Fetch no schema, since a judge does not use the network."""
    raise ValueError(f"not fetched: {address}")


def _keyword(error: Any) -> str:
    """Return the failing keyword; for a choice, the keyword inside it with which all branches fail, if there
    is one.
    """
    inner = {str(each.validator) for each in error.context or ()}
    return f"{error.validator} ({inner.pop()})" if len(inner) == 1 else str(error.validator)


class SqlJudge:
    """SQLite with the tables. The queries that it can prepare are in the language; none is executed."""

    def __init__(self, source: str) -> None:
        self.database = sqlite3.connect(":memory:")
        try:
            self.database.executescript(source)
        except sqlite3.Error as error:
            raise Unjudgeable(f"SQLite: {error}") from None

    def judge(self, text: bytes) -> Verdict:
        """Return whether SQLite prepares a query, which need not be read-only."""
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
        """Return None, since SQLite only judges whole queries."""
        return None


def make_judge(language: Subject) -> Judge:
    """Return the judge of a language. Raises: Unjudgeable."""
    match language.kind:
        case "schema":
            return SchemaJudge(language.source)
        case "sql":
            return SqlJudge(language.source)
        case "regex":
            return RegexJudge(language.source, language.flavor)
        case "grammar":
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


# --------------------------------------------------------------------------------------------------------
# The judge of grammars: Lark's Earley parser, character by character, over the rules as they are written.
#
# It shares the reader of the notation with the engine, and nothing of what comes after: no normal form, no automaton, no stack.
# --------------------------------------------------------------------------------------------------------

MAX_REPEAT = 200  # times that a bounded repetition is written out
MAX_TEXT = 4_000  # characters; Earley is slow


class GrammarJudge:
    """Whole texts and prefixes of an EBNF grammar. Raises: Unjudgeable for constructs that are not plainly
    context-free.
    """

    def __init__(self, source: str, start: str | None) -> None:
        import lark

        try:
            rules = Grammar.from_ebnf(source, start).rules
            written = _Writer(rules).text()
            self.parser = lark.Lark(written, parser="earley", lexer="dynamic", ambiguity="resolve")
        except (StackmaskError, lark.exceptions.LarkError) as error:
            raise Unjudgeable(str(error).splitlines()[0][:200]) from None
        self.errors = lark.exceptions

    def _parses(self, text: str) -> bool | None:
        """Return whether a text parses; None if it is only a prefix."""
        try:
            self.parser.parse(text)
        except self.errors.UnexpectedEOF:
            return None
        except self.errors.UnexpectedInput:
            return False
        return True

    def judge(self, text: bytes) -> Verdict:
        """Return whether a text is in the language."""
        try:
            characters = text.decode()
        except UnicodeDecodeError:
            return Verdict(False, "no UTF-8", {"utf-8": "cannot decode"})
        if len(characters) > MAX_TEXT:
            return Verdict(None, "too long for Earley")
        parses = self._parses(characters) is True
        return Verdict(
            parses, "" if parses else "no derivation", {"lark": "parses" if parses else "no derivation"}
        )

    def may_begin(self, text: bytes) -> bool | None:
        """Return whether a text is a prefix, up to the last whole character: all convertible rules are productive."""
        try:
            characters = codecs.getincrementaldecoder("utf-8")().decode(text)
        except UnicodeDecodeError:
            return False
        if len(characters) > MAX_TEXT:
            return None
        return None if self._parses(characters) is not False else False


class _Writer:
    """Writes rules as a Lark grammar in which each terminal is one character."""

    def __init__(self, rules: ir.RuleSet) -> None:
        self.rules = rules
        self.numbers = {name: f"r{number}" for number, name in enumerate(rules.rules)}
        self.terminals: dict[str, str] = {}

    def text(self) -> str:
        lines = [f"start: {self.numbers[self.rules.start]}"]
        for name, rule in self.rules.rules.items():
            lines.append(f"{self.numbers[name]}: {self._of(rule.body, 0)}")
        lines += [f"{name}: /{pattern}/" for pattern, name in self.terminals.items()]
        return "\n".join(lines) + "\n"

    def _of(self, node: Any, depth: int) -> str:
        if depth > 200:
            raise Unjudgeable("nested too deeply")
        match node:
            case ir.Literal():
                try:
                    return " ".join(self._terminal(((ord(c), ord(c)),)) for c in node.data.decode())
                except UnicodeDecodeError:
                    raise Unjudgeable("bytes that are no text") from None
            case ir.CharClass():
                return self._terminal(node.ranges)
            case ir.Sequence():
                return " ".join(self._of(item, depth + 1) for item in node.items)
            case ir.Choice() if node.items:
                return "(" + " | ".join(self._of(item, depth + 1) for item in node.items) + ")"
            case ir.Repeat():
                return self._repeat(node, depth)
            case ir.RuleRef(nonempty=False):
                return self.numbers[node.name]
        raise Unjudgeable(f"{type(node).__name__} has no plain context-free meaning")

    def _repeat(self, node: Any, depth: int) -> str:
        inner = f"({self._of(node.item, depth + 1)})"
        if node.max is None:
            if node.min > MAX_REPEAT:
                raise Unjudgeable("a long repetition")
            return " ".join([inner] * node.min) + f" {inner}*"
        if node.max > MAX_REPEAT:
            raise Unjudgeable("a long repetition")
        optional = ""
        for _ in range(node.max - node.min):
            optional = f"({inner} {optional})?"
        return " ".join([*[inner] * node.min, optional])

    def _terminal(self, ranges: tuple[tuple[int, int], ...]) -> str:
        if not ranges:
            raise Unjudgeable("an empty class")
        pattern = "[" + "".join(f"{_escape(low)}-{_escape(high)}" for low, high in ranges) + "]"
        return self.terminals.setdefault(pattern, f"T{len(self.terminals)}")


def _escape(point: int) -> str:
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


# -- The judges of patterns: JavaScript's own engine where Node is installed, and Python's ``re`` --------

PATIENCE_S: Final = 10.0  # less than the audit waits for the judge
SCRIPT = """
const lines = require("readline").createInterface({ input: process.stdin });
let pattern;
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  try {
    if (asked.pattern !== undefined) pattern = new RegExp("^(?:" + asked.pattern + ")$", "u");
    console.log(asked.pattern !== undefined ? "true" : String(pattern.test(asked.text)));
  } catch (error) { console.log(JSON.stringify(String(error))); }
});
"""


class RegexJudge:
    """Whole texts of a pattern. ECMA-262 is what Node says, and Python's flavour what ``re`` says; one of them alone decides
    only its own flavour, and both must agree without Node."""

    def __init__(self, pattern: str, flavor: str) -> None:
        self.flavor = flavor
        self.node: _Node | None = None
        self.python: re.Pattern[str] | None = None
        if flavor == "ecma" and (path := shutil.which("node")) is not None:
            self.node = _Node(path, pattern)
            return
        try:
            self.python = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unjudgeable(f"re: {error}") from None
        # the two mean the same by these, and by nothing else that is safe to tell by looking
        if flavor != "python" and not re.fullmatch(
            r"[\w \-\[\](){},|*+?.:;/@%#~!&=<>'\"]*", pattern, re.ASCII
        ):
            raise Unjudgeable(f"a pattern of the flavour {flavor} that `re` may read differently")

    def judge(self, text: bytes) -> Verdict:
        """Return whether the pattern matches the whole text."""
        try:
            characters = text.decode()
        except UnicodeDecodeError:
            return Verdict(False, "no UTF-8", {"utf-8": "cannot decode"})
        if self.node is not None:
            name, matches = "node", self.node.matches(characters)
        else:
            assert self.python is not None
            name, matches = "re", self.python.fullmatch(characters) is not None
        return Verdict(matches, "" if matches else "no match", {name: "matches" if matches else "no match"})

    def may_begin(self, text: bytes) -> bool | None:
        """Return None, since neither judges prefixes."""
        return None


class _Node:
    """A Node process that keeps one pattern; it ends with its input."""

    def __init__(self, path: str, pattern: str) -> None:
        self.process = subprocess.Popen(
            [path, "-e", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        answer = self._ask({"pattern": pattern})
        if answer is not True:
            self.close()
            raise Unjudgeable(f"node: {answer}")

    def matches(self, text: str) -> bool:
        answer = self._ask({"text": text})
        if not isinstance(answer, bool):
            raise Unjudgeable(f"node: {answer}")
        return answer

    def close(self) -> None:
        """End the process."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.wait()

    def __del__(self) -> None:
        if self.process.poll() is None:
            self.close()

    def _ask(self, question: dict[str, str]) -> object:
        write: IO[str] | None = self.process.stdin
        read: IO[str] | None = self.process.stdout
        assert write is not None and read is not None
        write.write(json.dumps(question) + "\n")
        write.flush()
        if not select.select([read], [], [], PATIENCE_S)[0]:
            self.process.kill()  # it backtracks: no other pattern would be answered either
            raise Unjudgeable(f"node: no answer after {PATIENCE_S:g} s")
        line = read.readline()
        if not line:
            raise Unjudgeable("node ended")
        found: object = json.loads(line)
        return found
