"""The entrance: a structural tag to rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackmask.grammar.compose.markers import Markers
from stackmask.grammar.compose.merge import Merged, Merger, named
from stackmask.grammar.directives.frontend import ebnf_rules
from stackmask.grammar.ir import Rule, RuleSet, SourceText
from stackmask.grammar.ir.build import choice, sequence
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.document.loading import load_schema
from stackmask.grammar.json_schema.document.schema_size import written_bytes
from stackmask.grammar.json_schema.frontend import argument_rules as rules_and_form
from stackmask.grammar.json_schema.frontend import schema_rules
from stackmask.grammar.normalize import normalize
from stackmask.grammar.regex.compile import SOURCE_NAME, regex_expr
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.work import check_size, check_text, enter, input_limit
from stackmask.grammar.structural.errors import StructuralTagError
from stackmask.grammar.structural.fields import FORMATS, PROGRAMMED, Fields, as_plain, kind_of
from stackmask.grammar.structural.lowering import FormatLowering, Part

ANY_BLANKS = {"pattern": r"[ \n\t\r]*"}


def structural_rules(tag: Any, special_names: Iterable[str] = ()) -> Merged:
    """Return the rules of a structural tag; ``special_names``: of the vocabulary, where it is known.

    Raises: StructuralTagError; GrammarError and SchemaError for what a format holds.
    """
    enter("reading the structural tag")
    format_value, place = _format_of(_loaded(tag))
    merger = Merger()
    lowering = FormatLowering(merger, Markers(special_names), _PARTS)
    body = lowering.format(Fields(format_value, place))
    return merger.finish(body, lowering.needs_passes)


def format_rules(form: Mapping[str, Any], special_names: Iterable[str]) -> Merged:
    """Return the rules of a format that a program made, with parts that are rules already.

    Raises: as ``structural_rules``.
    """
    enter("putting a turn together")
    merger = Merger()
    lowering = FormatLowering(merger, Markers(special_names), {**_PARTS, "rules": _programmed})
    fields = Fields(form, "", formats={**FORMATS, **PROGRAMMED})
    body = lowering.format(fields)
    return merger.finish(body, lowering.needs_passes)


def _programmed(fields: Fields, markers: Markers) -> RuleSet:
    rules: RuleSet = fields.value("rules")(markers)
    return rules


def tag_rules(begin: str, content: RuleSet, ends: Sequence[str], special_names: Iterable[str]) -> Merged:
    """Return the rules of a text of the content between markers.

    ``special_names``: of the vocabulary, where it is known: markers may be special tokens.
    """
    markers = Markers(special_names)
    merger = Merger()
    inner = merger.add(content, "content")
    return merger.finish(sequence((markers.expr(begin), inner, choice([markers.expr(end) for end in ends]))))


def _loaded(tag: Any) -> Any:
    if isinstance(tag, str | bytes):
        check_text("the structural tag", tag)
        try:
            return json.loads(tag)
        except (ValueError, RecursionError) as error:
            raise StructuralTagError("", f"not JSON: {error}") from None
    tag = as_plain(tag)
    check_size("the structural tag", written_bytes(tag, input_limit()))
    return tag


def _format_of(tag: Any) -> tuple[Any, str]:
    """Return the format of a request, and its place; the older shape becomes triggered tags."""
    if not isinstance(tag, Mapping):
        raise StructuralTagError("", f"an object is needed, not {kind_of(tag)}")
    if "structures" in tag:
        tags = []
        if not isinstance(tag["structures"], list | tuple):
            raise StructuralTagError("/structures", f"a list is needed, not {kind_of(tag['structures'])}")
        for index, item in enumerate(tag["structures"]):
            if not isinstance(item, Mapping) or not {"begin", "end"} <= item.keys():
                raise StructuralTagError(f"/structures/{index}", "`begin`, `schema` and `end` are needed")
            try:
                schema = load_schema(item.get("schema", True))
            except SchemaError as error:
                raise StructuralTagError(f"/structures/{index}/schema", str(error)) from None
            content = {"type": "json_schema", "json_schema": schema}
            tags.append({"begin": item["begin"], "content": content, "end": item["end"]})
        made = {"type": "triggered_tags", "triggers": tag.get("triggers", []), "tags": tags}
        if "at_least_one" in tag:  # SGLang asks for it where a tool is required
            made["at_least_one"] = tag["at_least_one"]
        return made, ""
    if tag.get("type", "structural_tag") != "structural_tag":
        raise StructuralTagError("/type", f"`structural_tag` is needed, not {tag['type']!r:.60}")
    if "format" not in tag:
        raise StructuralTagError("", "no `format` (or `structures` and `triggers`)")
    return tag["format"], "/format"


def argument_rules(schema: Any, **options: Any) -> RuleSet:
    """Return the rules of arguments between markers, in normal form. Raises: SchemaError and its subclasses."""
    rules, is_ready = rules_and_form(schema, **options)
    return rules if is_ready else normalize(rules)


def _schema(fields: Fields, markers: Markers) -> RuleSet:
    schema = fields.value("json_schema")
    if fields.type == "qwen_xml_parameter":
        return _of_part(
            fields, "json_schema", lambda: argument_rules(schema, style="qwen_xml", spell=markers.expr)
        )
    style = fields.text("style")
    blanks = fields.count("max_whitespace_cnt")
    whitespace: Any = ANY_BLANKS if blanks is None else {"max": blanks}
    order = "any" if fields.flag("any_order") else "schema"
    options: dict[str, Any] = {"whitespace": whitespace, "property_order": order}
    excludes = fields.texts("excludes")
    if excludes and style == "json":
        problem = (
            "strings cannot be left out of JSON; leave them out of the text around it, or use a `pattern`"
        )
        raise fields.wrong("excludes", problem)
    if style == "json":
        return _of_part(fields, "json_schema", lambda: schema_rules(schema, spelling="plain", **options)[0])
    return _of_part(
        fields,
        "json_schema",
        lambda: argument_rules(schema, style=style, spell=markers.expr, excludes=excludes, **options),
    )


def _grammar(fields: Fields, markers: Markers) -> RuleSet:
    source = fields.text("grammar")

    def read() -> RuleSet:
        return normalize(ebnf_rules(source, markers.names, name=f"<{fields.place}>"))

    return _of_part(fields, "grammar", read)


def _regex(fields: Fields, _: Markers) -> RuleSet:
    pattern = fields.text("pattern")
    if fields.texts("excludes"):
        raise fields.wrong("excludes", "write the excluded strings into the pattern, as `(?!…)`")

    def read() -> RuleSet:
        expr = regex_expr(pattern, flavor="ecma", flags="", search=False)
        rules = RuleSet({"root": Rule("root", expr)}, "root", (), (SourceText(SOURCE_NAME, pattern),))
        return normalize(rules)

    return _of_part(fields, "pattern", read)


def _of_part(fields: Fields, field: str, read: Any) -> RuleSet:
    """Return the rules of a part; what is wrong with it is said with its place."""
    try:
        rules: RuleSet = named(f"{fields.place}/{field}", read)
    except StructuralTagError:
        raise
    except StackmaskError as error:
        place = f"{fields.place}/{field}"
        error.args = (f"structural tag, at {place}: {error}",)
        raise
    return rules


_PARTS: dict[str, Part] = {
    "json_schema": _schema,
    "qwen_xml_parameter": _schema,
    "grammar": _grammar,
    "regex": _regex,
}
