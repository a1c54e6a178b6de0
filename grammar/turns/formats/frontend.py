"""The entry point: from a structural tag to rules."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from stackmask.grammar.directives.frontend import Directives
from stackmask.grammar.ebnf.modules import load_rules
from stackmask.grammar.ir import EPSILON, Expr, Intersection, Rule, RuleSet, SourceText, TokenTerminal
from stackmask.grammar.ir.build import choice, repeat, sequence
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.document.loading import load_schema
from stackmask.grammar.json_schema.document.schema_size import written_bytes
from stackmask.grammar.json_schema.frontend import argument_rules, schema_rules
from stackmask.grammar.normalize import normalize
from stackmask.grammar.regex.compile import SOURCE_NAME, regex_expr
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.work import check_size, check_text, enter, input_limit, spend
from stackmask.grammar.turns.formats.fields import (
    FORMATS,
    PROGRAMMED,
    FormatFields,
    StructuralTagError,
    as_plain,
    kind_of,
)
from stackmask.grammar.turns.parts.merge import (
    SOME_TEXT,
    Markers,
    Merged,
    Merger,
    Place,
    any_overlap,
    counted_until,
    named,
    text,
    text_until,
)

ANY_BLANKS = {"pattern": r"[ \n\t\r]*"}


def structural_rules(tag: Any, special_names: Iterable[str] = ()) -> Merged:
    """Return the rules of a structural tag; ``special_names``: names in the vocabulary, if known.

    Raises: StructuralTagError; GrammarError and SchemaError for the contents of a format.
    """
    enter("reading the structural tag")
    format_value, place = _format_of(_loaded(tag))
    merger = Merger()
    lowering = FormatLowering(merger, Markers(special_names), _PARTS)
    body = lowering.format(FormatFields(format_value, place))
    return merger.finish(body, lowering.needs_passes)


def format_rules(form: Mapping[str, Any], special_names: Iterable[str]) -> Merged:
    """Return the rules of a format that code created, with parts that are already rules.

    Raises: as ``structural_rules``.
    """
    enter("putting a turn together")
    merger = Merger()
    lowering = FormatLowering(merger, Markers(special_names), {**_PARTS, "rules": _programmed})
    fields = FormatFields(form, "", formats={**FORMATS, **PROGRAMMED})
    body = lowering.format(fields)
    return merger.finish(body, lowering.needs_passes)


def _programmed(fields: FormatFields, markers: Markers) -> RuleSet:
    rules: RuleSet = fields.value("rules")(markers)
    return rules


def tag_rules(begin: str, content: RuleSet, ends: Sequence[str], special_names: Iterable[str]) -> Merged:
    """Return the rules of content between markers.

    ``special_names``: the special tokens of the vocabulary, if known, since markers may be special tokens.
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
    """Return the format of a request, and its location. The older form becomes triggered tags."""
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


def ready(rules: RuleSet, is_ready: bool) -> RuleSet:
    """Return rules in normal form. ``is_ready``: whether they already are."""
    return rules if is_ready else normalize(rules)


def _schema(fields: FormatFields, markers: Markers) -> RuleSet:
    schema = fields.value("json_schema")
    options: dict[str, Any] = {}
    if fields.type == "qwen_xml_parameter":
        style = "qwen_xml"
    else:
        style = fields.text("style")
        blanks = fields.count("max_whitespace_cnt")
        options["whitespace"] = ANY_BLANKS if blanks is None else {"max": blanks}
        options["property_order"] = "any" if fields.flag("any_order") else "schema"
        options["excludes"] = fields.texts("excludes")
        if style == "json":
            if options.pop("excludes"):
                problem = "strings cannot be left out of JSON; leave them out of the text around it, or use a `pattern`"
                raise fields.wrong("excludes", problem)
            return _of_part(
                fields, "json_schema", lambda: schema_rules(schema, spelling="plain", **options)[0]
            )
    return _of_part(
        fields,
        "json_schema",
        lambda: ready(*argument_rules(schema, style=style, spell=markers.expr, **options)[:2]),
    )


def _grammar(fields: FormatFields, markers: Markers) -> RuleSet:
    source = fields.text("grammar")

    def read() -> RuleSet:
        loaded = load_rules(source, name=f"<{fields.place}>", base=None, start=None)
        return normalize(Directives(loaded).rules(markers.names))

    return _of_part(fields, "grammar", read)


def _regex(fields: FormatFields, _: Markers) -> RuleSet:
    pattern = fields.text("pattern")
    if fields.texts("excludes"):
        raise fields.wrong("excludes", "write the excluded strings into the pattern, as `(?!…)`")

    def read() -> RuleSet:
        expr = regex_expr(pattern, flavor="ecma", flags="", search=False)
        rules = RuleSet({"root": Rule("root", expr)}, "root", (), (SourceText(SOURCE_NAME, pattern),))
        return normalize(rules)

    return _of_part(fields, "pattern", read)


def _of_part(fields: FormatFields, field: str, read: Any) -> RuleSet:
    """Return the rules of a part, whose errors are reported with the part's location."""
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


# -- Formats to expressions. Text that may hold anything ends at the first end, trigger or excluded string


Part = Callable[[FormatFields, Markers], RuleSet]
Ends = tuple[str, ...]


class FormatLowering:
    """Converts formats to expressions over the rules of a merger.

    ``parts``: functions, by type, that create the rules of a format with a separate grammar. A method that
    takes ``ends`` returns an expression and whether it has consumed an end: free content ends with the first
    one.
    """

    def __init__(self, merger: Merger, markers: Markers, parts: Mapping[str, Part]) -> None:
        self.merger = merger
        self.markers = markers
        self.parts = parts
        self.tag_count = 0
        self.needs_passes = False  # whether some expression may have no text
        self.end_tokens: tuple[TokenTerminal, ...] = ()  # of the tag around what is read

    def format(self, fields: FormatFields, ends: Ends = ()) -> Expr:
        """Return the strings of a format, each followed by one of the ends, if any are given."""
        expr, ended = self._open(fields, ends)
        return expr if ended or not ends else sequence((expr, self._any_of(ends)))

    def _any_of(self, words: Ends) -> Expr:
        return choice([self.markers.expr(word) for word in words])

    def _open(self, fields: FormatFields, ends: Ends) -> tuple[Expr, bool]:
        kind = fields.type
        if kind in self.parts:
            name = fields.text("name") if kind == "rules" else f"{kind}{fields.place}"
            return self.merger.add(self.parts[kind](fields, self.markers), name), False
        if kind in ("sequence", "or"):
            return self._elements(fields, ends)
        if kind in ("optional", "plus", "star", "repeat"):
            return self._repeated(fields), False
        if kind in ("triggered_tags", "dispatch"):
            return self._triggered(fields, ends), bool(ends)
        if kind == "any_text":
            return self._any_text(fields, ends), bool(ends)
        simple: dict[str, Callable[[FormatFields], Expr]] = {
            "const_string": lambda f: self.markers.expr(f.text("value")),
            "tags_with_separator": self._tags_with_separator,
            "tags_joined": self._tags_with_separator,
            "token": lambda f: _token(f, "token"),
            "exclude_token": lambda f: _other_token([*_token_list(f, "exclude_tokens"), *self.end_tokens]),
            "any_tokens": self._any_tokens,
            "token_triggered_tags": self._token_triggered,
            "token_dispatch": self._token_triggered,
        }
        if kind == "tag":
            return self._tag(fields, ends)
        return simple[kind](fields), False

    # -- text ----------------------------------------------------------------------------------------

    def _free(self, ends: Ends, excludes: list[str], first: list[str], max_chars: int | None) -> Expr:
        """Return free text, up to one of the ends or without an end, in which special tokens never occur."""
        plain = [word for word in excludes if not self.markers.holds(word)]
        others = [word for word in first if not self.markers.holds(word)]
        if not ends:
            return text([*plain, *others], max_chars)
        written = [end for end in ends if not self.markers.holds(end)]
        options: list[Expr] = []
        if written:
            self.needs_passes = self.needs_passes or any_overlap([*written, *others])
            options.append(text_until(written, plain, max_chars, first=others))
        for end in ends:
            if end not in written:
                options.append(
                    sequence((text([*plain, *others, *written], max_chars), self.markers.expr(end)))
                )
        return choice(options)

    def _any_text(self, fields: FormatFields, ends: Ends) -> Expr:
        excludes, most_chars = fields.texts("excludes"), fields.count("max_chars")
        most = fields.count("max_tokens")
        if most is None:
            return self._free(ends, excludes, [], most_chars)
        plain = [word for word in excludes if not self.markers.holds(word)]
        written = [end for end in ends if not self.markers.holds(end)]
        self.needs_passes = True
        options = [counted_until(written, plain, most_chars, most)] if written or not ends else []
        for end in ends:
            if end not in written:
                before = counted_until((), plain, most_chars, most, first=written)
                options.append(sequence((before, self.markers.expr(end))))
        return choice(options)

    # -- formats of formats ----------------------------------------------------------------------------

    def _elements(self, fields: FormatFields, ends: Ends) -> tuple[Expr, bool]:
        elements = [fields.inner(f"elements/{i}", item) for i, item in enumerate(fields.items("elements"))]
        if not elements:
            raise fields.wrong("elements", f"`{fields.type}` of nothing")
        if fields.type == "or":
            return choice([self.format(element, ends) for element in elements]), bool(ends)
        *before, last = elements
        items = [self.format(element) for element in before]
        expr, ended = self._open(last, ends)
        return sequence([*items, expr]), ended

    def _repeated(self, fields: FormatFields) -> Expr:
        content = self.format(fields.inner("content", fields.value("content")))
        if fields.type != "repeat":
            low, high = {"optional": (0, 1), "plus": (1, None), "star": (0, None)}[fields.type]
            return repeat(content, low, high)
        least = fields.count("min") or 0
        most = fields.count("max", least=-1)
        if most is None or most == -1:
            return repeat(content, least, None)
        if most < least:
            raise fields.wrong("max", f"at most {most}, but at least {least}")
        return repeat(content, least, most)

    # -- tags ------------------------------------------------------------------------------------------

    def _tags(self, fields: FormatFields) -> list[FormatFields | Calls]:
        found = [
            item if isinstance(item, Calls) else fields.inner(f"tags/{i}", item, "tag")
            for i, item in enumerate(fields.items("tags"))
        ]
        for tag in found:
            if isinstance(tag, FormatFields) and tag.type != "tag":
                raise tag.wrong("type", f"a tag is needed, not `{tag.type}`")
        if not found:
            raise fields.wrong("tags", "no tags")
        return found

    def _ends_of(self, tag: FormatFields) -> Ends:
        value = tag.value("end")
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple) or not value:
            raise tag.wrong("end", "a string, a list of strings or a token is needed")
        for index, end in enumerate(value):
            tag.checked_text(f"end/{index}", end)
        return tuple(dict.fromkeys(value))

    def _after_begin(self, tag: FormatFields, outer: Ends = ()) -> tuple[Expr, bool]:
        """Return the text after the begin marker of a tag, and whether it consumed the enclosing end."""
        content = tag.inner("content", tag.value("content"))
        end = tag.value("end")
        if isinstance(end, Mapping) or hasattr(end, "model_dump"):
            token = _token(tag.inner("end", end, "token"), "token")
            return sequence((self._within(content, (token,)), token)), False
        return self._up_to_text(tag, content, outer)

    def _within(self, content: FormatFields, end_tokens: tuple[TokenTerminal, ...]) -> Expr:
        """Return the content of a tag that ends with a token. The content must not contain this token."""
        around, self.end_tokens = self.end_tokens, end_tokens
        expr = self.format(content)
        self.end_tokens = around
        return expr

    def _any_tokens(self, fields: FormatFields) -> Expr:
        other = _other_token([*_token_list(fields, "exclude_tokens"), *self.end_tokens])
        return repeat(other, 0, fields.count("max_tokens"))

    def _up_to_text(self, tag: FormatFields, content: FormatFields, outer: Ends) -> tuple[Expr, bool]:
        """Return the content and the end of a tag whose end is text."""
        ends = self._ends_of(tag)
        if ends == ("",):
            if not outer and _is_unlimited(content):
                cure = "give it an `end`, or write its content without a tag"
                raise tag.wrong(
                    "end", f"the content may contain any text, so that nothing ends the tag; {cure}"
                )
            return self._open(content, outer)
        if "" in ends:
            ends = tuple(word for word in ends if word)
            return choice((self.format(content, ends), self.format(content))), False
        return self.format(content, ends), False

    def _tag(self, tag: FormatFields, outer: Ends = ()) -> tuple[Expr, bool]:
        begin = tag.value("begin")
        if isinstance(begin, str):
            start = self.markers.expr(tag.text("begin"))
        else:
            start = _token(tag.inner("begin", begin, "token"), "token")
        rest, ended = self._after_begin(tag, outer)
        return self._rule(sequence((start, rest))), ended

    def _rule(self, expr: Expr, name: str = "") -> Expr:
        self.tag_count += not name
        return self.merger.define(name or f"tag{self.tag_count}", expr)

    def _tags_with_separator(self, fields: FormatFields) -> Expr:
        tags: list[Expr] = []
        for tag in self._tags(fields):
            if isinstance(tag, Calls):
                for calls in tag.after(("",), self.markers, self.merger):
                    tags += [self._rule(call) for _, call in calls]
            else:
                tags.append(self._tag(tag)[0])
        found = choice(tags)
        if fields.type == "tags_joined":
            return self._joined(found, found, fields)
        if not fields.flag("stop_after_first"):
            more = sequence((self.markers.expr(fields.text("separator")), found))
            found = sequence((found, repeat(more, 0, None)))
        return found if fields.flag("at_least_one") else repeat(found, 0, 1)

    def _joined(self, first: Expr, other: Expr, fields: FormatFields) -> Expr:
        """Return the first tag and the further ones, each after a separator."""
        most = fields.count("max", least=1)
        if most == 1:
            return first
        if most is not None:
            other = self._rule(other)  # which is written that often
        more = sequence((self._any_of(tuple(fields.items("separators"))), other))
        trailing = repeat(self.markers.expr(fields.text("trailing")), 0, 1)
        return sequence((first, repeat(more, 0, None if most is None else most - 1), trailing))

    # -- triggers --------------------------------------------------------------------------------------

    def _triggered(self, fields: FormatFields, ends: Ends) -> Expr:
        """Return tags between free text without triggers."""
        if fields.type == "dispatch":
            at_least_one, once = False, not fields.flag("loop")
            branches = self._dispatched(fields)
        else:
            at_least_one, once = fields.flag("at_least_one"), fields.flag("stop_after_first")
            branches = self._triggered_tags(fields)
        excludes = fields.texts("excludes")
        triggers = list(branches)
        called = self._rule(self._up_to_a_trigger(branches, [*excludes, *ends]))
        last = self._free(ends, [*excludes, *triggers], [], None)  # mutant: late-trigger
        if not ends:  # a rule of its own too, which has some text
            last = repeat(self._rule(Intersection((SOME_TEXT, last)), "text"), 0, 1)
        end = self._any_of(ends) if ends else EPSILON
        any_tag = choice([sequence((self.markers.expr(trigger), rest)) for trigger, rest in branches.items()])
        if fields.value("separators") is not None:
            called, once = self._joined(called, any_tag, fields), True
        if once and at_least_one:
            return sequence((any_tag, end))
        if once:
            return choice((last, sequence((called, end))))
        after = sequence((repeat(called, 0, None), last))
        return sequence((any_tag, after)) if at_least_one else after

    def _up_to_a_trigger(self, branches: dict[str, Expr], excludes: list[str]) -> Expr:
        """Return free text up to the first trigger, and the continuation of this trigger."""
        triggers = list(branches)
        written = [trigger for trigger in triggers if not self.markers.holds(trigger)]
        if any_overlap(written):
            return choice(
                [
                    sequence((self._free((trigger,), excludes, triggers, None), rest))
                    for trigger, rest in branches.items()
                ]
            )
        free = self._free((), excludes, triggers, None)
        if len(triggers) == 1:
            # a rule of its own, which is the same whatever follows: so are its masks
            ((trigger, rest),) = branches.items()
            return sequence((self._rule(sequence((free, self.markers.expr(trigger))), "text"), rest))
        # the same text may come before each of them
        marked = [sequence((self.markers.expr(trigger), rest)) for trigger, rest in branches.items()]
        return sequence((free, choice(marked)))

    def _triggered_tags(self, fields: FormatFields) -> dict[str, Expr]:
        """Return the continuations of each trigger. Special tokens may extend a trigger."""
        triggers = fields.texts("triggers", least=1)
        inside = sorted(range(len(triggers)), key=triggers.__getitem__)
        ordered = [triggers[index] for index in inside]
        for position in range(1, len(ordered)):
            one, other = ordered[position - 1 : position + 1]  # what begins with `one` comes right after it
            if other.startswith(one):
                problem = (
                    f"{one!r:.60} and {other!r:.60} begin each other, so that the longer one never comes"
                )
                raise fields.wrong(f"triggers/{inside[position]}", problem)
        branches: dict[str, list[Expr]] = {}
        for index, tag in enumerate(self._tags(fields)):
            if isinstance(tag, Calls):
                try:
                    for calls in tag.after(tuple(ordered), self.markers, self.merger):
                        for taken, rest in calls:
                            branches.setdefault(taken, []).append(rest)
                except ValueError as error:
                    raise fields.wrong(f"tags/{index}/begin", _no_trigger(str(error), triggers)) from None
                continue
            begin = tag.text("begin")
            size = _taken(begin, ordered, self.markers)
            if size < 0:
                raise fields.wrong(f"tags/{index}/begin", _no_trigger(begin, triggers))
            rest = sequence((self.markers.expr(begin[size:]), self._after_begin(tag)[0]))
            branches.setdefault(begin[:size], []).append(rest)
        return {trigger: self._rule(choice(rests)) for trigger, rests in branches.items()}

    def _dispatched(self, fields: FormatFields) -> dict[str, Expr]:
        branches: dict[str, list[Expr]] = {}
        for index, (word, content) in enumerate(_pairs(fields)):
            if not isinstance(word, str) or not word:
                raise fields.wrong(f"rules/{index}/0", "a string that is not empty is needed")
            fields.checked_text(f"rules/{index}/0", word)
            rest = self.format(fields.inner(f"rules/{index}/1", content))
            branches.setdefault(word, []).append(rest)
        return {word: self._rule(choice(rests)) for word, rests in branches.items()}

    def _token_triggered(self, fields: FormatFields) -> Expr:
        """Return tags between tokens that are not triggers."""
        branches: list[Expr] = []
        starts: list[TokenTerminal] = []
        if fields.type == "token_dispatch":
            at_least_one, once = False, not fields.flag("loop")
            for index, (word, content) in enumerate(_pairs(fields)):
                start = _token_of(fields, f"rules/{index}/0", word)
                starts.append(start)
                branches.append(sequence((start, self.format(fields.inner(f"rules/{index}/1", content)))))
        else:
            at_least_one, once = fields.flag("at_least_one"), fields.flag("stop_after_first")
            starts = _token_list(fields, "trigger_tokens")
            for tag in self._tags(fields):
                assert isinstance(tag, FormatFields)  # programs make no calls that begin with tokens
                start = _token(tag.inner("begin", tag.value("begin"), "token"), "token")
                if start not in starts:
                    raise tag.wrong("begin", "its token is not a trigger")
                branches.append(self._tag(tag)[0])
        any_tag = self._rule(choice(branches))
        # as in XGrammar, a dispatch goes on over the end of what is around it
        ends = () if fields.type == "token_dispatch" else self.end_tokens
        between = repeat(_other_token([*starts, *_token_list(fields, "exclude_tokens"), *ends]), 0, None)
        if once:
            return any_tag if at_least_one else sequence((between, repeat(any_tag, 0, 1)))
        after = repeat(sequence((between, any_tag)), 0, None)
        return sequence((any_tag, after, between)) if at_least_one else sequence((after, between))


def _taken(begin: str, triggers: Sequence[str], markers: Markers) -> int:
    """Return the number of characters of a tag's beginning that a trigger covers, 0 for an empty trigger; -1
    if there is none.

    ``triggers``: in ascending order, none a prefix of another, so that only the preceding one can be a prefix
    of ``begin``.
    """
    trigger = triggers[max(0, bisect_right(triggers, begin) - 1)]
    if not begin.startswith(trigger):
        return -1
    return markers.begin_with(begin, trigger) if trigger else 0


def _no_trigger(begin: str, triggers: list[str]) -> str:
    return f"{begin!r:.60} begins with no trigger; there are {triggers!r:.200}"


def _is_unlimited(content: FormatFields) -> bool:
    """Return whether a format may continue with any text, except by repetition."""
    while content.type == "sequence" and content.items("elements"):
        elements = content.items("elements")
        content = content.inner(f"elements/{len(elements) - 1}", elements[-1])
    if content.type == "any_text":
        return content.count("max_chars") is None and content.count("max_tokens") is None
    return content.type in ("triggered_tags", "dispatch")


def _pairs(fields: FormatFields) -> list[tuple[Any, Any]]:
    found = fields.items("rules")
    if not found:
        raise fields.wrong("rules", "no rules")
    for index, pair in enumerate(found):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise fields.wrong(
                f"rules/{index}", "a rule is a list of two: what is written, and the format that follows"
            )
    return [(pair[0], pair[1]) for pair in found]


# -- tokens ------------------------------------------------------------------------------------------------


def _token_of(fields: FormatFields, place: str, value: Any) -> TokenTerminal:
    if isinstance(value, str) and value:
        fields.checked_text(place, value)
        return TokenTerminal((value,), (), False)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return TokenTerminal((), ((value, value),), False)
    raise fields.wrong(place, f"a token is the name of a special token or an id, not {value!r:.60}")


def _token(fields: FormatFields, field: str) -> TokenTerminal:
    if fields.type != "token":
        raise fields.wrong("type", f"a token is needed, not `{fields.type}`")
    return _token_of(fields, field, fields.value(field))


def _token_list(fields: FormatFields, field: str) -> list[TokenTerminal]:
    return [_token_of(fields, f"{field}/{i}", item) for i, item in enumerate(fields.items(field))]


def _other_token(tokens: list[TokenTerminal]) -> Expr:
    """Return any token except these and the stop tokens."""
    names = tuple(dict.fromkeys(name for token in tokens for name in token.names))
    ids = tuple(sorted({pair for token in tokens for pair in token.id_ranges}))
    return TokenTerminal(names, ids, True)


# --------------------------------------------------------------------------------------------------------
# Calls of tools, which a program made: each a text, rules, and a text. What they mean is remembered with the tools
# --------------------------------------------------------------------------------------------------------

MAX_KEPT: Final = 32  # vocabularies, triggers and spellings for which it is remembered

Spelling: TypeAlias = tuple[str, str, str]
"""The text before the name of a tool, after it, and after the arguments."""


class KeptCalls(NamedTuple):
    """The lowered calls of one tool: the part that the trigger covers, the rest, and the position of the rules."""

    calls: list[tuple[str, Expr]]
    place: Place


Kept: TypeAlias = dict[Hashable, KeptCalls]


class Calls:
    """Calls of tools, each in several spellings.

    ``tools``: objects with a ``name``, and ``kept_calls`` for their lowered calls. ``rules``: a function that
    creates the rules of a tool's arguments for a vocabulary; ``task``: their other dependencies.
    """

    __slots__ = ("rules", "spellings", "task", "tools")

    def __init__(
        self,
        tools: Sequence[Any],
        spellings: tuple[Spelling, ...],
        rules: Callable[[Any, Markers], RuleSet],
        task: Hashable,
    ) -> None:
        self.tools = tools
        self.spellings = spellings
        self.rules = rules
        self.task = task

    def after(
        self, triggers: tuple[str, ...], markers: Markers, merger: Merger
    ) -> Iterator[list[tuple[str, Expr]]]:
        """Yield, for each tool, the part of its calls under a trigger, and the rest (always the same
        objects).

        ``triggers``: in ascending order, none a prefix of another. Raises: ValueError if a call does not
        begin with one.
        """
        spend(8 * len(self.tools) * len(self.spellings))
        key = (markers.names, triggers, self.spellings, self.task)
        ends = [markers.expr(end) for _, _, end in self.spellings]
        for tool in self.tools:
            kept = tool.kept_calls.get(key)
            if kept is None or not merger.add_again(kept.place):
                place = merger.place(self.rules(tool, markers), tool.name)
                kept = KeptCalls(self._read(tool.name, place.meaning, triggers, markers, ends), place)
                if len(tool.kept_calls) >= MAX_KEPT:
                    tool.kept_calls.clear()
                tool.kept_calls[key] = kept
            yield kept.calls

    def _read(
        self, name: str, inner: Expr, triggers: tuple[str, ...], markers: Markers, ends: list[Expr]
    ) -> list[tuple[str, Expr]]:
        """Return the expression for the calls of one tool. ``inner``: the expression for its arguments."""
        calls = []
        for (before, after, _), end in zip(self.spellings, ends, strict=True):
            begin = before + name + after
            size = _taken(begin, triggers, markers)
            if size < 0:
                raise ValueError(begin)
            calls.append((begin[:size], sequence((markers.expr(begin[size:]), inner, end))))
        return calls
