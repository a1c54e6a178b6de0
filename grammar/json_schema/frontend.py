"""The entrance: a schema and options to rules and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from stackmask.grammar.ir import Expr, RuleSet
from stackmask.grammar.json_schema.document.drafts import BY_NAME, Draft
from stackmask.grammar.json_schema.document.errors import (
    SchemaError,
    UnsupportedSchemaError,
)
from stackmask.grammar.json_schema.document.loading import is_type, load_schema
from stackmask.grammar.json_schema.document.python_types import narrowings_of
from stackmask.grammar.json_schema.document.report import Copied, Report, copied
from stackmask.grammar.json_schema.document.schema_size import written_bytes
from stackmask.grammar.json_schema.reading import (
    MAX_KNOWN_BYTES,
    Asked,
    key_of,
    read_schema,
    recall,
    remember,
)
from stackmask.grammar.json_schema.text.strings import ANY, ANY_CHARS
from stackmask.grammar.json_schema.write.lowering import Lowering
from stackmask.grammar.json_schema.write.numbers.number_spellings import PLAIN_NARROWING
from stackmask.grammar.json_schema.write.style import JSON_WORDS, Style, Words
from stackmask.grammar.json_schema.write.whitespace import Whitespace
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.source.work import (
    check_size,
    check_text,
    current_work,
    enter,
    input_limit,
)

PREPARED_CLASSES = (ANY_CHARS[ANY],)  # nearly every grammar has JSON strings


class Profile(NamedTuple):
    """What the options are that nobody gave."""

    formats: str
    whitespace: str
    spelling: str
    numbers: str
    extra_keys: str


PROFILES: Final = {
    "exact": Profile("assert", "any", "any", "any", "any"),
    "model": Profile("plain", "single", "dumps", "plain", "none"),
}

OPTIONS: Final = (
    ("formats", ("assert", "plain", "annotate")),
    ("property_order", ("schema", "any")),
    ("on_unsupported", ("error", "relax")),
    ("spelling", ("any", "plain", "dumps")),
    ("numbers", ("any", "plain")),
    ("extra_keys", ("any", "none")),
)
NAMES: Final = ("profile", "draft", "dialect", *(name for name, _ in OPTIONS))
EXTRA_KEYS: Final = (
    "extra keys: objects of models, dataclasses and TypedDicts that ignore extra keys have none"
)
SPELLING_NARROWINGS: Final = {
    "plain": "Keys, enum and const, and classes of characters that need no escape, are written as"
    " json.dumps(ensure_ascii=False) writes them.",
    "dumps": "strings: Strings are written as json.dumps(ensure_ascii=False) writes them.",
}
COMPACT: Final = {"separators": (",", ":")}
# bytes that a schema with a key is counted as at most: `false`, of one byte in the key, is five and what is around it
MOST_WRITTEN: Final = 8 * MAX_KNOWN_BYTES
TOO_DEEP = "conditions on one value lead too deeply into each other; state fewer of them for one place"


def schema_rules(
    source: Any,
    *,
    draft: str | None = None,
    resources: Any = None,
    formats: str | None = None,
    whitespace: Any = None,
    property_order: str = "schema",
    on_unsupported: str = "error",
    spelling: str | None = None,
    numbers: str | None = None,
    extra_keys: str | None = None,
    profile: str = "exact",
    dialect: str | None = None,
    write: Callable[[Lowering], RuleSet] = Lowering.run,
    words: Words = JSON_WORDS,
) -> tuple[RuleSet, Report]:
    """Return the rules of a schema and the report; the arguments are those of ``Grammar.from_json_schema``.

    ``write``: what makes the rules of the values. ``words``: null, true and false as they are written.
    Raises: SchemaError and its subclasses.
    """
    of_type = type(source) is not dict and is_type(source)
    given = (profile, draft, dialect, formats, property_order, on_unsupported, spelling, numbers, extra_keys)
    try:
        chosen = _checked_options(of_type, *given)
    except TypeError:  # one of them cannot be hashed
        name, option = next(
            pair for pair in zip(NAMES, given, strict=True) if not isinstance(pair[1], str | None)
        )
        raise SchemaError("", name, f"{option!r:.60} is no string") from None
    spelling, numbers, relax, formats = chosen.spelling, chosen.numbers, chosen.relax, chosen.formats
    if resources is not None and not isinstance(resources, Mapping):
        raise SchemaError("", "resources", f"a dict of schemas by URI, not {type(resources).__name__}")
    blanks = Whitespace.of(chosen.whitespace if whitespace is None else whitespace)
    style = Style.of(blanks, spelling, numbers == "plain", property_order == "any", words)
    asked = Asked(style, chosen.draft, formats)
    is_closed = False
    key = None
    try:
        enter("reading the schema")
        with without_collection():  # all that is made on the way is gone at the end
            closing = of_type and chosen.extra_keys == "none"
            loaded = _loaded(source, closing)
            if dialect is None and not (resources or of_type) and write is Lowering.run:
                key = key_of(loaded, (draft, formats, relax), style)
            if loaded is source or resources:
                _check_size(loaded, resources, key is not None)
            found = None if key is None else recall(key)
            if found is not None:
                return found
            if closing:
                from stackmask.grammar.json_schema.document.declared_keys import close_objects

                is_closed = close_objects(loaded)
            if dialect is not None:
                from stackmask.grammar.json_schema.document.dialects import read_dialect

                loaded, meant = read_dialect(dialect, loaded)
                asked = asked._replace(draft=meant)
            work = current_work()
            before = 0 if work is None else work.done
            rules, report = read_schema(loaded, asked, resources, relax, of_type, write)
    except RecursionError:
        raise UnsupportedSchemaError("", "", TOO_DEEP) from None
    if key is not None:
        report.source = Copied(key[0])
    elif not of_type:
        report.source = loaded if isinstance(source, str | bytes | bytearray) else copied(loaded)
    else:
        for narrowing in narrowings_of(loaded):
            report.add("narrowed", "", "type", narrowing)
    if is_closed:
        report.add("narrowed", "", "", EXTRA_KEYS)
    options = {
        "draft": asked.draft and asked.draft.name,
        "resources": resources,
        "formats": formats,
        "whitespace": whitespace,
        "property_order": property_order,
        "on_unsupported": on_unsupported,
        "spelling": spelling,
        "numbers": numbers,
        "extra_keys": extra_keys,
        "profile": profile,
        "write": write,
        "words": words,
    }
    report.options = Given(rules, source if of_type else None, blanks, options).notes
    if key is not None and work is not None:
        remember(key, style, rules, report, work.done - before)
    return rules, report


class _Options(NamedTuple):
    """The options of a schema, checked, and those of the profile where nobody gave any."""

    formats: str
    whitespace: str
    spelling: str
    numbers: str
    extra_keys: str
    relax: bool
    draft: Draft | None


@lru_cache(64)  # most requests of a process have the same
def _checked_options(
    of_type: bool,
    profile: str,
    draft: str | None,
    dialect: str | None,
    formats: str | None,
    property_order: str,
    on_unsupported: str,
    spelling: str | None,
    numbers: str | None,
    extra_keys: str | None,
) -> _Options:
    """Check the options of a schema, and fill in those of the profile. Raises: SchemaError if one is not what it may be."""
    if draft is not None and draft not in BY_NAME:
        raise SchemaError("", "draft", f"{draft!r} is none of 4, 6, 7, 2019-09, 2020-12")
    if profile not in PROFILES:
        raise SchemaError("", "profile", f"{profile!r:.60} is none of {', '.join(PROFILES)}")
    if dialect is not None:
        check_dialect(dialect, draft)
    if extra_keys == "none" and not of_type:
        raise SchemaError(
            "", "extra_keys", "is for Python types; a schema says `additionalProperties: false`"
        )
    usual = PROFILES[profile]
    formats = usual.formats if formats is None else formats
    spelling = usual.spelling if spelling is None else spelling
    numbers = usual.numbers if numbers is None else numbers
    extra_keys = usual.extra_keys if extra_keys is None else extra_keys
    given = (formats, property_order, on_unsupported, spelling, numbers, extra_keys)
    for (name, known), option in zip(OPTIONS, given, strict=True):
        if option not in known:
            raise SchemaError("", name, f"{option!r} is none of {', '.join(known)}")
    meant = None if draft is None else BY_NAME[draft]  # mutant: own-draft
    return _Options(
        formats, usual.whitespace, spelling, numbers, extra_keys, on_unsupported == "relax", meant
    )


class Given(NamedTuple):
    """What rules were made with, of which reports say what it leaves out. ``kind``: the type that was given, if any."""

    rules: RuleSet
    kind: Any
    blanks: Whitespace
    options: dict[str, Any]

    def notes(self, schema: Any) -> Iterator[str]:
        """Yield what options leave out: of those without which the rules of the type or the schema are others."""
        spelling, numbers = self.options["spelling"], self.options["numbers"]
        blanks, compact = self.blanks, Whitespace.of(COMPACT)
        said: list[tuple[Any, dict[str, Any]]] = [
            (
                blanks.note and f"whitespace: {blanks.note}",
                {"whitespace": None if blanks == compact else COMPACT},
            ),
            (numbers == "plain" and f"numbers: {PLAIN_NARROWING}", {"numbers": "any"}),
            (SPELLING_NARROWINGS.get(spelling), {"spelling": "any"}),
        ]
        for note, other in said:
            try:
                is_said = note and self.differ(schema if self.kind is None else self.kind, other)
            except StackmaskError:  # too large without the option
                is_said = True
            if is_said:
                yield str(note)

    def differ(self, source: Any, other: dict[str, Any]) -> bool:
        """Return whether the rules are others with another option."""
        rules = schema_rules(source, **{**self.options, **other})[0]
        return dict(rules.rules) != dict(self.rules.rules)


def check_dialect(dialect: str, draft: str | None) -> None:
    """Raise: SchemaError if there is no such dialect, or a draft is named beside it."""
    from stackmask.grammar.json_schema.document.dialects import DIALECTS

    if dialect not in DIALECTS:
        raise SchemaError("", "dialect", f"{dialect!r:.60} is none of {', '.join(DIALECTS)}")
    if draft is not None:
        raise SchemaError("", "draft", f"the dialect {dialect} is of a draft already; leave `draft` out")


def tool_rules(source: Any, profile: str, blanks: str = "") -> RuleSet:
    """Return the rules of the arguments of a tool as JSON, in a profile.

    ``blanks``: of the exact profile, the pattern of blanks, beside which it has ``spelling="plain"`` here.
    Raises: as ``schema_rules``. Cost: some 10 µs for a plain object.
    """
    if profile == "model":
        return schema_rules(source, profile=profile)[0]
    return schema_rules(source, spelling="plain", whitespace={"pattern": blanks})[0]


def argument_rules(
    source: Any,
    *,
    style: str,
    spell: Callable[[str], Expr] | None = None,
    excludes: Sequence[str] = (),
    whitespace: Any = None,
    property_order: str = "schema",
    plain: bool = False,
    profile: str = "exact",
) -> tuple[RuleSet, bool]:
    """Return the rules of an object whose members are written between markers, and whether they are in normal form.

    ``style``: one of ``ARGUMENT_STYLES``. ``spell``: what writes a piece of a marker; None: as text. ``excludes``:
    strings that names and strings between markers do not hold. ``plain``: as for ``ArgumentWriter.is_plain``.
    ``profile``: of JSON; in "model", between markers stands a line break or nothing.
    Raises: SchemaError and its subclasses.
    """
    from stackmask.grammar.json_schema.write.argument_rules import LINE_BREAK, ArgumentWriter
    from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES, as_text

    if style not in ARGUMENT_STYLES:
        raise SchemaError("", "style", f"{style!r:.60} is none of json, {', '.join(ARGUMENT_STYLES)}")

    writers = []

    def write(lowering: Lowering) -> RuleSet:
        chosen = ARGUMENT_STYLES[style]
        blanks = LINE_BREAK if profile == "model" else lowering.whitespace.empty
        writers.append(ArgumentWriter(lowering, chosen, spell or as_text, tuple(excludes), blanks, plain))
        return writers[-1].run()

    spelling: str | None = "plain"
    if profile == "model":
        spelling = None
        whitespace = (
            "compact" if ARGUMENT_STYLES[style].nested else None
        )  # these have no JSON of several parts
    rules, _ = schema_rules(
        source,
        whitespace=whitespace,
        property_order=property_order,
        spelling=spelling,
        profile=profile,
        write=write,
    )
    return rules, not writers[-1].has_patterns


def python_rules(source: Any) -> tuple[RuleSet, bool]:
    """Return the rules of an object whose members are arguments of a call in Python, and whether they are in normal form.

    Raises: SchemaError and its subclasses.
    """
    from stackmask.grammar.json_schema.write.python_arguments import PYTHON_WORDS, PythonWriter

    writers = []

    def write(lowering: Lowering) -> RuleSet:
        writers.append(PythonWriter(lowering))
        return writers[-1].run()

    blanks = {"separators": (", ", ": ")}
    rules, _ = schema_rules(
        source, whitespace=blanks, spelling="dumps", numbers="plain", write=write, words=PYTHON_WORDS
    )
    return rules, not writers[-1].has_patterns


def _loaded(source: Any, mark_objects: bool) -> Any:
    """Return the schema as Python values. Raises: SchemaError; BudgetError if a text is too long."""
    if isinstance(source, str | bytes | bytearray):
        check_text("the JSON Schema", source)
    return load_schema(source, mark_objects=mark_objects)


def _check_size(schema: Any, resources: Any, has_key: bool) -> None:
    """Refuse Python values that are larger than an input may be.

    ``has_key``: the schema has a key to be remembered by, so it is small.
    Raises: BudgetError.
    """
    most = input_limit()
    if not has_key or most < MOST_WRITTEN:
        check_size("the JSON Schema", written_bytes([schema, resources], most))


def schema_of_kind(kind: Any) -> Any:
    """Return the schema of any JSON text of a kind. Raises: SchemaError for a kind that is not there."""
    if kind not in ("value", "object", "array"):
        raise SchemaError("", "kind", f"{kind!r:.60} is none of value, object, array")
    return True if kind == "value" else {"type": kind}
