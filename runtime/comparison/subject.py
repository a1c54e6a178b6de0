"""The subject of a comparison: a regular expression, a grammar or a JSON schema, distinguished by its form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.files import bundled_path, read_text

Kind: TypeAlias = Literal["regex", "grammar", "schema", "sql"]
Flavor: TypeAlias = Literal["ecma", "python", "rust"]

LARK_ENDING: Final = ".lark"
GRAMMAR_ENDINGS: Final = (".ebnf", ".gbnf", LARK_ENDING)
SCHEMA_ENDING: Final = ".json"
MAX_TITLE: Final = 60


class ComparisonError(StackmaskError):
    """The comparison is impossible, since the argument, the tokenizer or the text is unsuitable."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A language. ``source``: the pattern, the text of the grammar or the schema, or the DDL of SQLite
    tables.

    ``origin``: its file, if any.

    ``start``: for grammars; ``profile``: for schemas; ``flavor``: for patterns, as in ``Grammar.from_regex``.
    """

    kind: Kind
    source: str
    origin: str | None = None
    start: str | None = None
    flavor: Flavor = "ecma"
    profile: Literal["exact", "model"] = "exact"

    @property
    def title(self) -> str:
        """A short name of the language, on one line."""
        shown = self.origin or " ".join(self.source.split())
        return shown if len(shown) <= MAX_TITLE else shown[: MAX_TITLE - 1] + "…"

    @property
    def is_lark(self) -> bool:
        """Whether the language is a grammar in the syntax of Lark."""
        return self.kind == "grammar" and (self.origin or "").lower().endswith(LARK_ENDING)

    def grammar(self, property_order: str = "schema") -> Grammar:
        """Create the grammar. ``property_order``: for schemas, as in ``Grammar.from_json_schema``.

        Raises: GrammarError, SchemaError and so on, as the constructors of grammars.
        """
        match self.kind:
            case "regex":
                return Grammar.from_regex(self.source, flavor=self.flavor)
            case "grammar":
                name = self.origin or "<grammar>"
                base = Path(self.origin).parent if self.origin else None
                if self.is_lark:
                    return Grammar.from_lark(self.source, self.start, name=name, base=base)
                return Grammar.from_ebnf(self.source, self.start, name=name, base=base)
            case "schema":
                return Grammar.from_json_schema(
                    self.schema(), profile=self.profile, property_order=property_order
                )
            case "sql":
                return Grammar.from_sql("sqlite", schema=self.source)

    def schema(self) -> Any:
        """Return the schema as a value."""
        return json.loads(self.source)


def read_subject(argument: str, kind: Kind | None = None, *, start: str | None = None) -> Subject:
    """Determine the kind of a command-line argument, and read it.

    Without ``kind``, the order is: a file, by its ending; a pattern between slashes; the name of a bundled
    grammar; a JSON object or a name with a file suffix; text with a rule (``::=``); otherwise a pattern.
    Raises: ComparisonError, GrammarFileError if the file is missing, or the kind cannot be determined.
    """
    if kind is None and len(argument) > 2 and argument[0] == argument[-1] == "/" and not _is_file(argument):
        kind, argument = "regex", argument[1:-1]  # as other commands have it
    kind = kind or _kind_of(argument)
    if kind == "regex":
        return Subject("regex", argument)
    if kind == "grammar":
        if "::=" in argument and not _is_file(argument):
            return Subject("grammar", argument, start=start)
        path = Path(argument)
        if not _is_file(argument) and (bundled := bundled_path(argument)) is not None:
            path = bundled
        return Subject("grammar", read_text(path), origin=str(path), start=start)
    is_inline = argument.lstrip()[:1] == "{" or argument.strip() in ("true", "false")
    text = argument if is_inline and not _is_file(argument) else read_text(Path(argument), "schema")
    _check_json(text, None if text is argument else argument)
    return Subject("schema", text, origin=None if text is argument else argument)


def _kind_of(argument: str) -> Kind:
    name = argument.lower()
    if not argument:
        raise ComparisonError("nothing to compare: give a pattern, a grammar or a JSON schema")
    if _is_file(argument):
        if name.endswith(GRAMMAR_ENDINGS):
            return "grammar"
        if name.endswith(SCHEMA_ENDING):
            return "schema"
        raise ComparisonError(
            f"{argument} ends neither in .ebnf, .gbnf, .lark nor .json: say what it is with --grammar or --schema"
        )
    if bundled_path(argument) is not None:
        return "grammar"
    if argument.lstrip()[:1] == "{":
        try:
            is_object = isinstance(json.loads(argument), dict)
        except ValueError:
            is_object = False
        if is_object:
            return "schema"
    # a pattern may well end in ".json", but then it is not a plain name
    if re.fullmatch(r"[\w./\\: -]+", argument) and name.endswith((*GRAMMAR_ENDINGS, SCHEMA_ENDING)):
        return "schema" if name.endswith(SCHEMA_ENDING) else "grammar"
    if re.search(r"^\s*[\w-]+\s*::=", argument, re.MULTILINE):
        return "grammar"
    return "regex"


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):  # too long for a path, or with a null character
        return False


def _check_json(text: str, origin: str | None) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise ComparisonError(f"{origin or 'the schema'} is not JSON: {error}") from None
    except RecursionError:
        raise ComparisonError(f"{origin or 'the schema'} is nested too deeply") from None
