"""The grammar of a server's request: from its kind, its text, and the options of server and request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.json_schema.document.closed import closed
from stackmask.grammar.notation.loading import is_lark
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.turns.frontend import turn_of_tag
from stackmask.pda.limits import Limits

KINDS: Final = ("json", "json_object", "regex", "grammar", "choice", "structural_tag")


class RequestError(StackmaskError):
    """The request cannot be enforced; the message gives the place and the reason."""


@dataclass(frozen=True)
class Options:
    """Options for reading the grammars of requests.

    profile: of JSON; "model" allows one space where JSON allows whitespace, "exact" all that JSON allows.
    whitespace: of JSON, as in ``Grammar.from_json_schema``; None is that of the profile.
    closed_objects: objects have only declared properties unless their schema says otherwise.
    whole: texts are completed within the token limit of their request, if the server reports it and a
    completion is found.
    limits: the limits of each request; None for the default ones.
    """

    profile: Literal["exact", "model"] = "model"
    whitespace: Any = None
    closed_objects: bool = False
    limits: Limits | None = None
    whole: bool = False

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Options:
        """Parse an operator's options. Keys are the fields of this class; ``limits`` is an object with names
        of limits.

        Raises: RequestError for an unknown key, or an invalid value.
        """
        names = [field.name for field in fields(cls)]
        unknown = [key for key in given if key not in names]
        if unknown:
            raise RequestError(f"unknown option {unknown[0]!r:.60}: there are {', '.join(names)}")
        values = dict(given)
        if values.get("profile", "model") not in ("exact", "model"):
            raise RequestError(f"profile is {values['profile']!r:.60}, not exact or model")
        for name in ("closed_objects", "whole"):
            if not isinstance(values.get(name, False), bool):
                raise RequestError(f"{name} is true or false")
        limits = values.get("limits")
        if isinstance(limits, Mapping):
            try:
                values["limits"] = Limits(**limits)
            except TypeError as error:
                raise RequestError(f"limits: {error}") from None
        elif limits is not None and not isinstance(limits, Limits):
            raise RequestError("limits is an object of names and numbers")
        return cls(**values)

    def for_request(
        self, *, compact: bool = False, pattern: str | None = None, closed_objects: bool = False
    ) -> Options:
        """Return the options of one request: no whitespace, a pattern of it, or no undeclared properties."""
        whitespace = (
            {"pattern": pattern} if pattern is not None else "compact" if compact else self.whitespace
        )
        return replace(self, whitespace=whitespace, closed_objects=self.closed_objects or closed_objects)


def grammar_of(kind: str, text: Any, options: Options) -> Grammar:
    """Return the grammar of a request.

    ``kind``: one of KINDS. ``text``: for "json" a schema, for "choice" a JSON list of strings, for
    "structural_tag" its JSON, for "regex" a pattern for the whole text, for "grammar" EBNF, GBNF, Lark with a
    rule ``start``, or the JSON of a structural tag, since servers check the formats of "structural_tag"
    themselves; "json_object" has none.
    Raises: StackmaskError with the place and the reason.
    Cost: that of reading the grammar; no masks are computed.
    """
    limits = options.limits
    if kind == "json":
        schema = parsed_json(text, "the schema", limits)
        if options.closed_objects:
            schema = closed(schema)
        return _json(schema, options)
    if kind == "json_object":
        return _json({"type": "object"}, options)
    if kind == "regex":
        return Grammar.from_regex(text, limits=limits)
    if kind == "grammar" and isinstance(text, str) and text.lstrip()[:1] == "{":
        kind = "structural_tag"
    if kind == "grammar":
        if isinstance(text, str) and is_lark(text):
            return Grammar.from_lark(text, limits=limits)
        return Grammar.from_ebnf(text, None, limits=limits)
    if kind == "choice":
        choices = parsed_json(text, "the list of choices", limits)
        if not isinstance(choices, list) or not choices:
            raise RequestError("choices are a list of one string or more")
        return Grammar.from_choices(choices, limits=limits)
    if kind == "structural_tag":
        return turn_of_tag(parsed_json(text, "the structural tag", limits), limits)
    raise RequestError(f"no requests of kind {kind!r:.60}: there are {', '.join(KINDS)}")


def check(kind: str, text: Any, options: Options) -> None:
    """Check a request in the process that receives it, which generates nothing.

    Raises: StackmaskError. Cost: reading the grammar and computing its normal form; no masks are computed.
    """
    grammar_of(kind, text, options).normalize(options.limits)


def parsed_json(text: Any, what: str, limits: Limits | None = None) -> Any:
    """Return the value of JSON text; any other value is returned unchanged. Raises: RequestError with the place."""
    if not isinstance(text, str):
        return text
    limit = (limits or Limits()).max_input_bytes
    if len(text) > limit:
        raise RequestError(f"{what} has {len(text)} characters: the limit is {limit}")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise RequestError(
            f"{what} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise RequestError(f"{what} is nested too deeply") from None
    except ValueError as error:  # a number with thousands of digits
        raise RequestError(f"{what} cannot be read: {error}") from None


def _json(schema: Any, options: Options) -> Grammar:
    return Grammar.from_json_schema(
        schema, profile=options.profile, whitespace=options.whitespace, limits=options.limits
    )
