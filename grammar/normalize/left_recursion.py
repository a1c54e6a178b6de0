"""Pass 10: turn left recursion into right recursion, without blowing the grammar up.

For the rules Aᵢ of a cycle of first calls, pull the leading calls out (``left_parts``):

    Aᵢ⁺ = bᵢ ∪ ⋃ⱼ Aⱼ⁺ rᵢⱼ                 a linear system; bᵢ consumes something and calls no Aⱼ first

Its least solution runs along the links: from some bⱼ, through links, to Aᵢ. So

    Aᵢ   ::= ⋃ⱼ bⱼ Tⱼᵢ  (| ε)             Tⱼᵢ ::= (ε if j = i) | ⋃ₖ rₖⱼ Tₖᵢ

which is polynomial, where Paull's classical substitution is exponential. A link that can be empty would
make a Tⱼᵢ call another one at once, so links are cut to their non-empty parts and the empty ones are
composed beforehand. A tail that leads to itself only becomes a loop: Aᵢ ::= bᵢ rᵢᵢ*. Where all leads through one rule that
calls itself at its end too, the others are written out in it (``operators``).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackmask.grammar.ir import Expr, RuleRef, RuleSet
from stackmask.grammar.ir.build import choice, is_nothing, repeat, sequence, with_bodies
from stackmask.grammar.normalize.graph import components, cycle_through, references
from stackmask.grammar.normalize.left_parts import (
    LeadingBehindRestriction,
    LeadingInCapture,
    Split,
    SplitTooLarge,
    nonempty_part,
    split,
)
from stackmask.grammar.normalize.memo import facts, remembered
from stackmask.grammar.normalize.nullable import (
    ALWAYS,
    NEVER,
    Ends,
    both,
    ends_expression,
    ends_of,
    first_called,
    minimal,
    rule_ends,
)
from stackmask.grammar.normalize.operators import put_together
from stackmask.grammar.normalize.productive import remove_unreachable
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend

MAX_WRITTEN = 60_000  # places for nodes in the rules that replace one cycle, and steps of looking for them
_BETWEEN = " after "  # in the names of tails


def remove_left_recursion(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet without left recursion: no rule can call itself before it consumes something.

    Raises: GrammarError (G112 left recursion through a capture or scope, G113 behind a follow
        restriction, G114 too many rules in one cycle).
    Cost: linear but for the cycles; one of n rules with m links is written with at most n(n + m) parts,
        and refused beyond ``MAX_WRITTEN``.
    """
    ends = rule_ends(ruleset)
    graph = {name: list(first_called(rule.body, ends)) for name, rule in ruleset.rules.items()}
    cycles = [c for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]]]
    if not cycles:
        return ruleset
    bodies: dict[str, Expr] = {name: rule.body for name, rule in ruleset.rules.items()}
    problems: list[Diagnostic] = []
    users: dict[str, set[str]] = {name: set() for name in ruleset.rules}
    for name, rule in ruleset.rules.items():
        for other in facts(rule.body).names:
            users[other].add(name)
    tails = frozenset(name for name in bodies if _BETWEEN in name)
    for cycle in cycles:
        splits = {}
        for name in cycle:
            try:
                body = ruleset.rules[name].body
                known = (tuple(cycle), tuple([ends[other] for other in facts(body).names]))
                splits[name] = remembered(split, body, known, partial(split, body, frozenset(cycle), ends))
            except LeadingInCapture:
                problems.append(_refuse("G112", name, graph, "inside a capture or scope", ruleset))
            except LeadingBehindRestriction:
                problems.append(_refuse("G113", name, graph, "behind a follow restriction", ruleset))
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
            made = _rewritten(cycle, splits, ends, called, bodies, tails, ruleset)
            tails |= {name for name in made if name not in ruleset.rules}
            bodies |= made
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


def _rewritten(
    cycle: list[str],
    splits: dict[str, Split],
    ends: dict[str, Ends],
    called: list[str],
    bodies: dict[str, Expr],
    tails: frozenset[str],
    ruleset: RuleSet,
) -> dict[str, Expr]:
    """Return what ``_rewrite_cycle`` does, or did for the same bodies with the same things around them."""
    members = [ruleset.rules[name].body for name in cycle]
    around = {other: ends[other] for body in members for other in facts(body).names}
    taken = tails if len(cycle) > 1 else None
    key = (tuple(cycle), tuple(map(id, members)), tuple(around.items()), tuple(called), taken)
    answer = partial(_rewrite_cycle, cycle, splits, ends, called, bodies)
    return remembered(_rewrite_cycle, members[0], key, answer, members)


def _rewrite_cycle(
    cycle: list[str],
    splits: dict[str, Split],
    ends: dict[str, Ends],
    called: list[str],
    taken: dict[str, Expr],
) -> dict[str, Expr]:
    """Return the bodies of the rules of a cycle and of the tail rules made for them."""

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
        """Return what leads from a source to a target: a loop, or a call of a tail rule."""
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
        """Return the parts, each with its tail, equal tails written once."""
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
    """Return the rules of a cycle that are called other than by a leading call of the cycle itself."""
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
    """Return ``jumps[j][i]``: the ways to get from Aⱼ to Aᵢ through links that derive ε; no entry where there is none.

    Rules that reach each other unconditionally share one answer.
    Raises: SplitTooLarge.
    Cost: linear in the answer times the links from a rule; beyond ``MAX_WRITTEN`` it is not looked for.
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
    """Return ``steps[j][k]``: what leads from Aⱼ to Aₖ by empty links and then one that is not empty.

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
