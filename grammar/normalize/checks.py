"""Checks of rules: of the assumptions of later passes, then of keys, captures, restrictions and the stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.normalize.graph import facts, reachable, reference_graph, solve
from stackmask.grammar.normalize.nullable import Ends, ends_of, rule_ends
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.similar import advice
from stackmask.grammar.source.work import spend

ALL_BYTES: Final = (1 << 256) - 1
MAX_NESTING = 400  # the front ends stop at 100 levels of text, each at most a few levels of expression
MAX_NAMES_SHOWN = 400  # in "did you mean": the comparison is quadratic


def check_wellformed(ruleset: ir.RuleSet) -> None:
    """Check that names are defined, repetitions are valid and nesting is bounded.

    Raises: GrammarError (G101, G104, G105, G106).
    """
    names = ruleset.rules.keys()
    if ruleset.start in names and all(
        names >= set(found.names) and found.counts and found.depth < MAX_NESTING
        for found in [facts(rule.body) for rule in ruleset.rules.values()]
    ):
        return
    problems = []
    if ruleset.start not in ruleset.rules:
        problems.append(
            Diagnostic(
                "G104", f"the start rule `{ruleset.start}` is not defined", help=_hint(ruleset.start, ruleset)
            )
        )
    for name, rule in ruleset.rules.items():
        stack: list[tuple[ir.Expr, int]] = [(rule.body, 1)]
        too_deep = False
        deepest: dict[int, int] = {}  # what occurs several times is looked at once, where it is deepest
        while stack:
            expr, depth = stack.pop()
            spend(3)
            if deepest.get(id(expr), 0) >= depth:
                continue
            first = id(expr) not in deepest
            deepest[id(expr)] = depth
            if depth > MAX_NESTING:
                too_deep = True
                continue
            match expr:
                case ir.RuleRef(target, _, span) if first and target not in ruleset.rules:
                    problems.append(
                        Diagnostic(
                            "G101",
                            f"undefined rule `{target}`",
                            span,
                            "no rule of this name",
                            _hint(target, ruleset),
                        )
                    )
                case ir.Repeat(_, low, high, span) if first and (
                    low < 0 or (high is not None and high < low)
                ):
                    bounds = f"{{{low},{'' if high is None else high}}}"
                    problems.append(
                        Diagnostic("G106", f"impossible repetition {bounds}", span, "needs 0 <= m <= n")
                    )
            stack.extend((item, depth + 1) for item in reversed(ir.children(expr)))
        if too_deep:
            problems.append(
                Diagnostic(
                    "G105",
                    f"rule `{name}` nests more than {MAX_NESTING} expressions",
                    rule.span,
                    help="give inner parts rules of their own",
                )
            )
    if problems:
        raise GrammarError(problems, ruleset.sources)


def _hint(name: str, ruleset: ir.RuleSet) -> str:
    if len(ruleset.rules) > MAX_NAMES_SHOWN:
        return ""
    return advice(name, ruleset.rules, "")


# --------------------------------------------------------------------------------------------------------
# Pass 5: the tests of object keys stand where the automaton can decide them, and fit the object around them
# --------------------------------------------------------------------------------------------------------

NO_KEYS: Final = -1
_TESTS: Final = frozenset({ir.Slot, ir.KeyTest})
_KINDS: Final = _TESTS | {ir.Keyed, ir.Capture}


def check_keys(ruleset: ir.RuleSet) -> None:
    """Check every object with keys, and every test of a key.

    Raises: GrammarError (G119).
    """
    if all(facts(rule.body).kinds.isdisjoint(_KINDS) for rule in ruleset.rules.values()):
        return
    parts = [expr for rule in ruleset.rules.values() for expr in ir.walk(rule.body)]
    tests = [expr for expr in parts if isinstance(expr, ir.Slot | ir.KeyTest)]
    keyed = [expr for expr in parts if isinstance(expr, ir.Keyed)]
    if not tests and not keyed and not any(isinstance(e, ir.Capture) and e.action == "key" for e in parts):
        return
    problems = [_problem(why, expr.span) for expr in keyed if (why := _spec_problem(expr.spec))]
    ends = rule_ends(ruleset)
    placed: set[int] = set()
    for rule in ruleset.rules.values():
        for test, follows in _tests_in(rule.body, ends):
            placed.add(id(test))
            if not follows:
                problems.append(_problem("the rest of its sequence can be empty", test.span))
    problems += [
        _problem("it is not an item of a sequence", expr.span) for expr in tests if id(expr) not in placed
    ]
    levels = key_levels(ruleset)
    if levels[ruleset.start] != NO_KEYS:
        span = ruleset.rules[ruleset.start].span
        problems.append(_problem("it can be reached outside every object", span))
    for expr in keyed:
        if key_level(expr.item, levels) > expr.spec.slots:
            slot = key_level(expr.item, levels) - 1
            problems.append(_problem(f"slot {slot} of an object with {expr.spec.slots} slots", expr.span))
    if problems:
        raise GrammarError(problems, ruleset.sources)


def key_levels(ruleset: ir.RuleSet) -> dict[str, int]:
    """Return for each rule the level of its key tests: 0 for tests that need no slots, i + 1 for slot i."""
    return solve(ruleset, NO_KEYS, key_level)


def key_level(expr: ir.Expr, levels: Mapping[str, int]) -> int:
    """Return the level of an expression; objects inside it track their own keys."""
    level = NO_KEYS
    todo = [expr]
    seen: set[int] = set()
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, ir.Keyed):
            continue
        seen.add(id(part))
        if isinstance(part, ir.RuleRef):
            level = max(level, levels[part.name])
        elif isinstance(part, ir.Slot):
            level = max(level, part.index + 1)
        elif isinstance(part, ir.KeyTest) or (isinstance(part, ir.Capture) and part.action == "key"):
            level = max(level, 0)
        todo += ir.children(part)
    return level


def _tests_in(body: ir.Expr, ends: Mapping[str, Ends]) -> list[tuple[ir.Expr, bool]]:
    """Return the tests among the items of sequences, each with whether a non-nullable item follows it.

    The continuation of a choice or a repetition also follows its last item, if the sequence there itself
    consumes a byte: otherwise only the tests would decide a path through it. The continuation of a rule or an
    object does not count.
    """
    found: list[tuple[ir.Expr, bool]] = []
    todo: list[tuple[ir.Expr, bool]] = [(body, False)]
    seen: set[tuple[int, bool]] = set()
    while todo:
        expr, follows = todo.pop()
        if (id(expr), follows) in seen or facts(expr).kinds.isdisjoint(_TESTS):
            continue
        seen.add((id(expr), follows))
        if isinstance(expr, ir.Sequence):
            spend(len(expr.items))
            consumes = any(
                not isinstance(item, ir.Slot | ir.KeyTest) and not ends_of(item, ends) for item in expr.items
            )
            for item in reversed(expr.items):
                if isinstance(item, ir.Slot | ir.KeyTest):
                    found.append((item, follows and consumes))
                else:
                    todo.append((item, follows))
                    follows = follows or not ends_of(item, ends)
        else:
            follows = follows and isinstance(expr, ir.Choice | ir.Repeat)
            todo += [(child, follows) for child in ir.children(expr)]
    return found


def _spec_problem(spec: ir.KeySpec) -> str:
    if spec.slots < 0 or not all(0 <= slot < spec.slots for slot in spec.required):
        return f"required slots are not among its {spec.slots} slots"
    if spec.min_count < 0 or not spec.is_satisfiable():
        return "no set of keys meets its bounds"
    return ""


def _problem(why: str, span: ir.Span | None) -> Diagnostic:
    return Diagnostic("G119", f"object keys cannot be kept account of: {why}", span)


# -- Pass 7: captured items consume something, and text only ---------------------------------------------


def check_captures(ruleset: ir.RuleSet) -> None:
    """Check every captured item.

    Raises: GrammarError (G110 nullable, G111 a special token inside: it has no text to capture).
    """
    if not any(ir.Capture in facts(rule.body).kinds for rule in ruleset.rules.values()):
        return
    captures = [
        expr for rule in ruleset.rules.values() for expr in ir.walk(rule.body) if isinstance(expr, ir.Capture)
    ]
    ends = rule_ends(ruleset)
    graph = reference_graph(ruleset)
    users: dict[str, list[str]] = {name: [] for name in graph}
    for name, targets in graph.items():
        for target in targets:
            users[target].append(name)
    holds_token = (n for n, rule in ruleset.rules.items() if ir.TokenTerminal in facts(rule.body).kinds)
    with_token = reachable(holds_token, users)  # they, and all that lead to them
    problems = []
    for capture in captures:
        if ends_of(capture.item, ends):
            problems.append(
                Diagnostic(
                    "G110",
                    "a captured item must not match the empty string",
                    capture.span,
                    help="make it `+` instead of `*`, or capture only where there is text",
                )
            )
        spend(2 * facts(capture.item).size)
        inside = facts(capture.item)
        if ir.TokenTerminal in inside.kinds or not with_token.isdisjoint(inside.names):
            problems.append(
                Diagnostic("G111", "a special token has no text and cannot be captured", capture.span)
            )
    if problems:
        raise GrammarError(problems, ruleset.sources)


# --------------------------------------------------------------------------------------------------------
# Pass 9: no follow restriction is pending where the state decides what comes: dynamic rules, object keys.
#
# The first byte of a dynamic rule is not known. And which keys can still come is told from the state alone: a
# restriction that rules some of them out would make dead ends.
# --------------------------------------------------------------------------------------------------------


def check_restrictions(ruleset: ir.RuleSet) -> None:
    """Check that no restriction is pending where dynamic rules start or object keys are compared.

    Raises: GrammarError (G116).
    """
    kinds = frozenset().union(*(facts(rule.body).kinds for rule in ruleset.rules.values()))
    if ir.NotFollowedBy not in kinds or kinds.isdisjoint({ir.Dynamic, ir.Slot, ir.KeyTest}):
        return
    ends = rule_ends(ruleset)
    levels = key_levels(ruleset)

    def passes(expr: ir.Expr) -> bool:
        """Return whether the expression can be empty where text comes after it."""
        return any(mask != ALL_BYTES for mask in ends_of(expr, ends))

    def leaves_pending(expr: ir.Expr, leaves: Mapping[str, bool]) -> bool:
        """Return whether the expression, entered without a pending restriction, can end with one."""
        match expr:
            case ir.NotFollowedBy(mask):
                return 0 < mask < ALL_BYTES  # where all bytes are ruled out, the text ends
            case ir.RuleRef(name):
                return leaves[name]
            case ir.Sequence(items):
                for item in reversed(items):
                    if leaves_pending(item, leaves):
                        return True
                    if not passes(item):
                        return False
                return False
            case ir.Choice():
                return any(leaves_pending(item, leaves) for item in ir.children(expr))
            case _:
                return any(leaves_pending(item, leaves) for item in ir.children(expr))

    leaves = solve(ruleset, False, leaves_pending)
    problems: dict[int, Diagnostic] = {}
    # what is entered with a restriction pending, and what without: a rule is looked at once for each
    seen = {(ruleset.start, False)}
    todo = [(ruleset.start, False)]
    while todo:
        name, entry = todo.pop()
        stack = [(ruleset.rules[name].body, entry)]
        while stack:
            expr, pending = stack.pop()
            spend(4)
            match expr:
                case ir.Sequence() | ir.Keyed():
                    pass
                case _ if pending and key_level(expr, levels) != NO_KEYS:
                    problems[id(expr)] = Diagnostic(
                        "G116",
                        "object keys cannot follow a restriction directly",
                        expr.span,
                        "a restriction can be pending here",
                        "put text between the two",
                    )
                    continue
            match expr:
                case ir.RuleRef(target):
                    if (target, pending) not in seen:
                        seen.add((target, pending))
                        todo.append((target, pending))
                case ir.Dynamic(resolver, span) if pending and not getattr(
                    resolver, "follows_restrictions", False
                ):
                    problems[id(expr)] = Diagnostic(
                        "G116",
                        "a dynamic rule cannot follow a restriction directly",
                        span,
                        "a restriction can be pending here",
                        "put text between the two",
                    )
                case ir.Sequence(items):
                    for item in items:
                        stack.append((item, pending))
                        pending = leaves_pending(item, leaves) or (pending and passes(item))
                case ir.Repeat(item):
                    stack.append((item, pending or leaves_pending(item, leaves)))
                case _:
                    stack.extend((item, pending) for item in ir.children(expr))
    if problems:
        raise GrammarError(list(problems.values()), ruleset.sources)


# -- Pass 8: the text on top of the stack is asked for only where something has been captured ------------


def check_stack(ruleset: ir.RuleSet) -> None:
    """Check that ``top`` is never used with an empty stack, by the minimal depth at which each rule is entered.

    There is no pop, since scopes restore the previous stack. So it suffices to know whether the depth is 0.

    Raises: GrammarError (G115).
    """
    if not any(ir.Dynamic in facts(rule.body).kinds for rule in ruleset.rules.values()):
        return
    tops = any(
        isinstance(e, ir.Dynamic) and isinstance(e.resolver, str)
        for r in ruleset.rules.values()
        for e in ir.walk(r.body)
    )
    if not tops or ruleset.initial != ():
        return
    may_keep = solve(ruleset, False, _may_keep_depth)
    problems = []
    entered = {ruleset.start}
    todo = [ruleset.start]
    while todo:
        stack = [ruleset.rules[todo.pop()].body]  # expressions that can be entered with an empty stack
        while stack:
            expr = stack.pop()
            spend(4)
            match expr:
                case ir.RuleRef(name):
                    if name not in entered:
                        entered.add(name)
                        todo.append(name)
                case ir.Dynamic(str(resolver), span):
                    problems.append(
                        Diagnostic(
                            "G115",
                            f"`@{resolver}` can be reached where nothing has been pushed",
                            span,
                            "the stack can be empty here",
                            "push before it on every way, or give the grammar an initial text",
                        )
                    )
                case ir.Sequence(items):
                    empty_here = []
                    for item in items:
                        empty_here.append(item)
                        if not _may_keep_depth(item, may_keep):
                            break
                    stack.extend(reversed(empty_here))
                case _:
                    stack.extend(reversed(ir.children(expr)))
    if problems:
        raise GrammarError(problems, ruleset.sources)


def _may_keep_depth(expr: ir.Expr, may_keep: Mapping[str, bool]) -> bool:
    """Return whether the expression can be passed without leaving a pushed value."""
    match expr:
        case ir.Capture(item, action):
            return action not in ("push", "new") and _may_keep_depth(item, may_keep)
        case ir.RuleRef(name):
            return may_keep[name]
        case ir.Sequence(items):
            return all(_may_keep_depth(item, may_keep) for item in items)
        case ir.Choice(items):
            return any(_may_keep_depth(item, may_keep) for item in items)
        case ir.Repeat(item, low):
            return low == 0 or _may_keep_depth(item, may_keep)
        case ir.Scope() | ir.Keyed():
            return True
        case _:
            return True
