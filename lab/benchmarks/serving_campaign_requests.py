"""What a campaign asks servers for: 60 honest requests with a check of the answer, and hostile ones.

Answers are judged by ``jsonschema`` and ``re``, never by this engine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from hostile_requests import all_requests
from jsonschema import Draft202012Validator, FormatChecker


class Wrong(Exception):
    """An answer that is not what was asked for."""


class Asked(NamedTuple):
    """A request: its name, the fields it adds to a chat, and what raises Wrong for a wrong message."""

    name: str
    fields: dict[str, Any]
    check: Callable[[dict[str, Any]], None]


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required or properties),
        "additionalProperties": False,
    }


SCHEMAS: Final[dict[str, Any]] = {
    "person": _object(name={"type": "string", "maxLength": 12}, age={"type": "integer", "minimum": 0}),
    "range": _object(n={"type": "integer", "minimum": -7, "maximum": 1200}),
    "steps": _object(n={"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 500}),
    "share": _object(x={"type": "number", "minimum": 0, "maximum": 1}),
    "enum": _object(color={"enum": ["red", "green", "blue", None, 3]}),
    "const": _object(version={"const": {"major": 1, "minor": [0, 2]}}),
    "pattern": _object(code={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}),
    "length": _object(text={"type": "string", "minLength": 3, "maxLength": 6}),
    "date": _object(day={"type": "string", "format": "date"}),
    "uuid": _object(id={"type": "string", "format": "uuid"}),
    "address": _object(ip={"type": "string", "format": "ipv4"}),
    "numbers": {
        "type": "array",
        "items": {"type": "integer", "maximum": 99999},
        "minItems": 1,
        "maxItems": 4,
    },
    "pair": {
        "type": "array",
        "prefixItems": [{"type": "boolean"}, {"type": "null"}],
        "items": False,
        "minItems": 2,
    },
    "unique": {"type": "array", "items": {"enum": [1, 2, 3, 4]}, "uniqueItems": True, "maxItems": 3},
    "nested": _object(a=_object(b=_object(c={"type": "boolean"}))),
    "reference": {
        "$defs": {"node": _object(("leaf",), leaf={"type": "boolean"}, next={"$ref": "#/$defs/node"})},
        "$ref": "#/$defs/node",
    },
    "either": {"anyOf": [_object(cat={"const": 1}), _object(dog={"type": "string", "maxLength": 4})]},
    "one": {"oneOf": [{"type": "integer", "minimum": 10, "maximum": 99}, {"enum": ["a", "b"]}]},
    "both": {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 40, "multipleOf": 2}]},
    "keys": {
        "type": "object",
        "patternProperties": {"^x[0-9]$": {"type": "boolean"}},
        "additionalProperties": False,
        "maxProperties": 3,
    },
    "optional": _object(("a",), a={"type": "boolean"}, b={"type": ["null", "integer"], "maximum": 9}),
    "depends": {
        **_object(("kind",), kind={"enum": ["x", "y"]}, size={"type": "integer", "maximum": 9}),
        "dependentRequired": {"size": ["kind"]},
    },
    "choice": {
        **_object(("kind",), kind={"enum": ["n", "s"]}, value={"type": ["boolean", "null"]}),
        "if": {"properties": {"kind": {"const": "n"}}},
        "then": {"properties": {"value": {"type": "null"}}},
    },
    "object": {"type": "object", "maxProperties": 2},
}
REGEXES: Final = (
    r"[a-z]{3}-[0-9]{4}",
    r"((25[0-5]|(2[0-4]|1\d|[1-9]|)\d)\.){3}(25[0-5]|(2[0-4]|1\d|[1-9]|)\d)",
    r"(yes|no|maybe)( (yes|no|maybe)){0,3}",
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    r"#[0-9a-f]{6}",
    r"([A-Z][a-z]{0,5} ){1,3}[A-Z]\.",
    r"(\([0-9]{3}\) )?[0-9]{3}-[0-9]{4}",
    r"[\[{]\d{1,3}(, \d{1,3}){0,4}[}\]]",
    r"(?:a|b(?!c)|cc){2,8}d",
    # not U+FFFD: decoders of servers take it for the start of a character, and wait for more
    r"[^\x00-\x7F\uFFFD]{1,3}|é?ü{1,2}",
    r"v\d{1,2}\.\d{1,2}(\.\d{1,2})?(-(alpha|beta)\d)?",
    r"\"[^\"\\]{0,9}\"(:\d{1,4})?",
)
# grammars, and a pattern of what they say
GRAMMARS: Final = (
    ('root ::= "a" root "b" | "ab"', None),
    ('root ::= item ("," item){0,5}\nitem ::= [0-9]{1,3}', r"\d{1,3}(,\d{1,3}){0,5}"),
    (
        'root ::= "SELECT " col " FROM " table\ncol ::= "a" | "b"\ntable ::= "t" [0-9]',
        r"SELECT [ab] FROM t[0-9]",
    ),
    ('root ::= sign? [1-9] [0-9]{0,7}\nsign ::= "+" | "-"', r"[+-]?[1-9][0-9]{0,7}"),
    ('start: word (" " word)~0..4\nword: "in" | "out" | /[0-9]{2}/', r"(in|out|\d{2})( (in|out|\d{2})){0,4}"),
    # no <think>: parsers of servers take it out of every answer
    ('start: "<" NAME ">" /[0-9]{1,4}/ "</>"\nNAME: /[a-m]{1,8}/', r"<[a-m]{1,8}>[0-9]{1,4}</>"),
)
CHOICES: Final = (["Python", "Java", "C++", "C#"], ["ja", "nein", "vielleicht", "日本"])


def checked_json(schema: Any, text: str) -> None:
    """Raises: Wrong if a text is not JSON of the schema."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Wrong(f"no JSON: {error}") from None
    validator = Draft202012Validator(schema, format_checker=FormatChecker(["date", "uuid", "ipv4"]))
    found = next(validator.iter_errors(value), None)
    if found is not None:
        raise Wrong(f"not of the schema: {found.message[:100]}")


def _json_check(schema: Any) -> Callable[[dict[str, Any]], None]:
    return lambda message: checked_json(schema, message["content"])


def _pattern_check(pattern: str) -> Callable[[dict[str, Any]], None]:
    def check(message: dict[str, Any]) -> None:
        if re.fullmatch(pattern, message["content"], re.ASCII | re.DOTALL) is None:
            raise Wrong(f"no match of {pattern[:40]}")

    return check


def _balanced(message: dict[str, Any]) -> None:
    text = message["content"]
    if not text or text != "a" * (len(text) // 2) + "b" * (len(text) // 2):
        raise Wrong("not balanced")


def structural_tags() -> Iterator[Asked]:
    """Ask for texts with tags, of both formats."""
    answer = SCHEMAS["optional"]
    tag = {
        "type": "tag",
        "begin": "<f>",
        "content": {"type": "json_schema", "json_schema": answer},
        "end": "</f>",
    }
    other = {
        "type": "tag",
        "begin": "<g>",
        "content": {"type": "regex", "pattern": "[0-9]{2}"},
        "end": "</g>",
    }
    one = r"<f>(?P<json>.*?)</f>"

    def parts(pattern: str) -> Callable[[dict[str, Any]], None]:
        def check(message: dict[str, Any]) -> None:
            if re.fullmatch(pattern, message["content"], re.DOTALL) is None:
                raise Wrong(f"no match of {pattern[:40]}")
            for found in re.finditer(one, message["content"], re.DOTALL):
                checked_json(answer, found["json"])

        return check

    free = r"(?:(?!<f).|<f>(?:(?!</f>).)*</f>)*"
    formats = {
        "triggered": ({"type": "triggered_tags", "triggers": ["<f"], "tags": [tag]}, free),
        "at-least-one": (
            {"type": "triggered_tags", "triggers": ["<f"], "tags": [tag], "at_least_one": True},
            r"<f>.*",
        ),
        "sequence": (
            {"type": "sequence", "elements": [{"type": "const_string", "value": "so: "}, tag]},
            rf"so: {one}",
        ),
        "or": ({"type": "or", "elements": [tag, other]}, rf"{one}|<g>[0-9]{{2}}</g>"),
        "separated": (
            {"type": "tags_with_separator", "separator": ", ", "tags": [other], "at_least_one": True},
            r"<g>\d{2}</g>(, <g>\d{2}</g>)*",
        ),
        "schema": ({"type": "json_schema", "json_schema": answer}, None),
        "regex": ({"type": "regex", "pattern": "[xyz]{2,5}"}, "[xyz]{2,5}"),
    }
    for name, (form, pattern) in formats.items():
        text = json.dumps({"type": "structural_tag", "format": form})
        check = _json_check(answer) if pattern is None else parts(pattern)
        yield Asked(f"tag {name}", {"structured_outputs": {"structural_tag": text}}, check)
    legacy = {"structures": [{"begin": "<f>", "schema": answer, "end": "</f>"}], "triggers": ["<f"]}
    yield Asked("tag legacy", {"structured_outputs": {"structural_tag": json.dumps(legacy)}}, parts(free))


def tools() -> Iterator[Asked]:
    """Ask for calls of tools, by each way to choose them."""
    declared = {"weather": SCHEMAS["person"], "search": SCHEMAS["range"], "stop": SCHEMAS["optional"]}
    listed = [
        {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}
        for name, schema in declared.items()
    ]

    def check(needed: bool, names: tuple[str, ...]) -> Callable[[dict[str, Any]], None]:
        def judge(message: dict[str, Any]) -> None:
            calls = message.get("tool_calls") or []
            if needed and not calls:
                raise Wrong(f"no call: {str(message.get('content'))[:60]!r}")
            for call in calls:
                name = call["function"]["name"]
                if name not in names:
                    raise Wrong(f"a call of {name[:40]!r}")
                checked_json(declared[name], call["function"]["arguments"])

        return judge

    every = tuple(declared)
    for count in (1, 2, 3):
        some = {"tools": listed[:count]}
        yield Asked(
            f"tools required {count}", {**some, "tool_choice": "required"}, check(True, every[:count])
        )
        yield Asked(f"tools auto {count}", {**some, "tool_choice": "auto"}, check(False, every[:count]))
    named = {"type": "function", "function": {"name": "search"}}
    yield Asked("tools named", {"tools": listed, "tool_choice": named}, check(True, ("search",)))
    single = {"tools": listed, "tool_choice": "required", "parallel_tool_calls": False}
    yield Asked("tools one call", single, check(True, every))


def honest() -> list[Asked]:
    """Return the 60 honest requests."""
    asked = []
    for name, schema in SCHEMAS.items():
        form = {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}
        asked.append(Asked(f"json {name}", {"response_format": form}, _json_check(schema)))
    for number, pattern in enumerate(REGEXES):
        fields = {"structured_outputs": {"regex": pattern}}
        # \d is ASCII in ECMA-262; what is not ASCII in a class is meant
        asked.append(Asked(f"regex {number}", fields, _pattern_check(pattern)))
    for number, (text, meant) in enumerate(GRAMMARS):
        check = _balanced if meant is None else _pattern_check(meant)
        asked.append(Asked(f"grammar {number}", {"structured_outputs": {"grammar": text}}, check))
    for number, choices in enumerate(CHOICES):
        meant = "|".join(map(re.escape, choices))
        asked.append(
            Asked(f"choice {number}", {"structured_outputs": {"choice": choices}}, _pattern_check(meant))
        )
    asked += structural_tags()
    asked += tools()
    return asked


MALFORMED: Final = (
    {"structured_outputs": {"regex": "[a-"}},
    {"structured_outputs": {"regex": "(a"}},
    {"structured_outputs": {"grammar": 'root ::= "a" rot'}},
    {"structured_outputs": {"grammar": "not a grammar"}},
    {"structured_outputs": {"choice": []}},
    {"structured_outputs": {"structural_tag": "{}"}},
    {"structured_outputs": {"json": '{"type": "nope"}'}},
    {"structured_outputs": {"json": "{"}},
    {"structured_outputs": {"json": '{"$ref": "#/nowhere"}'}},
    {"structured_outputs": {"json": json.dumps({"not": {}})}},
    {"structured_outputs": {"json": json.dumps({"allOf": [{"type": "null"}, {"type": "string"}]})}},
    {"structured_outputs": {"regex": "a", "choice": ["a"]}},
)


def hostile() -> list[tuple[str, dict[str, Any]]]:
    """Return hostile requests: malformed ones, and those of ``hostile_requests`` that a server can be sent."""
    found = [(f"malformed {number}", fields) for number, fields in enumerate(MALFORMED)]
    for request in all_requests():
        source = request.source
        if request.kind == "json_schema":
            fields: dict[str, Any] = {"json": source}
        elif request.kind == "regex":
            fields = {"regex": source}
        elif request.kind in ("ebnf", "lark"):
            fields = {"grammar": source}
        elif request.kind == "structural_tag":
            fields = {"structural_tag": source}
        else:
            continue
        found.append((request.name, {"structured_outputs": fields}))
    return found


def for_sglang(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request as SGLang names them; choices are a pattern there.

    A tool that is named stands alone: SGLang asks its backends for a call of any tool, and does not look what comes.
    """
    made = {name: value for name, value in fields.items() if name != "structured_outputs"}
    if isinstance(choice := made.get("tool_choice"), dict):
        named = choice["function"]["name"]
        made["tools"] = [tool for tool in made["tools"] if tool["function"]["name"] == named]
    for name, value in fields.get("structured_outputs", {}).items():
        if name in ("regex", "grammar"):
            made["ebnf" if name == "grammar" else name] = value
        elif name == "choice":
            made["regex"] = "|".join(map(re.escape, value))
        else:
            try:
                read = json.loads(value)
            except (ValueError, RecursionError):
                read = {"type": value[:100]}  # its protocol takes no text; this is malformed in another way
            if name == "json":
                made["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "asked", "schema": read, "strict": True},
                }
            elif isinstance(read, dict):
                made["response_format"] = {**read, "type": "structural_tag"}
    return made
