"""The workloads: each makes ready what is not counted, and returns what is.

All run in forks of one process, which has met a request of each kind before, as a server has: modules are imported, the
dialects of SQL are read. What a workload calls new was not met there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import texts

import stackmask as sm

Run = Callable[[], object]
WORKLOADS: dict[str, Callable[[Setting], Run]] = {}


class Setting:
    """A vocabulary, a compiler that has met other requests, and the tokens of the texts."""

    def __init__(self, prepared: Path) -> None:
        self.tokens, self.stops, self.ids_of = pickle.loads(prepared.read_bytes())
        self.vocabulary = sm.Vocabulary(self.tokens, stop_ids=self.stops)
        self.compiler = sm.Compiler(self.vocabulary)
        self.mask = sm.allocate_token_bitmask(1, self.vocabulary.size)

    def meet_requests(self) -> None:
        """Meet a request of each kind."""
        kinds: list[tuple[sm.Grammar, str]] = [
            (sm.Grammar.from_json_schema(texts.OTHER), texts.OTHER_TEXT),
            *((sm.Grammar.from_sql(dialect), texts.OTHER_QUERY) for dialect in texts.QUERIES),
            (sm.Grammar.from_sql("sqlite", schema={"orders": ["total"]}), texts.OTHER_QUERY),
            (sm.Grammar.from_lark('start: "a" b?\nb: /b+/\n%ignore " "'), "a"),
            (sm.Grammar.from_regex("a|b"), "a"),
            (sm.Grammar.from_ebnf('root ::= "a" [b-d]* (![d] & .)'), "a"),
            (sm.tools.grammar("qwen_3", texts.tools(2)[1:], reasoning="off"), "a"),
            (sm.Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "any_text"}}), "a"),
        ]
        for grammar, text in kinds:
            matcher = self.compiler.compile(grammar).matcher()
            self.follow(matcher, self.ids_of[text])
            matcher.find_jump_forward_string()
        sm.fsm.compile(sm.Grammar.from_regex("[ab]"), sm.Vocabulary([b"a", b"b"])).matcher()
        matcher = self.compiler.compile(sm.Grammar.from_json_schema(texts.OTHER)).matcher()
        matcher.fill_next_token_bitmask(self.mask, budget=matcher.needs_at_least())
        matcher.shortest_completion()

    def follow(self, matcher: Any, ids: list[int], times: int = 1) -> None:
        """Fill and accept along a text, and go back to its beginning. Raises: ValueError if it is not of the grammar."""
        for _ in range(times):
            for token in ids:
                matcher.fill_next_token_bitmask(self.mask)
                if not matcher.accept_token(token):
                    raise ValueError(matcher.refusal)
            matcher.fill_next_token_bitmask(self.mask)
            matcher.reset()

    def first(self, pairs: list[tuple[sm.Grammar, str]]) -> Run:
        """Count the masks along texts whose grammars are compiled and were not followed yet."""
        made = [(self.compiler.compile(grammar).matcher(), self.ids_of[text]) for grammar, text in pairs]

        def run() -> None:
            for matcher, ids in made:
                self.follow(matcher, ids)

        return run

    def seen(self, pairs: list[tuple[sm.Grammar, str]], times: int = 150) -> Run:
        """Count the masks along texts that were followed before."""
        made = [(self.compiler.compile(grammar).matcher(), self.ids_of[text]) for grammar, text in pairs]
        for matcher, ids in made:
            self.follow(matcher, ids, 2)

        def run() -> None:
            for matcher, ids in made:
                self.follow(matcher, ids, times)

        return run

    def compile(self, make: Callable[[], list[sm.Grammar]]) -> Run:
        """Count reading grammars, compiling them, and the first mask of each."""

        def run() -> None:
            for grammar in make():
                matcher = self.compiler.compile(grammar).matcher()
                matcher.fill_next_token_bitmask(self.mask)

        return run


def workload(name: str) -> Callable[[Callable[[Setting], Run]], Callable[[Setting], Run]]:
    """Register a workload under a name."""

    def register(make: Callable[[Setting], Run]) -> Callable[[Setting], Run]:
        WORKLOADS[name] = make
        return make

    return register


Pairs = Callable[[], list[tuple[sm.Grammar, str]]]


def _schemas(order: str = "schema", **options: Any) -> list[tuple[sm.Grammar, str]]:
    return [
        (sm.Grammar.from_json_schema(schema, property_order=order, **options), text)
        for schema, text in texts.SCHEMAS
    ]


def _sql(dialect: str, schema: Any = None) -> list[tuple[sm.Grammar, str]]:
    return [(sm.Grammar.from_sql(dialect, schema=schema), texts.QUERIES[dialect])]


def _patterns() -> list[tuple[sm.Grammar, str]]:
    return [(sm.Grammar.from_regex(pattern), text) for pattern, text in texts.PATTERNS]


# what is read, compiled, and followed for the first time and again
FAMILIES: dict[str, Pairs] = {
    "schemas": _schemas,
    "schemas, any order": partial(_schemas, "any"),
    "json.ebnf": lambda: [(sm.Grammar.bundled("json"), texts.JSON_TEXT)],
    "xml.ebnf": lambda: [(sm.Grammar.bundled("xml"), texts.XML_TEXT)],
    "EBNF": lambda: [(sm.Grammar.from_ebnf(texts.EBNF), texts.EBNF_TEXT)],
    "ambiguous": lambda: [(sm.Grammar.from_ebnf(texts.AMBIGUOUS), texts.AMBIGUOUS_TEXT)],
    "Lark": lambda: [(sm.Grammar.from_lark(texts.LARK), texts.LARK_TEXT)],
    "regexes": _patterns,
    "SQL": partial(_sql, "sqlite"),
    "SQL, postgres": partial(_sql, "postgres"),
    "SQL of a schema": partial(_sql, "sqlite", texts.TABLES),
    "tools": lambda: [(sm.tools.grammar("qwen_3", texts.tools(20), reasoning="off"), texts.TURN)],
    "structural tag": lambda: [(sm.Grammar.from_structural_tag(texts.TAG), texts.TAG_TEXT)],
}
COMPILED = ("schemas", "EBNF", "Lark", "regexes", "SQL of a schema", "tools", "structural tag")
SEEN = ("schemas", "schemas, any order", "json.ebnf", "SQL", "SQL of a schema", "Lark", "regexes", "tools")

for family in COMPILED:
    WORKLOADS[f"compile: {family}"] = lambda setting, family=family: setting.compile(
        lambda: [grammar for grammar, _ in FAMILIES[family]()]
    )
for family, pairs in FAMILIES.items():
    WORKLOADS[f"first visits: {family}"] = lambda setting, pairs=pairs: setting.first(pairs())
for family in SEEN:
    WORKLOADS[f"seen: {family}"] = lambda setting, family=family: setting.seen(FAMILIES[family]())


@workload("vocabulary and compiler")
def _vocabulary(setting: Setting) -> Run:
    return lambda: sm.Compiler(sm.Vocabulary(setting.tokens, stop_ids=setting.stops))


@workload("step of 64")
def _step(setting: Setting) -> Run:
    matchers, tokens = [], []
    for grammar, text in _schemas():
        compiled = setting.compiler.compile(grammar)
        ids = setting.ids_of[text]
        setting.follow(compiled.matcher(), ids, 2)
        for start in range(64 // len(texts.SCHEMAS) + 1):
            matchers.append(compiled.matcher())
            for token in ids[:start]:
                matchers[-1].accept_token(token)
            tokens.append(ids[start:])
    rows = sm.StepMask(64, setting.vocabulary.size)
    steps = min(map(len, tokens))

    def run() -> None:
        for number in range(steps):
            sm.step(matchers[:64], [ids[number] for ids in tokens[:64]], rows, forced=True)

    return run


@workload("batch of 64")
def _batch(setting: Setting) -> Run:
    compiled = [setting.compiler.compile(grammar) for grammar, _ in _schemas()]
    matchers = [compiled[number % len(compiled)].matcher() for number in range(64)]
    mask = sm.allocate_token_bitmask(64, setting.vocabulary.size)
    sm.fill_next_token_bitmask(matchers, mask)
    return lambda: [sm.fill_next_token_bitmask(matchers, mask) for _ in range(400)]


def _places(
    setting: Setting, pairs: list[tuple[sm.Grammar, str]], every: int, ask: Callable[[Any], object]
) -> Run:
    """Count a question at each place of texts that were followed before."""
    made = [(setting.compiler.compile(grammar).matcher(), setting.ids_of[text]) for grammar, text in pairs]
    for matcher, ids in made:
        setting.follow(matcher, ids)

    def run() -> None:
        for matcher, ids in made:
            for place, token in enumerate(ids):
                if place % every == 0:
                    ask(matcher)
                matcher.accept_token(token)
            matcher.reset()

    return run


@workload("jump-forward: schemas")
def _jumps(setting: Setting) -> Run:
    return _places(setting, _schemas(profile="model"), 1, lambda matcher: matcher.find_jump_forward_bytes())


@workload("completions: schemas")
def _completions(setting: Setting) -> Run:
    return _places(setting, _schemas(), 4, lambda matcher: matcher.shortest_completion())


@workload("budgets: schemas")
def _budgets(setting: Setting) -> Run:
    def ask(matcher: sm.Matcher) -> None:
        matcher.fill_next_token_bitmask(setting.mask, budget=matcher.needs_at_least() + 3)

    return _places(setting, _schemas(), 8, ask)


@workload("drafts, forks, ways back")
def _moves(setting: Setting) -> Run:
    [(grammar, text), *_] = _schemas()
    ids = setting.ids_of[text]
    matcher = setting.compiler.compile(grammar).matcher()
    setting.follow(matcher, ids)
    rows = sm.allocate_token_bitmask(9, setting.vocabulary.size)

    def run() -> None:
        for place in range(0, len(ids) - 8, 2):
            matcher.fill_draft_bitmask(ids[place : place + 8], list(range(-1, 7)), rows)
            for token in ids[place : place + 4]:
                matcher.accept_token(token)
            matcher.fork().rollback(2)
            matcher.rollback(2)

    return run


@workload("refusals and reports")
def _refusals(setting: Setting) -> Run:
    matcher = setting.compiler.compile(sm.Grammar.from_json_schema(texts.OTHER)).matcher()

    def run() -> None:
        for broken in ('root ::= "a" | itme\nitem ::= [z-a]', "root ::= ", "root ::= (a"):
            try:
                sm.Grammar.from_ebnf(broken)
            except sm.StackmaskError as error:
                str(error)
        for _ in range(5):
            matcher.accept_string('{"before" 1')
            matcher.expected()
            str(sm.Grammar.from_json_schema(texts.TREE, on_unsupported="relax").report)

    return run


@workload("fsm: compile")
def _fsm_compile(setting: Setting) -> Run:
    pattern, _ = texts.PATTERNS[0]
    return lambda: sm.fsm.compile(sm.Grammar.from_regex(pattern), setting.vocabulary)


@workload("fsm: masks")
def _fsm_masks(setting: Setting) -> Run:
    pattern, text = texts.PATTERNS[0]
    matcher = sm.fsm.compile(sm.Grammar.from_regex(pattern), setting.vocabulary).matcher()
    ids = setting.ids_of[text]
    setting.follow(matcher, ids)
    return lambda: setting.follow(matcher, ids, 1000)
