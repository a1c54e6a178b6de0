"""Find the grammar for a command-line argument: a file, a bundled grammar, a schema, a pattern or a type."""

from __future__ import annotations

import builtins
import importlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.notation.loading import LARK, foreign_dialect
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.files import bundled_names, bundled_path, read_text
from stackmask.grammar.source.similar import similar

_TYPE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PATTERN: Final = re.compile(r"/(.+)/", re.DOTALL)
_FILES: Final = (".ebnf", ".gbnf", ".bnf", ".lark", ".g4", ".json", ".txt")
_LOOKS_REGULAR: Final = re.compile(
    r"[\[(][^/]*[\])]|[\w.)\]][*+](?!\w)|\{\d+(?:,\d*)?\}|\\[dDwWsSbB]|\^|\$$|\|"
)
_TYPE_FORM: Final = re.compile(
    r"(?:typing\.)?(?:Literal|Union|Optional|[Ll]ist|[Dd]ict|[Tt]uple|[Ss]et)\[.*\]"
)
_DOTTED: Final = re.compile(r"(\w+(?:\.\w+)*)\.([A-Z]\w*)")
MOST_NAMES: Final = 8  # that a message lists


class NamedGrammarError(StackmaskError):
    """The grammar argument on the command line does not name a grammar."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a grammar argument. ``start`` applies to grammars, ``profile`` to schemas and types."""

    start: str | None = None
    is_regex: bool = False
    profile: Literal["model", "exact"] = "model"


def load_grammar(name: str, start: str | None = None, reading: Reading | None = None) -> Grammar:
    """Return the grammar for an argument.

    The order is: a pattern if ``is_regex``; a file, a JSON Schema if it ends in ``.json``; the bundled
    grammar of that name; ``/pattern/``; ``module:Class``; the text of a JSON Schema; the text of a grammar,
    if it contains a ``::=``.
    Raises: NamedGrammarError, GrammarFileError, GrammarError, SchemaError, as the grammars do.
    """
    reading = reading or Reading(start)
    pattern = name if reading.is_regex else _pattern_in(name)
    if pattern is not None:
        _without_start(reading, "a regular expression")
        return Grammar.from_regex(pattern)
    if _is_file(name) or bundled_path(name) is None:
        if name.lower().endswith(".json"):
            _without_start(reading, "a JSON Schema")
            return _from_schema_text(read_text(Path(name)), reading, name)
        if is_type_name(name):
            _without_start(reading, "a type")
            return Grammar.of(import_type(name), profile=reading.profile)
        if not _is_file(name) and name.lstrip()[:1] == "{":
            _without_start(reading, "a JSON Schema")
            return _from_schema_text(name, reading, "<schema>")
        if not _is_file(name) and "::=" in name:
            return Grammar.from_ebnf(name, reading.start)
        if not _is_file(name):
            _refuse_other(name)
        return Grammar.from_file(name, reading.start)
    return Grammar.bundled(name, reading.start)


def is_type_name(name: str) -> bool:
    """Return whether the argument is ``module:Class``, and not a file."""
    return _TYPE.fullmatch(name) is not None and not _is_file(name)


def _refuse_other(name: str) -> None:
    """Report an argument that is not a file, but looks like a pattern, a list, a type, or a bundled grammar's
    name.

    Raises: NamedGrammarError for such an argument.
    """
    if name.lower().endswith(_FILES):
        return
    what = f"no such grammar file: {name:.80}"
    foreign = foreign_dialect(name)
    if hasattr(builtins, name) or _TYPE_FORM.fullmatch(name):
        cure = (
            f"builtins:{name}"
            if hasattr(builtins, name)
            else "give it a name in a module, and write module:Name"
        )
        raise NamedGrammarError(f"{what}; it looks like a type: {cure}")
    if foreign is not None and foreign.what == "a list in JSON":
        raise NamedGrammarError(f"{what}; choices are written as '{{\"enum\": {name}}}'")
    if (foreign is not None and foreign.what == "a regular expression") or _LOOKS_REGULAR.search(name):
        shown = f"'/{name}/'" if "'" not in name else f'"/{name}/"'
        raise NamedGrammarError(f"{what}; it looks like a regular expression: write {shown}, or add --regex")
    if foreign is not None and foreign.what == LARK:
        raise NamedGrammarError(f"{what}; it looks like {LARK}: save it as a file whose name ends in .lark")
    if foreign is not None:
        raise NamedGrammarError(f"{what}; it looks like {foreign.what}: {foreign.cure}")
    dotted = _DOTTED.fullmatch(name)
    if dotted is not None:
        raise NamedGrammarError(f"{what}; a type is named with a colon: {dotted[1]}:{dotted[2]}")
    close = similar(name, bundled_names())
    if close is not None:
        raise NamedGrammarError(f"{what}; did you mean the bundled grammar `{close}`?")


def _is_file(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _pattern_in(name: str) -> str | None:
    found = _PATTERN.fullmatch(name)
    return None if found is None or _is_file(name) else found[1]


def _without_start(reading: Reading, what: str) -> None:
    if reading.start is not None:
        raise NamedGrammarError(f"--start names a rule of a grammar, and this is {what}: leave it out")


def _from_schema_text(text: str, reading: Reading, name: str) -> Grammar:
    try:
        schema = json.loads(text)
    except RecursionError:
        raise NamedGrammarError(f"{name} is nested too deeply") from None
    except ValueError as error:
        cure = "; JSON has double quotes" if "'" in text and '"' not in text else ""
        raise NamedGrammarError(f"{name} is not JSON: {error}{cure}") from None
    if isinstance(schema, dict):  # a structural tag, too
        return Grammar.of(schema, profile=reading.profile)
    return Grammar.from_json_schema(schema, profile=reading.profile)


def import_type(name: str) -> Any:
    """Return the object that ``module:Class`` names; modules in the working folder are found, as by ``python -m``."""
    module_name, _, path = name.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name + ".").startswith(error.name + "."):
            raise NamedGrammarError(
                f"no module {error.name} for {name}: modules are looked for in this folder and among those installed"
            ) from None
        raise NamedGrammarError(f"{module_name} cannot be imported: {error}") from None
    except Exception as error:  # noqa: BLE001  # whatever the module does
        raise NamedGrammarError(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    for part in path.split("."):
        if not hasattr(found, part):
            classes = (
                [key for key, value in vars(found).items() if isinstance(value, type)]
                if hasattr(found, "__dict__")
                else []
            )
            shown = f"; its classes: {', '.join(classes[:MOST_NAMES])}" if classes else ""
            raise NamedGrammarError(f"{module_name} has no {part}{shown}")
        found = getattr(found, part)
    return found
