"""The public ``Grammar``: a set of rules with a start rule, ready to be compiled for a vocabulary."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stackmask.grammar import ir, whole_strings
from stackmask.grammar.ir import Rule, RuleSet
from stackmask.grammar.ir.dump import dump, summary
from stackmask.grammar.outputs import Output, OutputError, choices_of, letters_of, output_of_schema, reader_of
from stackmask.grammar.ready import Ready, find_ready
from stackmask.grammar.source.diagnostics import Collector, Diagnostic, Warnings
from stackmask.grammar.source.files import find_bundled, read_text
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.source.options import (
    ELSEWHERE,
    GRAMMAR_OF,
    ArgumentError,
    Suggesting,
    check_text_and_start,
    explains_options,
    missing_name,
    operand,
)
from stackmask.grammar.source.work import Event, Work, check_text, counted, enter
from stackmask.pda.limits import DEFAULT_LIMITS, Limits, check_limits

if TYPE_CHECKING:
    from stackmask.grammar.directives.frontend import Directives
    from stackmask.grammar.json_schema.document.report import Report
    from stackmask.grammar.lark.modules import LarkReport
    from stackmask.grammar.turns.parts.merge import ByNames, Merged


class Grammar(metaclass=Suggesting):
    """An immutable grammar. Create one with a ``from_…`` method; equal rules have equal automata.

    All of these take ``limits`` (default: ``Limits()``), and raise BudgetError if a text is larger
    (``max_input_bytes``) or takes more work (``max_work``, ``max_seconds``) than the limits allow. The
    grammar keeps its limits for ``normalized``; the work is charged to the request that compiles it.
    """

    report: Report | LarkReport | None = None
    """Parts that were narrowed, relaxed or treated as annotations; only for JSON Schema and Lark."""

    limits: Limits | None = None
    """The limits that the grammar was created with; None for the defaults."""

    output: Output | None = None
    """The conversion of texts to values, for types, JSON Schemas, choices and patterns; otherwise None."""

    _rules: RuleSet | None = None  # not made yet without a vocabulary, or not read yet
    _ready: Ready | None = None  # where they are read from
    _normalized: RuleSet | None = None
    _marked: ByNames[Grammar] | None = None
    _warnings: Warnings | None = None  # None until asked
    _notation: Literal["ebnf", "lark"] | None = None  # of its first source
    _regex: tuple[str, str, str] | None = None  # pattern, flavour and flags
    _free_text: Mapping[str, Any] | None = None
    if not TYPE_CHECKING:
        __getattr__ = missing_name
    _asked: Mapping[str, Any] | None = None  # the options of a schema, where others may take more

    work: int = 0
    """The units of work used to read the grammar and, if this has happened, to normalise it."""

    def __init__(self, rules: RuleSet | None = None, *, normalized: RuleSet | None = None) -> None:
        """Create a grammar from rules; ``normalized``: rules of the same language that are already in normal form."""
        if not isinstance(rules, RuleSet):
            given = getattr(rules, "__name__", type(rules).__name__)
            raise ArgumentError(f"Grammar(…) is not called with {given}; write {GRAMMAR_OF}")
        self._rules = rules
        self._normalized = normalized

    @classmethod
    def _read(cls, limits: Limits | None, read: Callable[[], Grammar]) -> Grammar:
        """Return the result of ``read``, and count its work."""
        check_limits(limits)
        # all intermediate objects are temporary
        with without_collection(), counted(_account(limits or DEFAULT_LIMITS)) as work:
            grammar = read()
        grammar.limits = limits
        grammar.work = work.done
        return grammar

    @property
    def rules(self) -> RuleSet:
        """The rules as written, with imports resolved and skip rules inserted."""
        if self._rules is None and self._ready is not None:
            self._rules = self._ready.written()
        elif self._rules is None:
            made = self.for_vocabulary(())
            self._normalized = made._normalized
            self._rules = made.rules
        return self._rules

    @property
    def normalized(self) -> RuleSet:
        """The rules in normal form for the automaton, computed on first use, within the limits of the grammar.

        Raises: GrammarError if the language is empty or cannot be enforced; BudgetError at the limits.
        """
        return self._normalized or self.normalize()

    @property
    def warnings(self) -> Warnings:
        """Valid but probably unintended constructs: an unused rule, a hidden alternative, an unknown keyword
        of a schema.

        Diagnostics of severity "warning", by position (``docs/grammar.md``); ``str()`` formats them. They
        change no mask.
        Cost: on first use, reading the text again, within the limits of the grammar.
        """
        if self._warnings is None:
            with counted(_account(self.limits or Limits())):
                self._warnings = find_warnings(self.rules, self._notation, self._regex, self.report)
        return self._warnings

    def normalize(self, limits: Limits | None = None, cancel: Event | None = None) -> RuleSet:
        """Return ``normalized``, computed within ``limits`` if the grammar has no limits of its own.

        The call ends once ``cancel``, a ``threading.Event``, is set. An interrupted call has no effect.
        Raises: GrammarError, BudgetError as ``normalized``; CancelledError.
        """
        if self._normalized is None:
            rules = self.rules
        if self._normalized is None:
            from stackmask.grammar.normalize import normalize

            with counted(_account(self.limits or limits or Limits(), self.work, cancel)) as work:
                made = normalize(rules)
            if self._normalized is None:  # another thread may have been faster
                self.work = work.done
                self._normalized = made
        return self._normalized

    @classmethod
    def of(
        cls, source: Any, *, profile: Literal["exact", "model"] = "model", limits: Limits | None = None
    ) -> Grammar:
        """Create the grammar for any specification of a model's output.

        ``source``: a Grammar (returned unchanged), a type (a pydantic model, a dataclass, a TypedDict,
        ``Literal``, ``Enum``, ``list[int]``, a union), a JSON Schema as a dict or as text, a structural tag
        as a dict, a ``re.Pattern`` for the whole text, a list of strings to choose from, EBNF text, or a
        ``pathlib.Path`` (``.ebnf``, ``.gbnf``, ``.lark``, ``.json``). A str is never a path. ``profile``: as
        in ``from_json_schema``.
        Raises: OutputError (a StackmaskError) for anything else, with a list of the possibilities; as the
            ``from_…`` method that is used.
        """
        if profile not in ("exact", "model"):
            raise OutputError(f"`profile` is {profile!r:.60}, not exact or model")
        if isinstance(source, cls):
            return source
        reader = reader_of(source)
        if reader == "from_json_schema":
            return cls.from_json_schema(source, profile=profile, limits=limits)
        made: Grammar = getattr(cls, reader)(source, limits=limits)
        return made

    @classmethod
    @explains_options(ELSEWHERE["ebnf"])
    def from_ebnf(
        cls,
        text: str,
        start: str | None = "root",
        *,
        name: str = "<grammar>",
        base: str | os.PathLike[str] | None = None,
        grammars: Mapping[str, Grammar] | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Read a grammar in the EBNF dialect (``docs/grammar.md``).

        ``start``: the start rule; None means the rule ``root`` if it exists, else the first one. ``name``:
        the name of the text in diagnostics. ``base``: the folder to which imported paths are relative.
        ``grammars``: other grammars by name, which the text can use as rules.
        Raises: GrammarError with all problems of the text and their positions.
        Cost: about 2 ms per kilobyte; the first call in a process also builds the parser, about 0.1 s.
        """
        from stackmask.grammar.directives.frontend import Directives, given_parts, rules_of
        from stackmask.grammar.ebnf.modules import load_rules

        check_text_and_start(text, start)
        folder = None if base is None else Path(base)
        parts = given_parts(grammars, cls)
        given = rules_of(parts)

        def read() -> Grammar:
            check_text("the grammar", text)
            found = Directives(load_rules(text, name=name, base=folder, start=start, given=given), given)
            grammar = _of_parts(found, parts.values())
            grammar._notation = "ebnf"
            return grammar

        return cls._read(limits, read)

    @classmethod
    @explains_options(ELSEWHERE["ebnf"])
    def from_lark(
        cls,
        text: str,
        start: str | None = "start",
        *,
        name: str = "<grammar>",
        base: str | os.PathLike[str] | None = None,
        grammars: Mapping[str, Grammar] | None = None,
        flavor: Literal["python", "rust", "xgrammar"] = "python",
        on_unsupported: Literal["error", "relax"] = "error",
        limits: Limits | None = None,
    ) -> Grammar:
        """Read a Lark grammar as a language without a lexer (``docs/lark.md``); ``report`` lists constructs
        without effect.

        Arguments as in ``from_ebnf``; ``grammars`` are used as ``@name``. ``flavor``: the flavour of its
        regular expressions: "python" as in Lark, "rust" as in llguidance, or "xgrammar", which also forbids
        ignored text at the start. ``on_unsupported``: "relax" makes terminals that are only declared empty.
        Raises: GrammarError with all problems of the text and their positions. Cost: about 1 ms per kilobyte.
        """
        from stackmask.grammar.directives.frontend import Directives, given_parts, rules_of
        from stackmask.grammar.lark.frontend import load_lark

        check_text_and_start(text, start)
        folder = None if base is None else Path(base)
        parts = given_parts(grammars, cls)
        given = rules_of(parts)

        def read() -> Grammar:
            check_text("the grammar", text)
            options: Any = {"flavor": flavor, "on_unsupported": on_unsupported, "given": parts}
            loaded, report, *_ = load_lark(text, name=name, base=folder, start=start, **options)
            grammar = _of_parts(Directives(loaded, given), parts.values())
            grammar.report = report
            grammar._notation = "lark"
            return grammar

        return cls._read(limits, read)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], start: str | None = None, *, limits: Limits | None = None
    ) -> Grammar:
        """Read a grammar file; without ``start``, the start rule is ``root`` if it exists, else the first rule.

        Raises: GrammarFileError if the file cannot be read; GrammarError as ``from_ebnf``.
        """
        if not isinstance(path, str | os.PathLike):
            raise ArgumentError(f"a path is str or os.PathLike, not {type(path).__name__}")
        file = Path(path)
        base = file.parent
        text = read_text(file)
        if file.suffix.lower() == ".lark":
            return cls.from_lark(text, start, name=str(file), base=base, limits=limits)
        return cls.from_ebnf(text, start, name=str(file), base=base, limits=limits)  # mutant: other-base

    @classmethod
    @explains_options(ELSEWHERE["schema"])
    def from_json_schema(
        cls,
        schema: Any,
        *,
        draft: str | None = None,
        resources: Mapping[str, Any] | None = None,
        formats: str | None = None,
        whitespace: Any = None,
        property_order: str = "schema",
        on_unsupported: str = "error",
        spelling: str | None = None,
        numbers: str | None = None,
        extra_keys: str | None = None,
        profile: Literal["exact", "model"] = "exact",
        dialect: str | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Create the grammar of the JSON texts that are valid under a schema (``docs/json-schema.md``).

        ``schema``: a dict or bool, JSON text, a path to a file, a pydantic model, a dataclass, a TypedDict.
        ``draft``: 4, 6, 7, 2019-09 or 2020-12, if ``$schema`` is absent. ``resources``: schemas by URI, as
        targets of references. ``formats``: "assert", "plain" (times and UUIDs in one case) or "annotate"
        (without effect). ``whitespace``: "any" (bounded), "compact", "single", ``{"max": n}``,
        ``{"separators": (item, member)}``, ``{"indent": n}``, ``{"pattern": regex}``. ``property_order``:
        "schema" requires declared properties in declared order, with others after them; "any" allows any
        order. ``on_unsupported``: "relax" drops keywords that cannot be enforced, and ``report`` lists them.
        ``spelling``: "plain" spells keys, ``enum``, ``const`` and characters without escapes in one way, so
        that jump-forward can force them; "dumps" spells all strings as ``json.dumps(ensure_ascii=False)``
        does; "any" allows every spelling of JSON. ``numbers``: "plain" allows integers only as digits, with
        64 bits, and no endless runs of digits. ``extra_keys``: "none" forbids undeclared keys that a Python
        type ignores. ``profile``: the defaults of these options: "exact" ("assert", and "any" for all
        others), or "model" for model output ("plain", "single", "dumps", "plain", "none"). ``dialect``:
        "openapi-3.0", "openapi-3.1", "openai-strict", "gemini", "anthropic": the schema's dialect, with its
        limits.
        Raises: SchemaError, DialectError, UnsupportedSchemaError (cannot be enforced exactly),
            UnsatisfiableSchemaError.
        Cost: about 0.2 ms for a schema of 1 KB.
        """
        from stackmask.grammar.json_schema.frontend import schema_rules

        reader = partial(
            schema_rules,
            schema,
            draft=draft,
            resources=resources,
            formats=formats,
            whitespace=whitespace,
            property_order=property_order,
            on_unsupported=on_unsupported,
            spelling=spelling,
            numbers=numbers,
            extra_keys=extra_keys,
            profile=profile,
            dialect=dialect,
        )

        def read() -> Grammar:
            rules, report = reader()
            grammar = cls(rules, normalized=rules)  # in normal form by construction
            grammar.report = report
            grammar._asked = None if resources else reader.keywords
            grammar.output = output_of_schema(schema)
            return grammar

        return cls._read(limits, read)

    @classmethod
    def json(
        cls,
        kind: Literal["value", "object", "array"] = "value",
        *,
        whitespace: Any = None,
        profile: Literal["exact", "model"] = "exact",
    ) -> Grammar:
        """Create the grammar of any JSON of a kind: "value" is any value; keys are unique inside an object.

        ``whitespace``, ``profile``: as in ``from_json_schema``.
        Raises: SchemaError for another kind or whitespace.
        Cost: about 20 µs.
        """
        from stackmask.grammar.json_schema.frontend import schema_of_kind

        return cls.from_json_schema(schema_of_kind(kind), whitespace=whitespace, profile=profile)

    @classmethod
    def bundled(cls, name: str, start: str | None = None, *, version: str | None = None) -> Grammar:
        """Return a bundled grammar, such as ``json``; ``start`` as in ``from_file``.

        ``version``: the version of the language, for ``python``; by default the newest. ``python-3.12`` is
        also a name.
        Raises: GrammarFileError if no grammar has this name and version. Cost: milliseconds, since it is
        stored in normal form; with ``start``, that of ``from_ebnf``.
        """
        path = find_bundled(name, version)
        shown = f"stackmask/grammars/{path.name}"
        ready = find_ready(path, shown) if start is None else None
        if ready is None:
            return cls.from_ebnf(read_text(path), start, name=shown, base=path.parent)

        def read() -> Grammar:
            grammar = cls(ready.normalized())
            grammar._normalized, grammar._rules, grammar._ready = grammar._rules, None, ready
            grammar._notation = "ebnf"
            return grammar

        return cls._read(None, read)

    @classmethod
    @explains_options(ELSEWHERE["regex"])
    def from_regex(
        cls,
        pattern: str | bytes | re.Pattern[Any],
        *,
        flavor: Literal["ecma", "python", "rust"] = "ecma",
        flags: str = "",
        search: bool = False,
        limits: Limits | None = None,
    ) -> Grammar:
        """Return the grammar of the strings that a regular expression matches (``docs/regex.md``).

        ``flavor``: the syntax and semantics. ``flags``: letters of the flavour. ``search``: match anywhere in
        the text instead of the whole text. A bytes pattern matches byte strings. A pattern of ``re.compile``
        has its own flavour and flags.
        Raises: GrammarError with all problems of the pattern and their positions.
        Cost: about 1 µs per character.
        """
        from stackmask.grammar.regex.compile import regex_rules

        if isinstance(pattern, re.Pattern):
            letters = letters_of(pattern)
            return cls.from_regex(
                pattern.pattern, flavor="python", flags=letters, search=search, limits=limits
            )
        written = pattern

        def read() -> Grammar:
            enter("reading the pattern")
            if isinstance(written, str | bytes):
                check_text("the pattern", written)
            rules = regex_rules(written, flavor=flavor, flags=flags, search=search)
            grammar = cls(rules)
            grammar.output = Output("text")
            grammar._regex = (rules.sources[0].text, flavor, flags)
            return grammar

        return cls._read(limits, read)

    @classmethod
    @explains_options(ELSEWHERE["sql"])
    def from_sql(
        cls,
        dialect: str,
        *,
        schema: Any = None,
        tables: Iterable[str] | None = None,
        columns: Mapping[str, Iterable[str]] | None = None,
        functions: Iterable[str] | Literal["any"] | None = None,
        read_only: bool = True,
        max_limit: int | None = None,
        allow_comments: bool = False,
        escape: str | None = None,
        new_names: bool = False,
        double_quotes: Literal["names", "strings"] = "names",
        without_from: bool = False,
        profile: Literal["exact", "model"] = "exact",
        blanks: Literal["any", "single"] | None = None,
        keywords: Literal["any", "upper"] | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Create the grammar of one query (SELECT, VALUES, WITH … SELECT) of a dialect (``docs/sql.md``).

        ``dialect``: "sqlite" or "postgres". ``functions``: None allows the dialect's pure functions, with the
        right number of arguments; a list allows these; "any" allows all names. ``read_only``: functions that
        write, lock, wait or read files are refused by name, regardless of ``functions``. ``max_limit``: the
        outermost query must end with a LIMIT of at most that many rows. ``allow_comments``: allow comments
        wherever whitespace is allowed. ``schema``: a database, its DDL, or its tables with their columns;
        names must then be in scope. ``tables``, ``columns`` (by table) restrict the tables and columns that
        may be read. ``escape``: an alternative to a query, for questions that the database cannot answer.
        ``new_names``: SELECT may also use names that only FROM defines: columns of a query in FROM, and
        aliases of any length; FROM must then define them. ``double_quotes``: "strings" reads text in double
        quotes that is not a name as a string, as SQLite does. ``without_from``: allow VALUES or SELECT
        without FROM. ``profile``: "exact", or "model" for model output: ``blanks="single"``, at most one
        space where whitespace is allowed, and ``keywords="upper"``, keywords only in capitals. A grammar is
        not authorisation: run its queries with a role that may only read.
        Raises: SQLError for invalid arguments.
        Cost: some 0.1 to 0.3 s for a dialect's first grammar, which is prepared then.
        """
        from stackmask.grammar.sql.calls.calls import QuerySpelling
        from stackmask.grammar.sql.frontend import query_rules

        def read() -> Grammar:
            written, ready = query_rules(
                dialect,
                schema=schema,
                tables=tables,
                columns=columns,
                escape=escape,
                new_names=new_names,
                without_from=without_from,
                functions=functions,
                read_only=read_only,
                max_limit=max_limit,
                spelling=QuerySpelling(profile, allow_comments, blanks, keywords, double_quotes),
            )
            return cls(written, normalized=ready)

        return cls._read(limits, read)

    @classmethod
    def from_choices(cls, strings: Iterable[str | bytes] | Any, *, limits: Limits | None = None) -> Grammar:
        """Return the grammar of exactly these strings.

        ``strings``: a list, or a ``Literal[…]`` or Enum, whose members are written without quotes; numbers,
        booleans and None are written as in JSON.
        Raises: StackmaskError if ``strings`` is a single string, or contains other objects; GrammarError if a
        string contains a lone surrogate, or, at compile time (G103), if the list is empty.
        Cost: linear in the bytes, after sorting.
        """
        from stackmask.grammar.outputs import encoded_choices

        listed, output = choices_of(strings)

        def read() -> Grammar:
            expr = ir.Choice(tuple(map(ir.Literal, sorted(encoded_choices(listed)))))
            grammar = cls(RuleSet({"root": Rule("root", expr)}, "root"))
            grammar.output = output
            return grammar

        return cls._read(limits, read)

    @classmethod
    def from_structural_tag(cls, tag: Any, *, limits: Limits | None = None) -> Grammar:
        """Create the grammar of a structural tag, ``{"type": "structural_tag", "format": {…}}``
        (``docs/composition.md``).

        ``tag``: a dict, JSON text or a pydantic model; also the older ``{"structures": […], "triggers":
        […]}``. When the grammar is compiled, strings of the tag that are special tokens of the vocabulary
        become these tokens.
        Raises: StructuralTagError, with the JSON pointer of the error; GrammarError and SchemaError for
        grammars and schemas inside.
        """
        from stackmask.grammar.turns.formats.frontend import structural_rules

        def read(names: frozenset[str]) -> Grammar:
            return cls._merged(structural_rules(tag, names))

        return cls._read(limits, lambda: cls._with_markers(read))

    @classmethod
    def _merged(cls, made: Merged) -> Grammar:
        """Return the grammar of combined rules."""
        return cls(made.rules, normalized=made.rules if made.is_ready else None)

    @classmethod
    def _with_markers(cls, read: Callable[[frozenset[str]], Grammar], *, later: bool = False) -> Grammar:
        """Return the result of ``read`` without a vocabulary. ``read`` is called again for each vocabulary.

        ``later``: ``read`` cannot raise errors, so without a vocabulary it is only called for the rules.
        """
        from stackmask.grammar.turns.parts.merge import ByNames

        grammar = cls.__new__(cls) if later else read(frozenset())
        grammar._marked = ByNames(read)
        return grammar

    def for_vocabulary(self, special_names: Iterable[str]) -> Grammar:
        """Return the grammar in which markers that are special tokens of the vocabulary are these tokens.

        ``special_names``: the names of the special tokens. The compiler calls this. A grammar without markers
        is returned unchanged.
        """
        if self._marked is None:
            return self
        return self._marked.of(frozenset(special_names), lambda make: self._read(self.limits, make))

    def __or__(self, other: Grammar) -> Grammar:
        """Return the union: the strings of either grammar."""
        return union(self, operand(other, Grammar))

    def __add__(self, other: Grammar) -> Grammar:
        """Return the concatenation: a string of this grammar, followed by a string of the other."""
        return concat(self, operand(other, Grammar))

    def optional(self) -> Grammar:
        """Return the grammar that also accepts the empty string."""
        return self.repeat(0, 1)

    def repeat(self, low: int = 0, high: int | None = None) -> Grammar:
        """Return the grammar of ``low`` to ``high`` consecutive strings of this one; None for no upper bound.

        Raises: StackmaskError for contradictory numbers.
        """
        from stackmask.grammar.turns.parts.merge import check_counts, repeated

        check_counts(low, high)
        return _composed([("", self)], lambda parts: repeated(parts[0][1], low, high))

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole string is in the language. A str with a lone surrogate is not in it.

        Raises: SampleError if the grammar contains special tokens, which are not text; as
            ``Compiler.compile``.
        Cost: compiling once, then linear in the text.
        """
        return whole_strings.accepts(self, text)

    def sample(self, n: int = 1, seed: int = 0, *, max_bytes: int = 10_000) -> list[str]:
        """Draw ``n`` random strings, each of at most ``max_bytes``; the same for the same seed.

        Alternatives are about equally likely, and strings mostly short. Invalid UTF-8 becomes lone
        surrogates, as with Python's "surrogateescape".
        Raises: SampleError if no string is found, or the grammar contains special tokens; as
        ``Compiler.compile``.
        Cost: about 1 ms for a JSON text, 0.1 s for a SQL query.
        """
        return whole_strings.sample(self, n, seed, max_bytes)

    def dump(self) -> str:
        """Return the rules as text, the same for equal rules, for reading and comparing.

        It is not a source format: ``from_ebnf`` refuses notations such as ``<bytes 09>`` and ``@keyed<…>``.
        """
        return dump(self.rules)

    def __repr__(self) -> str:
        return f"<Grammar: {summary(self.rules)}>"

    def _repr_html_(self) -> str | None:
        from stackmask.grammar.diagram.pictures import notebook_html

        return notebook_html(self.rules)


def union(*parts: Grammar, **named: Grammar) -> Grammar:
    """Return the union of the parts; diagnostics use the names of named parts.

    Raises: StackmaskError if a part is not a grammar, or there is none; GrammarError if a part cannot be
    used, or their semantic states conflict (G120).
    Cost: about 2 µs per rule, and normalising the parts.
    """
    from stackmask.grammar.turns.parts.merge import checked_parts, union

    return _composed(checked_parts(parts, named, Grammar), union)


def concat(*parts: Grammar, **named: Grammar) -> Grammar:
    """Return the concatenation of the parts, in order. Raises, Cost: as ``union``."""
    from stackmask.grammar.turns.parts.merge import checked_parts, concat

    return _composed(checked_parts(parts, named, Grammar), concat)


def _of_parts(found: Directives, parts: Iterable[Grammar]) -> Grammar:
    """Return the grammar of a text with parts, for each vocabulary if the parts have markers."""
    if found.has_markers or any(part._marked is not None for part in parts):
        return Grammar._with_markers(lambda names: Grammar(found.rules(names)))
    return Grammar(found.rules())


def _composed(
    parts: list[tuple[str, Grammar]], join: Callable[[list[tuple[str, RuleSet]]], Merged]
) -> Grammar:
    """Return the grammar that ``join`` creates from the rules of the parts, for each vocabulary if needed."""
    from stackmask.grammar.turns.parts.merge import named

    limits = next((part.limits for _, part in parts if part.limits is not None), None)

    def read(names: frozenset[str]) -> Grammar:
        rules = []
        for name, part in parts:
            own = part.for_vocabulary(names) if names else part
            rules.append((name, named(name, own.normalize)))
        return Grammar._merged(join(rules))

    if any(part._marked is not None for _, part in parts):
        return Grammar._read(limits, lambda: Grammar._with_markers(read))
    return Grammar._read(limits, lambda: read(frozenset()))


def _account(limits: Limits, spent: int = 0, cancel: Event | None = None) -> Work:
    return Work(limits.max_work, limits.max_seconds, limits.max_input_bytes, spent=spent, event=cancel)


# -- The warnings of a grammar, whichever front end read it ----------------------------------------------


def find_warnings(
    rules: RuleSet,
    notation: str | None,
    regex: tuple[str, str, str] | None,
    report: Report | LarkReport | None,
) -> Warnings:
    """Return the probably unintended constructs of a grammar.

    ``notation``: the notation of its first source, "ebnf" or "lark". ``regex``: its source pattern, flavour
    and flags.
    Cost: reading the text again.
    """
    found: list[Diagnostic] = []
    if notation is not None:
        from stackmask.grammar.ebnf import parser as ebnf
        from stackmask.grammar.lark import parser as lark
        from stackmask.grammar.notation.warnings import grammar_warnings

        text = rules.sources[0].text
        if notation == "ebnf":
            found += grammar_warnings(rules, ebnf.parse_module(text, 0, Collector()), ebnf.comments(text))
        else:
            found += grammar_warnings(rules, lark.parse_module(text, 0, Collector()))
    if regex is not None:  # mutant: regex-warnings
        from stackmask.grammar.regex.compile import regex_warnings

        found += regex_warnings(*regex)
    if report is not None:
        found += [
            Diagnostic(
                "G209", f"{note.pointer}: unknown keyword `{note.keyword}`", None, "", note.reason, "warning"
            )
            for note in getattr(report, "unknown", ())
        ]
    warnings = Warnings(found)
    warnings.sources = rules.sources
    return warnings
