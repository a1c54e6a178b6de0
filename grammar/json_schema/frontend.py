"""The entry point, which converts a schema and options to rules and a report."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, Final, NamedTuple

from stackmask.grammar.ir import Expr, RuleSet
from stackmask.grammar.json_schema.algebra.algebra import Algebra
from stackmask.grammar.json_schema.document.drafts import BY_NAME, WITHOUT_EFFECT, Draft
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError
from stackmask.grammar.json_schema.document.loading import is_type, load_schema
from stackmask.grammar.json_schema.document.python_types import narrowings_of
from stackmask.grammar.json_schema.document.report import Copied, Report, copied
from stackmask.grammar.json_schema.document.schema_size import has_own_parts, written_bytes
from stackmask.grammar.json_schema.sets.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.sets.string_sets import TextsTooLarge
from stackmask.grammar.json_schema.text.strings import ANY, ANY_CHARS
from stackmask.grammar.json_schema.write.lowering import Lowering
from stackmask.grammar.json_schema.write.number_spellings import PLAIN_NARROWING
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
    spend_units,
)

MAX_KNOWN: Final = 256  # schemas that are remembered as a whole
MAX_KNOWN_BYTES: Final = 4096  # of one
MAX_KNOWN_PARTS: Final = 2000
# a unit of work makes one to five bytes of rules, about half of which other grammars share: 4 to 20 MB
MAX_KNOWN_UNITS: Final = 8_000_000  # of all that are remembered
MAX_KNOWN_UNITS_EACH: Final = 500_000

PREPARED_CLASSES = (ANY_CHARS[ANY],)  # nearly every grammar has JSON strings


class Options(NamedTuple):
    """The checked options of a schema that are strings. ``draft``: the draft if ``$schema`` is absent."""

    formats: str
    whitespace: str
    spelling: str
    numbers: str
    extra_keys: str
    relax: bool = False
    draft: Draft | None = None


PROFILES: Final = {
    "exact": Options("assert", "any", "any", "any", "any"),
    "model": Options("plain", "single", "dumps", "plain", "none"),
}
"""The values of options that the caller did not set."""

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

    ``write``: writes the rules of the values. ``words``: the spellings of null, true and false.
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
        raise SchemaError("", name, f"{option!r:.60} is not a string") from None
    spelling, numbers, formats = chosen.spelling, chosen.numbers, chosen.formats
    if resources is not None and not isinstance(resources, Mapping):
        raise SchemaError("", "resources", f"a dict of schemas by URI, not {type(resources).__name__}")
    blanks = Whitespace.of(chosen.whitespace if whitespace is None else whitespace)
    style = Style.of(blanks, spelling, numbers == "plain", property_order == "any", words)
    is_closed = False
    key = None
    try:
        enter("reading the schema")
        with without_collection():  # all that is made on the way is gone at the end
            closing = of_type and chosen.extra_keys == "none"
            if isinstance(source, str | bytes | bytearray):
                check_text("the JSON Schema", source)
            loaded = load_schema(source, mark_objects=closing)
            if dialect is None and not (resources or of_type) and write is Lowering.run:
                key = key_of(loaded, (draft, formats, chosen.relax), style)
            if loaded is source or resources:
                most = input_limit()
                if key is None or most < MOST_WRITTEN:  # a schema with a key is small
                    check_size("the JSON Schema", written_bytes([loaded, resources], most))
            known = None if key is None else _KNOWN.by_key.get(key)
            if known is not None:
                spend_units(known.units)  # its work is charged again
                return known.rules, known.report.copy()
            if closing:
                from stackmask.grammar.json_schema.document.declared_keys import close_objects

                is_closed = close_objects(loaded)
            if dialect is not None:
                from stackmask.grammar.json_schema.document.dialects import read_dialect

                loaded, meant = read_dialect(dialect, loaded)
                chosen = chosen._replace(draft=meant)
            work = current_work()
            before = 0 if work is None else work.done
            rules, report = read_schema(loaded, style, chosen, resources, of_type, write)
    except RecursionError:
        raise UnsupportedSchemaError("", "", TOO_DEEP) from None
    if key is not None:
        report.source = Copied(key[0])
    elif not of_type:
        report.source = loaded if isinstance(source, str | bytes | bytearray) else copied(loaded)
    else:
        report.source = loaded
        for narrowing in narrowings_of(loaded):
            report.add("narrowed", "", "type", narrowing)
    if is_closed:
        report.add("narrowed", "", "", EXTRA_KEYS)
    options = {
        "draft": chosen.draft and chosen.draft.name,
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
        _KNOWN.add(key, Known(rules, report.copy(), work.done - before))
    return rules, report


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
) -> Options:
    """Check a schema's options, and add those of the profile. Raises: SchemaError for an invalid one."""
    if draft is not None and draft not in BY_NAME:
        raise SchemaError("", "draft", f"{draft!r} is not one of 4, 6, 7, 2019-09, 2020-12")
    if profile not in PROFILES:
        raise SchemaError("", "profile", f"{profile!r:.60} is not one of {', '.join(PROFILES)}")
    if dialect is not None:
        from stackmask.grammar.json_schema.document.dialects import DIALECTS

        if dialect not in DIALECTS:
            raise SchemaError("", "dialect", f"{dialect!r:.60} is not one of {', '.join(DIALECTS)}")
        if draft is not None:
            raise SchemaError("", "draft", f"the dialect {dialect} is of a draft already; leave `draft` out")
    if extra_keys == "none" and not of_type:
        raise SchemaError(
            "", "extra_keys", "is for Python types; a schema says `additionalProperties: false`"
        )
    given: dict[str, Any] = {
        "formats": formats,
        "spelling": spelling,
        "numbers": numbers,
        "extra_keys": extra_keys,
    }
    chosen = PROFILES[profile]._replace(
        **{name: option for name, option in given.items() if option is not None}
    )
    words = (chosen.formats, property_order, on_unsupported, *chosen[2:5])
    for (name, known), option in zip(OPTIONS, words, strict=True):
        if option not in known:
            raise SchemaError("", name, f"{option!r} is not one of {', '.join(known)}")
    meant = None if draft is None else BY_NAME[draft]  # mutant: own-draft
    return chosen._replace(relax=on_unsupported == "relax", draft=meant)


def read_schema(
    schema: Any,
    style: Style,
    options: Options = PROFILES["exact"],
    resources: Any = None,
    of_type: bool = False,
    write: Callable[[Lowering], RuleSet] = Lowering.run,
) -> tuple[RuleSet, Report]:
    """Return the rules and the report of a schema as Python values. Raises: SchemaError and its subclasses."""
    for share in (True, False):
        report = Report()
        algebra = Algebra(
            schema,
            report=report,
            share=share,
            draft=options.draft,
            resources=resources,
            formats=options.formats,
            relax=options.relax,
            of_type=of_type,
        )
        report.meant = algebra.registry.root.draft.keywords - WITHOUT_EFFECT
        try:
            return _written(algebra, style, write), report
        except SchemaError:
            if not algebra.literals.repeats:
                raise
            # a part that was worked out once for several places has the place of the first: say the right one
    raise AssertionError("without sharing nothing repeats")


def _written(algebra: Algebra, style: Style, write: Callable[[Lowering], RuleSet]) -> RuleSet:
    """Return the rules written by ``write``. Raises: SchemaError and its subclasses."""
    lowering = Lowering(algebra, style)
    root = algebra.registry.root.where
    try:
        return write(lowering)
    except UnicodeEncodeError as error:
        text = error.object.encode(errors="backslashreplace").decode()
        raise UnsupportedSchemaError(root, "", f"a lone surrogate is not a character: {text:.80}") from None
    except UnsupportedNumber as error:
        raise UnsupportedSchemaError(root, "multipleOf", str(error)) from None
    except TextsTooLarge as error:
        raise UnsupportedSchemaError(root, "pattern", str(error)) from None
    finally:
        lowering.forget()


# -- schemas that come again -----------------------------------------------------------------------------


class Known(NamedTuple):
    """A schema that was read, with its rules, its report, and the work that this took."""

    rules: RuleSet
    report: Report
    units: int


class KnownSchemas:
    """A cache of schemas by content, bounded by their number and their total work.

    The oldest ones are dropped for new ones. Threads may share it.
    """

    __slots__ = ("_lock", "by_key", "units")

    def __init__(self) -> None:
        self.by_key: dict[tuple[Any, ...], Known] = {}
        self._lock = Lock()
        self.units = 0

    def add(self, key: tuple[Any, ...], known: Known) -> None:
        """Store a schema, unless reading it took too much work."""
        if known.units > MAX_KNOWN_UNITS_EACH:
            return
        by_key = self.by_key
        with self._lock:
            old = by_key.pop(key, None)
            self.units += known.units - (0 if old is None else old.units)
            while by_key and (len(by_key) >= MAX_KNOWN or self.units > MAX_KNOWN_UNITS):
                self.units -= by_key.pop(next(iter(by_key))).units
            by_key[key] = known


_KNOWN: Final = KnownSchemas()


def key_of(schema: Any, options: tuple[Any, ...], style: Style) -> tuple[Any, ...] | None:
    """Return the content of a schema and all else its grammar depends on, or None if not worth caching.

    Not worth caching are large schemas, those with values that are not plain JSON, and those in which an
    object is shared: the report lists the locations of equal parts, but a shared object only once.
    """
    if type(schema) is dict:
        if not has_own_parts(schema, MAX_KNOWN_PARTS, MAX_KNOWN_BYTES):
            return None
    elif type(schema) is not bool:
        return None
    try:
        said = marshal.dumps(schema, 2)
    except ValueError:  # it has a value that JSON does not have
        return None
    return (said, options, style) if len(said) <= MAX_KNOWN_BYTES else None


# -- what options leave out ------------------------------------------------------------------------------


class Given(NamedTuple):
    """The arguments that the rules were created with, for reports on their effects. ``kind``: the type, if given."""

    rules: RuleSet
    kind: Any
    blanks: Whitespace
    options: dict[str, Any]

    def notes(self, schema: Any) -> Iterator[str]:
        """Yield the exclusions of options without which the rules of the type or the schema would differ."""
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
        """Return whether the rules would differ with another option."""
        rules = schema_rules(source, **{**self.options, **other})[0]
        return dict(rules.rules) != dict(self.rules.rules)


# -- arguments of tools ----------------------------------------------------------------------------------


def tool_rules(source: Any, profile: str, blanks: str = "") -> tuple[RuleSet, Report]:
    """Return the rules of a tool's arguments as JSON, in a profile, and the report.

    ``blanks``: the pattern of whitespace in the exact profile, which uses ``spelling="plain"`` here.
    Raises: as ``schema_rules``. Cost: about 10 µs for a plain object.
    """
    if profile == "model":
        return schema_rules(source, profile=profile)
    return schema_rules(source, spelling="plain", whitespace={"pattern": blanks})


def argument_rules(
    source: Any,
    *,
    style: str,
    spell: Callable[[str], Expr],
    excludes: Sequence[str] = (),
    whitespace: Any = None,
    property_order: str = "schema",
    plain: bool = False,
    profile: str = "exact",
) -> tuple[RuleSet, bool, Report]:
    """Return the rules of an object with members between markers, whether they are normalized, and the
    report.

    ``style``: one of ``ARGUMENT_STYLES``. ``spell``: the function that writes a piece of a marker.
    ``excludes``: strings that must not occur in names and strings between markers. ``plain``: as
    for ``ArgumentWriter.is_plain``. ``profile``: the profile of JSON; "model" allows only a line break or
    nothing between markers.
    Raises: SchemaError and its subclasses.
    """
    from stackmask.grammar.json_schema.write.argument_rules import LINE_BREAK, ArgumentWriter
    from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES

    if style not in ARGUMENT_STYLES:
        raise SchemaError("", "style", f"{style!r:.60} is not one of json, {', '.join(ARGUMENT_STYLES)}")

    writers = []

    def write(lowering: Lowering) -> RuleSet:
        chosen = ARGUMENT_STYLES[style]
        blanks = LINE_BREAK if profile == "model" else lowering.whitespace.empty
        writers.append(ArgumentWriter(lowering, chosen, spell, tuple(excludes), blanks, plain))
        return writers[-1].run()

    spelling: str | None = "plain"
    if profile == "model":
        spelling = None
        whitespace = (
            "compact" if ARGUMENT_STYLES[style].nested else None
        )  # these have no JSON of several parts
    rules, report = schema_rules(
        source,
        whitespace=whitespace,
        property_order=property_order,
        spelling=spelling,
        profile=profile,
        write=write,
    )
    return rules, not writers[-1].has_patterns, report


def python_rules(source: Any) -> tuple[RuleSet, bool, Report]:
    """Return the result of ``argument_rules`` for an object whose members are arguments of a Python call.

    Raises: SchemaError and its subclasses.
    """
    from stackmask.grammar.json_schema.write.python_arguments import PYTHON_WORDS, PythonWriter

    writers = []

    def write(lowering: Lowering) -> RuleSet:
        writers.append(PythonWriter(lowering))
        return writers[-1].run()

    blanks = {"separators": (", ", ": ")}
    rules, report = schema_rules(
        source, whitespace=blanks, spelling="dumps", numbers="plain", write=write, words=PYTHON_WORDS
    )
    return rules, not writers[-1].has_patterns, report


def schema_of_kind(kind: Any) -> Any:
    """Return the schema of any JSON of a kind. Raises: SchemaError for an unknown kind."""
    if kind not in ("value", "object", "array"):
        raise SchemaError("", "kind", f"{kind!r:.60} is not one of value, object, array")
    return True if kind == "value" else {"type": kind}
