"""Pass 10: turn left recursion into right recursion, without an exponential increase in size.

For the rules Aᵢ of a cycle of first calls, separate the leading calls (``left_parts``):

Aᵢ⁺ = bᵢ ∪ ⋃ⱼ Aⱼ⁺ rᵢⱼ                 a linear system; bᵢ consumes a byte and calls no Aⱼ first

Its least solution runs along the links: from some bⱼ, through links, to Aᵢ. So

    Aᵢ   ::= ⋃ⱼ bⱼ Tⱼᵢ  (| ε)             Tⱼᵢ ::= (ε if j = i) | ⋃ₖ rₖⱼ Tₖᵢ

which is polynomial, whereas Paull's classical substitution is exponential. A nullable link would make a Tⱼᵢ
call another one immediately, so links are restricted to their non-empty parts, and empty links are composed
beforehand. A tail that only leads to itself becomes a loop: Aᵢ ::= bᵢ rᵢᵢ*. If the whole cycle goes through
one rule that also calls itself at its end, the other rules are expanded in this rule (``operators``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    Choice,
    Expr,
    KeyTest,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Sequence,
    Slot,
)
from stackmask.grammar.ir.build import choice, is_nothing, repeat, sequence, with_bodies
from stackmask.grammar.normalize.graph import (
    components,
    cycle_through,
    facts,
    reference_graph,
    references,
    remove_unreachable,
)
from stackmask.grammar.normalize.nullable import (
    ALWAYS,
    NEVER,
    Ends,
    LeadingBehindRestriction,
    LeadingInCapture,
    Split,
    SplitTooLarge,
    both,
    ends_expression,
    ends_of,
    first_calls,
    minimal,
    nonempty_part,
    rule_ends,
    split,
    union,
)
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend

MAX_WRITTEN = 60_000  # places for nodes in the rules that replace one cycle, and steps of looking for them
_BETWEEN = " after "  # in the names of tails


def remove_left_recursion(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet without left recursion: no rule can call itself before it consumes a byte.

    Raises: GrammarError (G112 left recursion through a capture or scope, G113 after a follow restriction,
        G114 too many rules in one cycle).
    Cost: linear except for cycles; one of n rules with m links is written with at most n(n + m) parts, and
        refused beyond ``MAX_WRITTEN``.
    """
    ends = rule_ends(ruleset)
    graph = {name: list(first_calls(rule.body, ends)) for name, rule in ruleset.rules.items()}
    cycles = [c for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]]]
    if not cycles:
        return ruleset
    bodies: dict[str, Expr] = {name: rule.body for name, rule in ruleset.rules.items()}
    problems: list[Diagnostic] = []
    users: dict[str, set[str]] = {name: set() for name in ruleset.rules}
    for name, rule in ruleset.rules.items():
        for other in facts(rule.body).names:
            users[other].add(name)
    for cycle in cycles:
        splits = {}
        for name in cycle:
            try:
                splits[name] = split(ruleset.rules[name].body, frozenset(cycle), ends)
            except LeadingInCapture:
                problems.append(_refuse("G112", name, graph, "inside a capture or scope", ruleset))
            except LeadingBehindRestriction:
                problems.append(_refuse("G113", name, graph, "after a follow restriction", ruleset))
            except SplitTooLarge:
                problems.append(_too_large(cycle, ruleset))
        if len(splits) < len(cycle):
            continue
        together = put_together(cycle, splits, bodies, ends)
        if together:
            bodies |= together
            continue
        try:
            called = _called(cycle, splits, ruleset.start, users)
            bodies |= _rewrite_cycle(cycle, splits, ends, called, bodies)
        except SplitTooLarge:
            problems.append(_too_large(cycle, ruleset))
    if problems:
        raise GrammarError(problems, ruleset.sources)
    return remove_unreachable(with_bodies(ruleset, bodies))


def _too_large(cycle: list[str], ruleset: RuleSet) -> Diagnostic:
    through = f"{len(cycle)} rules are left-recursive through each other"
    return Diagnostic(
        "G114",
        f"rule `{cycle[0]}` is left-recursive, and too large to rewrite",
        ruleset.rules[cycle[0]].span,
        through if len(cycle) > 1 else "too many elements that can be empty stand in front",
        "break the cycle, or write part of it with repetition",
    )


def _refuse(code: str, name: str, graph: dict[str, list[str]], where: str, ruleset: RuleSet) -> Diagnostic:
    cycle = " → ".join(f"`{n}`" for n in cycle_through(name, graph))
    return Diagnostic(
        code,
        f"rule `{name}` is left-recursive {where}",
        ruleset.rules[name].span,
        f"left recursion: {cycle}",
        "let the rule begin with something else, or write it with repetition",
    )


def _rewrite_cycle(
    cycle: list[str],
    splits: dict[str, Split],
    ends: dict[str, Ends],
    called: list[str],
    taken: dict[str, Expr],
) -> dict[str, Expr]:
    """Return the bodies of the rules of a cycle and of the tail rules created for them."""

    def with_empty(name: str, body: Expr) -> Expr:
        return choice((body, ends_expression(ends[name])))  # mutant: empty-again

    if len(cycle) == 1:
        [name] = cycle
        link = nonempty_part(splits[name].links[name], ends)
        return {name: with_empty(name, sequence((splits[name].own, repeat(link, 0, None))))}

    jumps = _empty_paths(cycle, splits, ends)
    steps = _steps(cycle, splits, jumps, ends)
    sizes = {source: sum(2 + facts(link).written for link in steps[source].values()) for source in cycle}
    # sources that can go on in the same ways share their tails
    twins: dict[tuple[tuple[str, Expr], ...], str] = {}
    twin_of: dict[int, str] = {}
    for source in cycle:
        found = steps[source]
        if id(found) not in twin_of:
            twin_of[id(found)] = twins.setdefault(tuple(found.items()), source)
    twin = {source: twin_of[id(steps[source])] for source in cycle}
    tails: dict[tuple[str, str, Ends], Expr] = {}
    made: dict[str, Expr] = {}
    starting = [(splits[source].own, source) for source in cycle if not is_nothing(splits[source].own)]
    size = 0

    def grow(parts: int) -> None:
        nonlocal size
        size += parts
        if size > MAX_WRITTEN:
            raise SplitTooLarge
        spend(4 * parts)

    def tail(source: str, target: str) -> Expr:
        """Return the tail from a source to a target: a loop, or a call of a tail rule."""
        empty = jumps[source].get(target, NEVER)
        key = (twin[source], target, empty)
        known = tails.get(key)
        if known is None:
            grow(len(steps[source]))
            if all((twin[after], target, jumps[after].get(target, NEVER)) == key for after in steps[source]):
                grow(sizes[source])
                known = sequence((repeat(choice(steps[source].values()), 0, None), ends_expression(empty)))
            else:
                name = _fresh(f"{target}{_BETWEEN}{source}", taken)
                todo.append((source, name))
                known = RuleRef(name)
            tails[key] = known
        return known

    def followed(parts: Iterable[tuple[Expr, str]], target: str) -> list[Expr]:
        """Return the parts, each with its tail. Equal tails are written once."""
        by_tail: dict[Expr, list[Expr]] = {}
        for part, source in parts:
            by_tail.setdefault(tail(source, target), []).append(part)
        return [sequence((choice(found), then)) for then, found in by_tail.items()]

    grow(len(called) * sum(2 + facts(own).written for own, _ in starting))
    for target in called:
        todo: list[tuple[str, str]] = []
        made[target] = with_empty(target, choice(followed(starting, target)))
        for source, name in todo:
            grow(sizes[source])
            empty = jumps[source].get(target, NEVER)
            ways = followed(((link, after) for after, link in steps[source].items()), target)
            made[name] = choice([ends_expression(empty), *ways] if empty else ways)
    return made


def _called(cycle: list[str], splits: dict[str, Split], start: str, users: dict[str, set[str]]) -> list[str]:
    """Return the rules of a cycle that are also called otherwise than by leading calls in the cycle."""
    members = set(cycle)
    inside = {
        ref.name
        for part in splits.values()
        for expr in (part.own, *part.links.values())
        for ref in references(expr)
    }
    return [name for name in cycle if name == start or name in inside or not users[name] <= members]


def _empty_paths(
    cycle: list[str], splits: dict[str, Split], ends: dict[str, Ends]
) -> dict[str, dict[str, Ends]]:
    """Return ``jumps[j][i]``: the paths from Aⱼ to Aᵢ through links that derive ε, without empty entries.

    Rules that reach each other unconditionally share one result.
    Raises: SplitTooLarge.
    Cost: linear in the result times the links from a rule; limited by ``MAX_WRITTEN``.
    """
    direct: dict[str, dict[str, Ends]] = {name: {} for name in cycle}
    plain = True
    for i in cycle:
        for j, link in splits[i].links.items():
            if i != j and (link_ends := ends_of(link, ends)):
                direct[j][i] = link_ends
                plain = plain and link_ends == ALWAYS
    search = _unconditional_paths if plain else _conditional_paths
    return search(cycle, direct)


def _unconditional_paths(cycle: list[str], direct: dict[str, dict[str, Ends]]) -> dict[str, dict[str, Ends]]:
    place = {name: i for i, name in enumerate(cycle)}
    jumps: dict[str, dict[str, Ends]] = {}
    work = 0
    for component in components(
        {name: list(direct[name]) for name in cycle}
    ):  # those that are reached come first
        reached = set(component)
        for name in component:
            for other in direct[name]:
                if other not in reached:
                    work += len(jumps[other])
                    spend(1 + len(jumps[other]) // 8)
                    if work > MAX_WRITTEN:
                        raise SplitTooLarge
                    reached.update(jumps[other])
        work += len(reached)
        if work > MAX_WRITTEN:
            raise SplitTooLarge
        shared = dict.fromkeys(sorted(reached, key=place.__getitem__), ALWAYS)
        for name in component:
            jumps[name] = shared
    return jumps


def _conditional_paths(cycle: list[str], direct: dict[str, dict[str, Ends]]) -> dict[str, dict[str, Ends]]:
    jumps: dict[str, dict[str, Ends]] = {}
    work = 0
    for source in cycle:
        found: dict[str, Ends] = {source: ALWAYS}
        todo = {source: None}
        while todo:
            j = next(iter(todo))
            del todo[j]
            for i, link_ends in direct[j].items():
                before = found.get(i, NEVER)
                extended = minimal({*before, *both(found[j], link_ends)})
                work += 1 + len(found[j]) * len(link_ends) + len(extended) ** 2
                spend(4)
                if work > MAX_WRITTEN:
                    raise SplitTooLarge
                if extended != before:
                    found[i] = extended
                    todo[i] = None
        jumps[source] = {i: found[i] for i in cycle if i in found}
    return jumps


def _steps(
    cycle: list[str], splits: dict[str, Split], jumps: dict[str, dict[str, Ends]], ends: dict[str, Ends]
) -> dict[str, dict[str, Expr]]:
    """Return ``steps[j][k]``: the paths from Aⱼ to Aₖ by empty links, then a non-empty link.

    Raises: SplitTooLarge.
    """
    links: dict[str, list[tuple[str, Expr]]] = {name: [] for name in cycle}
    for k in cycle:
        for j, link in splits[k].links.items():
            nonempty = nonempty_part(link, ends)
            if not is_nothing(nonempty):
                links[j].append((k, nonempty))
    steps: dict[str, dict[str, Expr]] = {}
    known: dict[int, dict[str, Expr]] = {}  # by the jumps, which rules may share
    work = 0
    for source in cycle:
        shared = known.get(id(jumps[source]))
        if shared is None:
            found: dict[str, list[Expr]] = {}
            added = sum(len(links[j]) for j in jumps[source])
            work += added
            if work > MAX_WRITTEN:
                raise SplitTooLarge
            spend(2 * len(jumps[source]) + 4 * added)
            for j, link_ends in jumps[source].items():
                before = ends_expression(link_ends)
                for k, link in links[j]:
                    found.setdefault(k, []).append(sequence((before, link)))
            shared = known[id(jumps[source])] = {k: choice(parts) for k, parts in found.items()}
        steps[source] = shared
    return steps


def _fresh(name: str, taken: dict[str, Expr]) -> str:
    while name in taken:
        name += "'"
    return name


# --------------------------------------------------------------------------------------------------------
# Pass 12: rules that call themselves at both ends, as those of operators do, become loops.
#
# ``e ::= e "+" e | "-" e | e "!" | atom`` has a reading for every way to put brackets. The automaton would follow them
# all at once, and a step would cost more the longer the text is. The language has no brackets in it:
#
#     E = A ∪ D·E ∪ E·G ∪ E·B·E      is      D* A (G ∪ B D* A)*
#
# since both sides are the sequences of A with any D before the first and behind a B, and any G behind an A. Calls of
# E inside of A, B, D and G are what they were. So are the letters in their order, with beginnings and ends of
# captures among them: brackets around an operand are not letters, unless a capture or scope stands there, and
# then the call is not at the end of the rule.
#
# A rule comes here without left recursion: as A X*, where X* stands for all that may follow E within E. So a call of E
# at the end of X is one at the end of the rule: X = G ∪ B·E, and what precedes the loop is A ∪ D·E.
# --------------------------------------------------------------------------------------------------------

MAX_CYCLE = 64  # rules that call each other first, among which one is looked for that the others lead to
MAX_SIZE = 20_000  # nodes of what such rules become when they are put together
MAX_GROWTH = 8  # what a rule without its own tails may be larger than it was ...
FREE_GROWTH = 1_000  # ... or by so many nodes
MAX_DEPTH = 16  # calls at the end of a rule that are followed into each other
MAX_FOLLOWED = 4  # what is looked through behind such calls, in all: so many times the grammar ...
FREE_FOLLOWED = 100_000  # ... or so many nodes

Bodies: TypeAlias = Mapping[str, Expr]


def merge_operators(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet in which no rule A X* calls itself at the end of A or X, even through the ends of other rules.

    Cost: linear in the recursive rules; other rules are skipped.
    """
    graph = reference_graph(ruleset)
    recursive = [c for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]]]
    if not recursive:
        return ruleset
    ends = rule_ends(ruleset)
    bodies = {name: rule.body for name, rule in ruleset.rules.items()}
    total = sum(facts(body).size for body in bodies.values())
    budget = [max(MAX_FOLLOWED * total, FREE_FOLLOWED)]
    changed = False
    for component in recursive:
        for name in component:
            made = _merged(name, bodies, ends, budget)
            if made is not None:
                bodies[name] = made
                changed = True
    return remove_unreachable(with_bodies(ruleset, bodies)) if changed else ruleset


def _merged(name: str, bodies: Bodies, ends: Mapping[str, Ends], budget: list[int]) -> Expr | None:
    """Return the body of a rule without calls of itself at its end, or None if it does not have this form."""
    body = bodies[name]
    ways = body.items if isinstance(body, Choice) else (body,)
    empty = [way for way in ways if _is_empty(way)]
    if len(ways) - len(empty) != 1:
        return None
    [way] = [way for way in ways if not _is_empty(way)]
    if not isinstance(way, Sequence):
        return None
    loop = way.items[-1]
    if not isinstance(loop, Repeat) or loop.min or loop.max is not None:
        return None
    start = sequence(way.items[:-1])
    if ends_of(start, ends) or ends_of(loop.item, ends):
        return None
    merged = _without_own_tails(start, loop.item, _Tails(name, bodies, ends, budget))
    if merged is None:
        return None
    made = facts(merged)
    too_large = made.size > max(MAX_GROWTH * facts(body).size, facts(body).size + FREE_GROWTH)
    # what follows a test of a key must consume something, and a loop may end
    if too_large or not made.kinds.isdisjoint({Slot, KeyTest}):
        return None
    return choice((merged, *empty))


def _is_empty(expr: Expr) -> bool:
    return isinstance(expr, NotFollowedBy) or expr == EPSILON or expr == Sequence(())


def _without_own_tails(start: Expr, link: Expr, tails: _Tails) -> Expr | None:
    """Return D* A (G ∪ B D* A)* for ``start`` = A ∪ D·E and ``link`` = G ∪ B·E; None without D and B."""
    first, before_first = tails.split(start)
    after, between = tails.split(_single_rounds(link, tails.ends))
    if is_nothing(before_first) and is_nothing(between):
        return None
    operand = sequence((repeat(before_first, 0, None), first))
    return sequence((operand, repeat(choice((after, sequence((between, operand)))), 0, None)))


def _single_rounds(link: Expr, ends: Mapping[str, Ends]) -> Expr:
    """Return an equivalent loop, with X for alternatives X⁺."""
    if isinstance(link, Choice):
        return choice(_single_rounds(item, ends) for item in link.items)
    if isinstance(link, Repeat) and link.min == 1 and link.max is None and not ends_of(link.item, ends):
        return _single_rounds(link.item, ends)
    return link


class _Tails:
    """Finds the calls of one rule at the very end of an expression, or of rules that are called there."""

    def __init__(self, name: str, bodies: Bodies, ends: Mapping[str, Ends], budget: list[int]) -> None:
        self.name = name
        self.bodies = bodies
        self.ends = ends
        self.budget = budget  # nodes of other rules that may still be looked through
        self.inside: list[str] = []  # rules whose end is looked at

    def split(self, expr: Expr) -> tuple[Expr, Expr]:
        """Return (own, before) with  L(expr) = L(own) ∪ L(before)·E⁺,  where E⁺ is the rule without ε.

        Cost: linear in the expression and in the rules called at its end; beyond the budget these stay calls.
        """
        spend(4)
        match expr:
            case RuleRef(called, nonempty) if called == self.name:
                return NOTHING if nonempty else ends_expression(self.ends[called]), EPSILON
            case RuleRef(called) if self._may_follow(called):
                self.budget[0] -= facts(self.bodies[called]).size
                self.inside.append(called)
                own, before = self.split(self.bodies[called])
                self.inside.pop()
                return (expr, NOTHING) if is_nothing(before) else (own, before)
            case Sequence(items) if items:
                own, before = self.split(items[-1])
                if is_nothing(before):
                    return expr, NOTHING
                return sequence((*items[:-1], own)), sequence((*items[:-1], before))
            case Choice(items):
                parts = [self.split(item) for item in items]
                if all(is_nothing(before) for _, before in parts):
                    return expr, NOTHING
                return choice(own for own, _ in parts), choice(before for _, before in parts)
            case _:
                return expr, NOTHING

    def _may_follow(self, called: str) -> bool:
        return (
            self.budget[0] > 0
            and len(self.inside) < MAX_DEPTH
            and called not in self.inside
            # what follows the first calls of a cycle is a rule of its own, made after the ends are known
            and called in self.ends
            and not self.ends[called]
        )


def put_together(
    cycle: list[str], splits: Mapping[str, Split], bodies: Bodies, ends: Mapping[str, Ends]
) -> dict[str, Expr]:
    """Return the body of a rule through which a whole cycle of first calls goes, without its other rules.

    This requires that the rule then calls itself at its end, as in ``e ::= sum | atom; sum ::= e "+" e``;
    else return {}. The bodies of the other rules call it, and may stay, since its own begins with none of
    them.
    Cost: linear in the result for each rule that is tried, which ``MAX_SIZE`` bounds.
    """
    if not 1 < len(cycle) <= MAX_CYCLE:
        return {}
    budget = [MAX_SIZE]  # for all that are tried
    for name in cycle:
        order = _order_without(name, cycle, splits)
        spend(8 * len(cycle))
        if order is None:
            continue
        found: dict[str, Split] = {}
        sizes: dict[str, int] = {}
        for other in order:
            parts = [Split(splits[other].own)]
            sizes[other] = facts(splits[other].own).size
            spend(8 * (1 + len(splits[other].links)))
            for called, link in splits[other].links.items():
                size = facts(link).size
                if called == name:
                    parts.append(Split(NOTHING, {name: link}))
                else:
                    parts.append(found[called].then(link))
                    size += sizes[called]
                sizes[other] += size
            if sizes[other] > MAX_SIZE:
                return {}
            found[other] = union(parts)
        own = found[name].own
        link = nonempty_part(found[name].links[name], ends)
        body = sequence((own, repeat(link, 0, None)))
        if _without_own_tails(own, link, _Tails(name, bodies, ends, budget)) is not None:
            return {name: choice((body, ends_expression(ends[name])))}
    return {}


def _order_without(name: str, cycle: list[str], splits: Mapping[str, Split]) -> list[str] | None:
    """Return the rules of a cycle, each after the rules that it calls first; ``name`` is last.

    Returns None if another cycle remains.
    """
    graph = {other: [called for called in splits[other].links if called != name] for other in cycle}
    order: list[str] = []
    for component in components(graph):
        if len(component) > 1 or component[0] in graph[component[0]]:
            return None
        if component[0] != name:
            order.append(component[0])
    return [*order, name]
