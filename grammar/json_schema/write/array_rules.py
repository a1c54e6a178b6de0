"""Arrays as expressions: leading items, repeated items, and rules per state where items are counted."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ArrayForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.write.array_expr import array_expr
from stackmask.grammar.json_schema.write.interfaces import ValueWriter
from stackmask.grammar.json_schema.write.style import ANY_ARRAY, JSON_WORDS
from stackmask.grammar.json_schema.write.unique import enough_values, unique_array
from stackmask.grammar.source.work import spend

MAX_COUNTING: Final = 2000  # states of counting items of some kind
_OPEN: Final = ir.Literal(b"[")
_CLOSE: Final = ir.Literal(b"]")

Position = tuple[int, tuple[int, ...]]
"""How many items there were (as far as it matters), and how many of each counted kind."""


class Plan:
    """An array whose items are counted, as an automaton over items."""

    __slots__ = ("accepting", "live", "moves")

    def __init__(self) -> None:
        self.moves: dict[Position, list[tuple[State, Position]]] = {}
        self.accepting: set[Position] = set()
        self.live: set[Position] = set()


class ArrayWriter:
    """Writes arrays for one grammar."""

    def __init__(self, writer: ValueWriter) -> None:
        self.writer = writer
        self.plans: dict[int, tuple[ArrayForm, Plan]] = {}

    def children(self, form: ArrayForm) -> Iterable[State]:
        """Return the states of all items."""
        if form.contains and self.writer.algebra.relax:
            try:
                self.plan(form)
            except UnsupportedSchemaError as error:
                self.writer.algebra.report.add("relaxed", error.where, error.keyword, error.reason)
                form.contains = []
        if form.contains:
            return {state for moves in self.plan(form).moves.values() for state, _ in moves}
        if form.high is not None and form.high <= len(form.prefix):
            return form.prefix
        return [*form.prefix, form.rest]

    def is_productive(self, form: ArrayForm) -> bool:
        """Return whether there is such an array, as far as is known of its items."""
        productive = self.writer.productive
        if form.contains:
            return self.find_live(self.plan(form))
        for i in range(min(form.low, len(form.prefix))):
            if not productive[form.prefix[i]]:
                return False
        if form.low > len(form.prefix) and not productive[form.rest]:
            return False
        return not form.unique or form.low < 2 or enough_values(self.writer, form)

    def check_words(self, form: ArrayForm) -> None:
        """Refuse distinct items that would have to be read again, where not all of them are written as in JSON."""
        writer = self.writer
        if writer.style.words is JSON_WORDS:
            return
        for state in (*form.prefix, form.rest):
            value = writer.algebra.value(state) if state else None
            if value is None or value.mask & (NULL | TRUE | FALSE) or value.arrays or value.objects:
                reason = "distinct items other than strings and numbers, written as Python's literals"
                raise UnsupportedSchemaError(writer.algebra.where(state), "uniqueItems", reason)

    def expression(self, form: ArrayForm) -> ir.Expr:
        """Return the expression of an array."""
        spend(10 + 4 * len(form.prefix))
        if form.unique is False:
            self.writer.algebra.unsupported(
                self.writer.algebra.where(form.rest), "uniqueItems", "its negation: two items must be equal"
            )
        if form.unique:
            self.check_words(form)
            try:
                return unique_array(self.writer, form)
            except UnsupportedSchemaError as error:
                if not self.writer.algebra.relax:
                    raise
                self.writer.algebra.report.add("relaxed", error.where, error.keyword, error.reason)
        if form.contains:
            return self.counted(form)
        productive = self.writer.productive
        prefix = form.prefix
        high = form.high
        if not prefix and not form.rest and not form.low and high is None:  # any array
            self.writer.uses_prelude = True
            return ANY_ARRAY
        for i, state in enumerate(prefix):
            if not productive[state]:
                prefix, high = prefix[:i], i
                break
        if (high is None or high > len(prefix)) and not productive[form.rest]:
            high = len(prefix)
        items = [self.writer.expression(state) for state in prefix]
        rest = None
        if high is None or high > len(prefix):
            rest = self.writer.expression(form.rest)
        return array_expr(self.writer.whitespace, items[:high], rest, form.low, high)

    # -- counting ----------------------------------------------------------------------------------------

    def plan(self, form: ArrayForm) -> Plan:
        """Return the automaton of an array with counted items.

        Raises: UnsupportedSchemaError beyond 2,000 states.
        """
        known = self.plans.get(id(form))
        if known is not None:
            return known[1]
        algebra = self.writer.algebra
        plan = Plan()
        cap = max(len(form.prefix), form.low, *(start for start, *_ in form.contains))
        if form.high is not None:
            cap = max(cap, form.high)
        start: Position = (0, (0,) * len(form.contains))
        todo = [start]
        plan.moves[start] = []
        known_states: dict[tuple[State, tuple[int, ...]], State | None] = {}
        while todo:
            position = todo.pop()
            index, counts = position
            spend(10)
            if index >= form.low and all(  # mutant: least-items
                counts[i] >= least for i, (_, _, least, _) in enumerate(form.contains)
            ):
                plan.accepting.add(position)
            if form.high is not None and index >= form.high:
                continue
            item = form.prefix[index] if index < len(form.prefix) else form.rest
            for state, after in self._marked(form, item, index, counts, known_states):
                target = (min(index + 1, cap), after)
                plan.moves[position].append((state, target))
                if target not in plan.moves:
                    if len(plan.moves) >= MAX_COUNTING:
                        raise UnsupportedSchemaError(
                            algebra.where(frozenset((form.contains[0][1],))),
                            "contains",
                            f"counting the items takes more than {MAX_COUNTING} states",
                        )
                    plan.moves[target] = []
                    todo.append(target)
        self.plans[id(form)] = (form, plan)
        return plan

    def _marked(
        self,
        form: ArrayForm,
        item: State,
        index: int,
        counts: tuple[int, ...],
        known: dict[tuple[State, tuple[int, ...]], State | None],
    ) -> list[tuple[State, tuple[int, ...]]]:
        """Return the kinds of the next item: its state, and the counts after it.

        ``known``: the states of items with counted kinds, as positions share them; None for one without a value.
        """
        algebra = self.writer.algebra
        options: list[list[tuple[int, int]]] = []  # per counted kind: (literal or 1, count)
        for (start, literal, least, most), count in zip(form.contains, counts, strict=True):
            if index < start or (most is None and count >= least):
                options.append([(1, count)])
            elif most is None:
                options.append([(1, count), (literal, count + 1)])
            else:
                options.append([(-literal, count)])
                if count < most:
                    options[-1].append((literal, count + 1))
        found = []
        for choice in product(*options):
            spend(6 + len(options))
            literals, after = zip(*choice, strict=True)
            key = item, literals
            if key in known:
                state = known[key]
            else:
                made = algebra.state([*item, *literals])
                state = known[key] = None if algebra.clashes(made) else made
            if state is not None:
                found.append((state, after))
        return found

    def find_live(self, plan: Plan) -> bool:
        """Find the positions from which the array can end, with items that have values."""
        productive = self.writer.productive
        live = set(plan.accepting)
        changed = True
        while changed:
            changed = False
            for position, moves in plan.moves.items():
                spend(1 + len(moves))
                if position not in live and any(
                    target in live and productive.get(state) for state, target in moves
                ):
                    live.add(position)
                    changed = True
        plan.live = live
        return (0, next(iter(plan.moves))[1]) in live

    def counted(self, form: ArrayForm) -> ir.Expr:
        """Return an array whose items are counted: a rule per position."""
        writer, ws = self.writer, self.writer.whitespace
        plan = self.plan(form)
        self.find_live(plan)
        start = (0, (0,) * len(form.contains))
        names = {position: writer.fresh("items") for position in plan.moves if position in plan.live}

        def moves(position: Position, before: ir.Expr) -> list[ir.Expr]:
            joined: dict[Position, list[ir.Expr]] = {}
            for state, target in plan.moves[position]:
                if target in plan.live and writer.productive.get(state):
                    joined.setdefault(target, []).append(writer.expression(state))
            return [
                ir.Sequence((before, writer.choice(items), ir.RuleRef(names[target])))
                for target, items in joined.items()
            ]

        for position, name in names.items():
            options = moves(position, ws.item)
            if position in plan.accepting:
                options.append(ir.Sequence(ws.end(_CLOSE)))
            writer.rules[name] = ir.Rule(name, writer.choice(options))
        first = moves(start, ws.open)
        if start in plan.accepting:
            first.append(ir.Sequence((ws.empty, _CLOSE)))
        return ir.Sequence((ws.begin(_OPEN), writer.choice(first)))
