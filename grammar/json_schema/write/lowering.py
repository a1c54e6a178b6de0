"""From the values of states to rules: find all states, drop the empty ones, write the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any, Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir.build import effects_of, sequence
from stackmask.grammar.json_schema.algebra.algebra import Algebra
from stackmask.grammar.json_schema.document.errors import (
    SchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    Where,
)
from stackmask.grammar.json_schema.document.report import place_of_name
from stackmask.grammar.json_schema.nodes.forms import ANY_KEYS, ArrayForm, KeyClass, ObjectForm, StateValue
from stackmask.grammar.json_schema.nodes.nodes import PART_ALL, State
from stackmask.grammar.json_schema.nodes.object_members import (
    Member,
    add_states,
    by_declaration,
    chain_size,
    count_live,
    count_required,
    live_members,
    write_chain,
    write_item,
)
from stackmask.grammar.json_schema.sets.key_languages import (
    LeftOverKeys,
    LeftOverNames,
    count_keys,
    few_keys,
    first_name,
    hidden_words,
    last_name,
    next_name,
    no_keys,
    simplified,
    use_key,
)
from stackmask.grammar.json_schema.sets.numbers import (
    ALL_NUMBERS,
    INTEGERS,
    NO_NUMBERS,
    NumberSet,
    UnsupportedNumber,
    at_least,
    finite,
)
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE, Texts, finite_words, plain_texts
from stackmask.grammar.json_schema.sets.used_values import NONE_USED
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.text.strings import NARROWING as STRING_NARROWING
from stackmask.grammar.json_schema.text.strings import QUOTE, choice, literals
from stackmask.grammar.json_schema.write.contradictions import MAX_SCHEMAS, contradictions
from stackmask.grammar.json_schema.write.number_spellings import (
    NARROWING,
    ended,
    number_expr,
    number_spelling,
)
from stackmask.grammar.json_schema.write.style import (
    ANY_ARRAY,
    JSON_WORDS,
    MAY_CLOSE,
    MAY_GO_ON,
    UNDECLARED,
    Delimiters,
    ObjectStyle,
    Parted,
    Style,
)
from stackmask.grammar.json_schema.write.unique_frames import (
    CONSTANTS,
    ArrayShape,
    AtKey,
    BeginIf,
    Enter,
    Field,
    Gate,
    GateOf,
    GateOfDepth,
    MayBegin,
    ObjectShape,
    ScalarsLeft,
    begin_set,
    has_matching,
    may_close,
    may_go_on,
    take,
    take_left_over,
)
from stackmask.grammar.json_schema.write.whitespace import (
    BesideDepth,
    OfDepth,
    ResolverBesideDepth,
)
from stackmask.grammar.languages.forms import MANY
from stackmask.grammar.source.work import spend

START: Final = "root"
_ANY_WHOLE: Final = number_expr(INTEGERS, zero_fractions=False)
MAX_COUNTING: Final = 2000  # states of counting items of some kind
MAX_SHARED: Final = 500  # declared members of a chain with rules of its own
MAX_CHAIN: Final = 48  # members written for all places where a chain may start
MAX_COUNTED: Final = (
    20_000  # ways to go on, over all counts of names in an object without a native account of them
)
MAX_FOUND: Final = 4  # keys that must be found in one object, and have no name
MIN_ROOM: Final = 16  # keys without a name that there must be room for beside those that must be found
MAX_ROOM: Final = 200  # where such keys may run out
MAX_FINDING: Final = 4000  # rules of one object in which keys must be found and are counted
_NO_SLOTS: Final = ir.KeySpec(0, open=True)
MAX_VALUES: Final = 512  # values of items that are told apart by slots
MAX_SINGLE: Final = (
    4  # single values beside items without end: beside more, numbers keep all of their spellings
)
MIN_VALUES: Final = 16  # that a field must have if it has no end of them and cannot be told apart by value
MAX_MEMBERS: Final = 200  # of an object that is told apart by its members
_FEW: Final = "items of which some beginnings have only a few values"

_PLAIN: Final = "integers are digits alone, and other numbers have no exponent"

Position = tuple[int, tuple[int, ...]]
"""The number of items so far (as far as it matters), and the number of items of each counted kind."""


class Plan:
    """An automaton over the items of an array in which items are counted."""

    __slots__ = ("accepting", "live", "moves")

    def __init__(self) -> None:
        self.moves: dict[Position, list[tuple[State, Position]]] = {}
        self.accepting: set[Position] = set()
        self.live: set[Position] = set()


class Lowering:
    """Writes the rules of one schema."""

    def __init__(self, algebra: Algebra, style: Style) -> None:
        self.algebra = algebra
        self.style = style
        self.whitespace = style.blanks
        self.productive: dict[State, bool] = {}
        self.expressions: dict[State, ir.Expr] = {}
        self.rules: dict[str, ir.Rule] = {}
        self.todo: list[tuple[str, StateValue]] = []
        self.uses_prelude = False
        self.counter = 0
        self.actions: dict[ir.Action, BesideDepth] = {}  # by what they hold
        self.resolvers: dict[Callable[[Hashable], ir.Expr], ResolverBesideDepth] = {}
        self.few_words: dict[Texts, list[str] | None] = {}  # of sets of strings
        self.noted_strings = False
        self.noted_numbers = False  # whether the report says how numbers are spelled
        self.objects = ObjectWriter(self, style)

    def run(self, state: State | None = None) -> ir.RuleSet:
        """Return the rules, for one state if given. Raises: UnsatisfiableSchemaError if no value is valid."""
        algebra = self.algebra
        start = algebra.state((algebra.start,)) if state is None else state
        self.find_productive(start)
        if not self.productive[start]:
            raise UnsatisfiableSchemaError(algebra.where(start), "", self.why(start))
        self.rules[START] = ir.Rule(START, ir.EPSILON)  # the first rule, written last
        return self.finish(self.expression(start))

    def begin_objects(self) -> list[ObjectForm]:
        """Begin the start rule, and return the forms of the objects that the schema allows. Raises:
        SchemaError if there are none.
        """
        algebra = self.algebra
        start = algebra.state((algebra.start,))
        self.find_productive(start)
        self.rules[START] = ir.Rule(START, ir.EPSILON)
        forms = self.object_forms(start)
        if not self.productive[start]:
            raise UnsatisfiableSchemaError(algebra.where(start), "", self.why(start))
        if not forms:
            problem = "arguments are an object, and the schema allows none"
            raise SchemaError(algebra.where(start), "type", problem)
        return forms

    def object_forms(self, state: State) -> list[ObjectForm]:
        """Return the non-empty object forms of a state."""
        if not state:
            return [ObjectForm([], {}, [ANY_KEYS], 0, None, [])]
        return [form for form in self.algebra.value(state).objects if self.objects.is_productive(form)]

    def finish(self, body: ir.Expr) -> ir.RuleSet:
        """Return the rules: the start rule with this body, and all rules that it refers to."""
        while self.todo:
            name, value = self.todo.pop()
            spend(20)
            self.rules[name] = ir.Rule(name, self.body(value))
        self.rules[START] = ir.Rule(START, body)
        if self.uses_prelude:
            self.rules.update(self.style.any_value)
        counts = self.whitespace.nested and any(
            effects_of(self.rules)[1:]
        )  # arrays and objects, if there are any
        return ir.RuleSet(self.rules, START, self.whitespace.start if counts else ())

    def place_of_name(self, name: str) -> Where:
        """Return the location of a declared name, for use in messages."""
        return place_of_name(self.algebra.registry.root.root, name)

    def forget(self) -> None:
        """Drop the object writer, which refers back, so that all is freed without garbage collection."""
        del self.objects

    # -- which states have a value -----------------------------------------------------------------------

    def find_productive(self, start: State) -> None:
        """Determine for every state reachable from the start whether it has a value (least fixpoint)."""
        algebra = self.algebra
        productive = self.productive
        unknown: list[tuple[State, StateValue]] = []  # that need values of others
        seen = {start}
        todo = [start]
        while todo:
            state = todo.pop()
            if not state:
                productive[state] = True
                continue
            if state in productive:
                continue
            value = algebra.value(state)
            live = value.has_scalars()
            for form in value.objects:
                live = live or not (form.low or form.some or count_required(form.members))
                spend(4 + len(form.members) // 2 + len(form.classes) * (1 + len(form.some)))
                add_states(form.members, seen, todo)
                if form.classes:
                    for child in self.objects.other_children(form):
                        if child not in seen:
                            seen.add(child)
                            todo.append(child)
            for array in value.arrays:
                live = live or not (array.low or array.contains)
                for child in self.array_children(array):
                    if child not in seen:
                        seen.add(child)
                        todo.append(child)
            productive[state] = live
            if not live:
                unknown.append((state, value))
        changed = True
        while changed and unknown:
            changed = False
            left = []
            for entry in reversed(unknown):  # children mostly come after their parents
                state, value = entry
                spend(4 + 4 * (len(value.objects) + len(value.arrays)))
                if any(map(self.objects.is_productive, value.objects)) or any(
                    map(self.array_is_productive, value.arrays)
                ):
                    productive[state] = changed = True
                else:
                    left.append(entry)
            left.reverse()
            unknown = left

    def why(self, start: State) -> str:
        """Return the reason why a state has no value, by following required parts."""
        algebra = self.algebra
        path: list[str] = []
        state = start
        for _ in range(20):
            value = algebra.value(state)
            form = value.objects[0] if value.objects else None
            blocked = None
            if form is not None:
                blocked = next(
                    (m for m in form.members if m.required and not self.productive.get(m.state, True)), None
                )
            if blocked is None:
                break
            path.append(blocked.name)
            state = blocked.state
        places = sorted({algebra.place(literal) for literal in state})[:6]
        at = f"at {'/'.join(path)}: " if path else ""
        reasons = contradictions(list(islice(self._schemas_of(state), MAX_SCHEMAS)))
        why = f" ({'; '.join(reasons)})" if reasons else ""
        return f"no value is valid: {at}these parts clash: {', '.join(places) or 'the schema is false'}{why}"

    def _schemas_of(self, state: State) -> Iterator[dict[str, Any]]:
        """Yield the schema objects that all apply to a value of a state."""
        todo = [literal for literal in state if literal > 0]
        seen = set(todo)
        while todo:
            node = self.algebra.nodes[todo.pop()]
            if isinstance(node.schema, dict):
                yield node.schema
            for part in node.parts:
                if part[0] == PART_ALL:
                    todo += [literal for literal in part[1] if literal > 0 and literal not in seen]
                    seen.update(part[1])

    # -- expressions -------------------------------------------------------------------------------------

    def is_live(self, state: State) -> bool:
        """Return whether a state has a value. The state may be new."""
        if state not in self.productive:
            self.find_productive(state)
        return self.productive[state]

    def fresh(self, kind: str) -> str:
        """Return an unused rule name."""
        self.counter += 1
        return f"{kind}{self.counter}"

    def expression(self, state: State) -> ir.Expr:
        """Return the expression of a productive state; arrays and objects have separate rules."""
        found = self.expressions.get(state)
        if found is not None:
            return found
        if not state:
            self.uses_prelude = True
            result: ir.Expr = ir.RuleRef("json")
        else:
            value = self.algebra.value(state)
            if value.arrays or value.objects:
                name = self.fresh("value")
                self.todo.append((name, value))
                result = ir.RuleRef(name)
            else:
                result = choice(self.scalars(value))
        self.expressions[state] = result
        return result

    def capture(self, item: ir.Expr, action: ir.Action) -> ir.Expr:
        """Return an expression with an action on its text, combined with the depth if it matters."""
        if self.whitespace.nested and not isinstance(action, str | OfDepth | ir.TokenLimit):
            action = self.actions.setdefault(action, BesideDepth(action))
        return ir.Capture(item, action)

    def dynamic(self, resolver: Callable[[Hashable], ir.Expr]) -> ir.Expr:
        """Return the expression for a resolver, combined with the depth where the depth matters."""
        if self.whitespace.nested and not isinstance(resolver, OfDepth):
            resolver = self.resolvers.setdefault(resolver, ResolverBesideDepth(resolver))
        return ir.Dynamic(resolver)

    def structured(self, state: State) -> ir.Expr:
        """Return the arrays and objects of a state."""
        if not state:
            self.uses_prelude = True
            return ir.Choice((ir.RuleRef("json.array"), ir.RuleRef("json.object")))
        value = self.algebra.value(state)
        name = self.fresh("value")
        self.rules[name] = ir.Rule(name, choice(self.containers(value)))
        return ir.RuleRef(name)

    def forms(self, value: StateValue) -> list[ArrayForm | ObjectForm]:
        """Return the non-empty array and object forms of a value."""
        arrays = [form for form in value.arrays if self.array_is_productive(form)]
        return [*arrays, *(form for form in value.objects if self.objects.is_productive(form))]

    def container(self, form: ArrayForm | ObjectForm) -> ir.Expr:
        """Return the arrays or objects of one form."""
        if isinstance(form, ArrayForm):
            return self.whitespace.around(self.array_expression(form))
        return self.whitespace.around(self.objects.expression(form))

    def body(self, value: StateValue) -> ir.Expr:
        """Return the body of the rule of a state."""
        if not value.mask and value.number is NO_NUMBERS and value.text is NONE:  # arrays and objects alone
            return choice(self.containers(value))
        return choice([*self.scalars(value), *self.containers(value)])

    def containers(self, value: StateValue) -> list[ir.Expr]:
        """Return the expressions of the arrays and objects of a value."""
        objects = self.objects
        if (
            len(value.objects) == 1
            and not value.arrays
            and self.productive.get(value.state)
            and not value.has_scalars()
        ):
            # nearly always: what has a value has one of these
            found = [objects.expression(value.objects[0])]
            return list(map(self.whitespace.around, found)) if self.whitespace.nested else found
        found = [self.array_expression(form) for form in value.arrays if self.array_is_productive(form)]
        found += [objects.expression(form) for form in value.objects if objects.is_productive(form)]
        return list(map(self.whitespace.around, found)) if self.whitespace.nested else found

    def scalars(self, value: StateValue) -> list[ir.Expr]:
        """Return the expressions for the scalar values."""
        style, number = self.style, value.number
        options: list[ir.Expr] = [word for bit, word in style.words if value.mask & bit] if value.mask else []
        if value.digits is not None:
            options.append(self.numbers(value))
        elif number is ALL_NUMBERS:
            options.append(style.any_number)
        elif number is INTEGERS:
            options.append(style.any_whole if value.whole else style.any_integer)
        elif value.has_numbers():
            options.append(self.numbers(value))
        if value.has_strings():
            notes: list[str] = []
            text = plain_texts(value.text, notes) if self.algebra.formats == "plain" else value.text
            for note in notes:
                self.algebra.report.add("narrowed", self.algebra.where(value.state), "format", note)
            options.append(style.text(text))
            if value.text is not ALL and value.text.words is None:
                self.note_strings(self.algebra.where(value.state))
        return options

    def note_strings(self, where: Where) -> None:
        """Report, once, how strings are spelled."""
        if not self.noted_strings:
            self.noted_strings = True
            self.algebra.report.add("narrowed", where, "", f"strings: {STRING_NARROWING}")

    def note_numbers(self, where: Where) -> None:
        """Report, once, how numbers are spelled."""
        if not self.noted_numbers:
            self.noted_numbers = True
            self.algebra.report.add("narrowed", where, "", f"numbers: {NARROWING}")

    def numbers(self, value: StateValue) -> ir.Expr:
        """Return an expression for the allowed numbers, in all their spellings."""
        algebra = self.algebra
        if not value.whole:
            self.note_numbers(algebra.where(value.state))
        try:
            if value.digits is not None:
                return choice(_numbers_and_digits(value.number, value.digits, self.style.plain_numbers))
            expr, rules = number_spelling(
                value.number,
                f"number{self.counter + 1}",
                zero_fractions=not value.whole,
                plain=self.style.plain_numbers,
            )
        except UnsupportedNumber as error:
            algebra.unsupported(algebra.where(value.state), "multipleOf", str(error))
            return self.style.any_number
        if rules:
            self.counter += 1
            self.rules.update((name, ir.Rule(name, body)) for name, body in rules.items())
        return expr

    # -- arrays ----------------------------------------------------------------------------------------

    def array_children(self, form: ArrayForm) -> Iterable[State]:
        """Return the states of all items."""
        if form.contains and self.algebra.relax:
            try:
                self.plan(form)
            except UnsupportedSchemaError as error:
                self.algebra.report.add("relaxed", error.where, error.keyword, error.reason)
                form.contains = []
        if form.contains:
            return {state for moves in self.plan(form).moves.values() for state, _ in moves}
        if form.high is not None and form.high <= len(form.prefix):
            return form.prefix
        return [*form.prefix, form.rest]

    def array_is_productive(self, form: ArrayForm) -> bool:
        """Return whether such an array exists, according to what is known of its items."""
        productive = self.productive
        if form.contains:
            return self.find_live(self.plan(form))
        for i in range(min(form.low, len(form.prefix))):
            if not productive[form.prefix[i]]:
                return False
        if form.low > len(form.prefix) and not productive[form.rest]:
            return False
        return not form.unique or form.low < 2 or enough_values(self, form)

    def check_words(self, form: ArrayForm) -> None:
        """Refuse unique items that need to be parsed again, unless all of them are written as in JSON."""
        if self.style.words is JSON_WORDS:
            return
        for state in (*form.prefix, form.rest):
            value = self.algebra.value(state) if state else None
            if value is None or value.mask & (NULL | TRUE | FALSE) or value.arrays or value.objects:
                reason = "distinct items other than strings and numbers, written as Python's literals"
                raise UnsupportedSchemaError(self.algebra.where(state), "uniqueItems", reason)

    def array_expression(self, form: ArrayForm) -> ir.Expr:
        """Return the expression of an array."""
        spend(10 + 4 * len(form.prefix))
        if form.unique is False:
            self.algebra.unsupported(
                self.algebra.where(form.rest), "uniqueItems", "its negation: two items must be equal"
            )
        if form.unique:
            self.check_words(form)
            try:
                return unique_array(self, form)
            except UnsupportedSchemaError as error:
                if not self.algebra.relax:
                    raise
                self.algebra.report.add("relaxed", error.where, error.keyword, error.reason)
        if form.contains:
            return self.counted_array(form)
        productive = self.productive
        prefix = form.prefix
        high = form.high
        if not prefix and not form.rest and not form.low and high is None:  # any array
            self.uses_prelude = True
            return ANY_ARRAY
        for i, state in enumerate(prefix):
            if not productive[state]:
                prefix, high = prefix[:i], i
                break
        if (high is None or high > len(prefix)) and not productive[form.rest]:
            high = len(prefix)
        items = [self.expression(state) for state in prefix]
        rest = None
        if high is None or high > len(prefix):
            rest = self.expression(form.rest)
        return array_expr(self.style.array_brackets, items[:high], rest, form.low, high)

    # -- counting ----------------------------------------------------------------------------------------

    def plan(self, form: ArrayForm) -> Plan:
        """Return the automaton of an array with counted items.

        Raises: UnsupportedSchemaError beyond 2,000 states.
        """
        if form.plan is not None:
            found: Plan = form.plan
            return found
        algebra = self.algebra
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
        form.plan = plan
        return plan

    def _marked(
        self,
        form: ArrayForm,
        item: State,
        index: int,
        counts: tuple[int, ...],
        known: dict[tuple[State, tuple[int, ...]], State | None],
    ) -> list[tuple[State, tuple[int, ...]]]:
        """Return the possible kinds of the next item, each as its state and the counts after it.

        ``known``: the states of items by counted kinds, shared by positions; None for a state without values.
        """
        algebra = self.algebra
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
        for chosen in product(*options):
            spend(6 + len(options))
            literals, after = zip(*chosen, strict=True)
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
        """Find the positions from which the array can be completed with items that have values."""
        productive = self.productive
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

    def counted_array(self, form: ArrayForm) -> ir.Expr:
        """Return an array whose items are counted, with a rule for each position."""
        brackets = self.style.array_brackets
        plan = self.plan(form)
        self.find_live(plan)
        start = (0, (0,) * len(form.contains))
        names = {position: self.fresh("items") for position in plan.moves if position in plan.live}

        def moves(position: Position, before: ir.Expr) -> list[ir.Expr]:
            joined: dict[Position, list[ir.Expr]] = {}
            for state, target in plan.moves[position]:
                if target in plan.live and self.productive.get(state):
                    joined.setdefault(target, []).append(self.expression(state))
            return [
                ir.Sequence((before, choice(items), ir.RuleRef(names[target])))
                for target, items in joined.items()
            ]

        for position, name in names.items():
            options = moves(position, brackets.item)
            if position in plan.accepting:
                options.append(brackets.end)
            self.rules[name] = ir.Rule(name, choice(options))
        first = moves(start, brackets.open)
        if start in plan.accepting:
            first.append(brackets.empty)
        return ir.Sequence((brackets.begin, choice(first)))


def _numbers_and_digits(numbers: NumberSet, digits: NumberSet, plain: bool) -> list[ir.Expr]:
    """Return the spellings of numbers and of draft-4 integers, which are written only as digits."""
    both = numbers - (INTEGERS - digits)
    alone = digits - numbers
    with_fraction = (numbers & INTEGERS) - digits
    options: list[ir.Expr] = []
    if not both.is_empty():
        options.append(number_expr(both, plain=plain))
    if not alone.is_empty():
        options.append(number_expr(alone, zero_fractions=False, plain=plain))
    if not with_fraction.is_empty():
        fractions = number_expr(with_fraction)
        options.append(ir.Intersection((ended(fractions) if plain else fractions, ir.Complement(_ANY_WHOLE))))
    return options


def array_expr(
    brackets: Delimiters, prefix: list[ir.Expr], rest: ir.Expr | None, low: int, high: int | None
) -> ir.Expr:
    """Return an array of leading items and repetitions of ``rest``, with ``low`` to ``high`` items in all."""
    if high == 0 or (not prefix and rest is None):
        return ir.Sequence((ir.Literal(b"["), brackets.empty))
    comma = brackets.item
    tail: ir.Expr | None = None  # what may follow the items written so far, from the last one backwards
    count = len(prefix)
    if rest is not None:
        more_high = None if high is None else high - max(count, 1)
        more_low = max(0, low - max(count, 1))
        tail = ir.Repeat(ir.Sequence((comma, rest)), more_low, more_high)
    if not prefix:
        assert rest is not None and tail is not None
        some = ir.Sequence((brackets.open, rest, tail, brackets.end))
    else:
        for i in range(count - 1, 0, -1):
            item = ir.Sequence((comma, prefix[i])) if tail is None else ir.Sequence((comma, prefix[i], tail))
            tail = item if low > i else ir.Repeat(item, 0, 1)
        parts = (prefix[0],) if tail is None else (prefix[0], tail)
        some = ir.Sequence((brackets.open, *parts, brackets.end))
    return ir.Sequence((brackets.begin, some if low > 0 else ir.Choice((some, brackets.empty))))


# -- objects ---------------------------------------------------------------------------------------------


class ObjectWriter:
    """Writes objects of one style for one grammar."""

    def __init__(self, writer: Lowering, style: ObjectStyle) -> None:
        self.writer = writer
        self.style = style
        self.brackets = style.brackets
        self.other_keys: dict[tuple[str, ...], ir.Expr] = {}
        self.left_overs: dict[ir.Expr, ir.Expr] = {}
        self.next_names: dict[tuple[ir.Expr, bool], ir.Expr] = {}

    def other_children(self, form: ObjectForm) -> Iterable[State]:
        """Return the states of all values that have unnamed keys."""
        if not form.classes:
            return ()
        if len(form.classes) == 1 and not form.some:
            return (form.classes[0].state,)
        if len(form.some) > MAX_FOUND:
            return [entry.state for entry in form.classes]
        moves = self.finding(form, form.classes, lambda _: True)
        return {state for entries in moves.values() for _, state in entries}

    def is_productive(self, form: ObjectForm) -> bool:
        """Return whether such an object exists, according to what is known of its values."""
        spend(1 + len(form.members) // 8 + len(form.classes) * (1 + 4 * len(form.some)))
        productive = self.writer.productive
        count = count_live(form.members, productive)
        if count < 0:
            return False
        if count < form.low and not any(productive[entry.state] for entry in form.classes):
            return False
        if not form.some or len(form.some) > MAX_FOUND:  # too many are refused when they are written
            return True
        classes = [entry for entry in form.classes if productive[entry.state]]
        moves = self.finding(form, classes, productive.get)
        room = None if form.high is None else form.high - count_required(form.members)
        return is_coverable(fewest(moves, len(form.some))[0], room)

    def finding(
        self, form: ObjectForm, classes: list[KeyClass], is_live: Callable[[State], bool | None]
    ) -> dict[int, list[tuple[KeyClass, State]]]:
        """Return the unnamed keys, grouped by the required classes (as bits) to which they belong."""
        algebra = self.writer.algebra
        moves: dict[int, list[tuple[KeyClass, State]]] = {}
        for entry in classes:
            inside = [keys.covers(entry.inside) for keys, _ in form.some]
            for marks in product(*((False, True) if found else (False,) for found in inside)):
                spend(2)
                literals = [form.some[i][1] for i, mark in enumerate(marks) if mark]
                state = algebra.state([*entry.state, *literals])
                if is_live(state):
                    bits = sum(1 << i for i, mark in enumerate(marks) if mark)
                    moves.setdefault(bits, []).append((entry, state))
        return moves

    def expression(self, form: ObjectForm) -> ir.Expr:
        """Return the expression of an object."""
        spend(10 + 6 * len(form.members) + 20 * len(form.classes) * (1 + len(form.some)))
        writer, any_object = self.writer, self.style.any_object
        if any_object is not None and is_any_object(form):
            writer.uses_prelude = True
            return any_object
        members = live_members(form.members, writer.productive)
        classes = form.classes
        if classes:
            classes = [entry for entry in classes if writer.is_live(entry.state)]
            if members and not self.style.others_beside:
                classes = []
        if not self.style.compares_keys:
            classes = self.writable(form, members, classes)
        for entry in classes if self.style.compares_keys or is_counted(form, members) else ():
            if entry.texts is not ALL and not entry.texts.is_endless():
                return self.running_out(form, members, classes)
        return self.shaped(form, members, classes, form.low, form.high)

    def writable(self, form: ObjectForm, members: list[Member], classes: list[KeyClass]) -> list[KeyClass]:
        """Return the undeclared keys that the style can write. Raises: UnsupportedSchemaError."""
        if form.some:
            where = self.writer.algebra.nodes[abs(form.some[0][1])].where
            raise UnsupportedSchemaError(where, "not", "arguments that must be found among many")
        found = [KeyClass(entry.texts.meet(self.style.names), entry.state, entry.inside) for entry in classes]
        found = [entry for entry in found if entry.texts.words != {}]
        if not found and form.low > len(members):
            where = self.writer.algebra.where(classes[0].state) if classes else ""
            raise UnsupportedSchemaError(where, "minProperties", f"there are only {len(members)} names")
        return found

    def running_out(self, form: ObjectForm, members: list[Member], classes: list[KeyClass]) -> ir.Expr:
        """Return an object in which some unnamed keys can run out: few are members, others are captured."""
        algebra = self.writer.algebra
        kept: list[KeyClass] = []
        count = 0
        fewest_keys = MANY  # of one class
        for entry in classes:
            most = MANY
            if not entry.texts.is_endless():
                entry = KeyClass(simplified(entry.texts), entry.state, entry.inside)
            if not entry.texts.is_endless():
                words = few_keys(entry.texts.without(form.names))
                sought = any(keys.covers(entry.inside) for keys, _ in form.some)
                if words is not None and not sought:
                    members.extend(Member(word, entry.state, False, False) for word in words)
                    continue
                enough = MANY if form.high is None else form.high
                left = entry.texts.without(form.names)
                most = count_keys(left, enough) if words is None else len(words)
                fewest_keys = min(fewest_keys, most)
            count += most
            kept.append(entry)
        low, high = form.low, form.high
        if not kept and low > len(members):
            where = algebra.where(classes[0].state)
            raise UnsupportedSchemaError(where, "minProperties", f"there are only {len(members)} keys")
        if form.some and fewest_keys < MANY:
            high = self.room_of_each(form, members, fewest_keys, algebra.where(kept[0].state))
        elif kept and count < MANY:
            if self.style.any_order or not any(member.declared for member in members):
                count += len(members)  # in any order, what is left of either may still come
            place = algebra.where(kept[0].state)
            if max(low, sum(member.required for member in members)) > count:
                raise UnsupportedSchemaError(place, "minProperties", f"keys that may run out after {count}")
            if high is None and not self.style.compares_keys:  # there is a rule for each number
                count = min(count, MAX_ROOM + max(low, count_required(members)))
            if high is None or high > count:
                note = f"at most {count:,} keys in one object"
                algebra.report.add("narrowed", place, "patternProperties", note)
                high = count
        result = self.shaped(form, members, kept, low, high)
        if not self.style.compares_keys or all(entry.texts.is_endless() for entry in kept):
            return result
        if not isinstance(result, ir.Keyed) or not isinstance(result.item, ir.Sequence):
            return result  # there was no room for other keys
        inside = ir.Sequence((self.writer.capture(result.item.items[0], no_keys), *result.item.items[1:]))
        return ir.Scope(ir.Keyed(inside, result.spec))

    def room_of_each(self, form: ObjectForm, members: list[Member], fewest_keys: int, place: Where) -> int:
        """Return the greatest count that exhausts no class of keys, given lower bounds on their sizes.

        Raises: UnsupportedSchemaError if this bound excludes too much.
        """
        needed = count_required(members)
        if form.high is not None and form.high - needed <= fewest_keys:
            return form.high
        if fewest_keys < MIN_ROOM or form.low > needed + fewest_keys:
            reason = "keys of which there may be too few, in an object in which keys must be found"
            raise UnsupportedSchemaError(place, "patternProperties", reason)
        high = needed + min(fewest_keys, MAX_ROOM)
        high = max(high, form.low)
        self.writer.algebra.report.add(
            "narrowed", place, "patternProperties", f"at most {high:,} keys in one object"
        )
        return high

    def shaped(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return an object in the form required by its members, other keys and counts."""
        required = count_required(members)
        if high is not None and not classes and high >= len(members):
            high = None
        if high is not None and high == required:  # nothing else fits
            members = [member for member in members if member.required]
            classes, low, high = [], 0, None
        if low == len(members) and not classes:
            for member in members:
                member.required = True
            required = low
        if low <= required:  # mutant: least-members
            low = 0
        counted = bool(low) or high is not None
        if not self.style.compares_keys:
            if counted or (self.style.any_order and len(members) > (0 if classes else 1)):
                return self.by_number(form, members, classes, low, high)
            return self.without_account(form, members, classes)
        if form.some:
            return self.searched(form, members, classes, low, high)
        if not counted and not (self.style.any_order and len(members) > 1):
            declared, others = by_declaration(members)
            if not classes and len(others) < 2:
                declared, others = members, []
            if not self.style.any_order and len(others) > 1 and len(declared) <= MAX_SHARED:
                return self.open_chain(
                    form, declared, others, classes
                )  # slots would put the others in order too
            if chain_size(declared) <= MAX_CHAIN:
                if not classes and not others:
                    return self.closed_chain(members)
                if not self.style.any_order or not declared:
                    return self.open_chain(form, declared, others, classes)
        return self.keyed(form, members, classes, low, high)

    def without_account(self, form: ObjectForm, members: list[Member], classes: list[KeyClass]) -> ir.Expr:
        """Return an object whose undeclared keys are not tracked."""
        brackets = self.brackets
        others = [self.style.other(form, entry, entry.state, self) for entry in classes]
        rest, alone = [brackets.end], [brackets.empty]
        if others:
            other = choice(others)
            rest.insert(0, ir.Repeat(ir.Sequence((brackets.item, other)), 0, None))
            alone.insert(0, ir.Sequence((brackets.open, other, *rest)))
        if chain_size(members) > MAX_CHAIN and by_declaration(members)[0]:
            name = self.writer.fresh("others")  # one for all members that may come last
            self.writer.rules[name] = ir.Rule(name, ir.Sequence(tuple(rest)))
            rest = [ir.RuleRef(name)]
            return self.by_number(form, members, [], 0, None, rest, alone)
        return ir.Sequence((brackets.begin, self.chain(members, rest, alone)))

    def by_number(
        self,
        form: ObjectForm,
        members: list[Member],
        classes: list[KeyClass],
        low: int,
        high: int | None,
        rest: Sequence[ir.Expr] = (),
        alone: Sequence[ir.Expr] = (),
    ) -> ir.Expr:
        """Return members in any order, or counted members, in a style whose keys the engine does not compare.

        Counted undeclared names are also slots, the first, the second and so on. Each number of them has a
        rule, which excludes the earlier names. ``rest``, ``alone``: as for ``chain``, instead of the end.
        """
        writer, style, brackets = self.writer, self.style, self.brackets
        required = frozenset(i for i, member in enumerate(members) if member.required)
        is_counted = bool(low) or high is not None
        most = 0 if not is_counted or not classes else low if high is None else high - len(required)
        if (most + 1) * (len(members) + len(classes)) > MAX_COUNTED:
            where = writer.algebra.where(classes[0].state)
            keyword, count = ("minProperties", low) if high is None else ("maxProperties", high)
            raise UnsupportedSchemaError(where, keyword, f"{count:,} arguments to count are too many")
        ordered = not style.any_order and any(member.declared for member in members)
        is_open = bool(classes) and high is None
        spec = ir.KeySpec(len(members) + most, required, ordered, low, high, is_open)
        prefix = writer.fresh("members")
        named = [style.parted(style.word(member.name), member.state) for member in members]

        def goes_on(ways: list[Parted], slot: int | None, taken: int) -> ir.Expr:
            """Return a member, its slot and its continuation after ``taken`` undeclared names, this one
            included.
            """
            options: list[ir.Expr] = []
            for name, value, close in ways:
                ends: ir.Expr = ir.Sequence((MAY_CLOSE, close, *(rest or (brackets.end,))))
                if (members and not (ordered and taken)) or (classes and (taken < most or is_open)):
                    more = ir.Sequence((MAY_GO_ON, close, brackets.item, ir.RuleRef(f"{prefix}.{taken}")))
                    ends = ir.Choice((ends, more))
                place = () if slot is None else (ir.Slot(slot),)
                options.append(ir.Sequence((name, *place, value, ends)))
            return choice(options)

        for taken in range(most + 1):
            options: list[ir.Expr] = []
            if not (ordered and taken):
                options = [goes_on(ways, i, taken) for i, ways in enumerate(named)]
            for entry in classes if taken < most or is_open else ():
                name, again = entry.texts.without(form.names).expr(), None
                if is_counted or style.repeats_names:  # mutant: repeated-names
                    name, again = self.next_name(name, bool(taken)), self.last_name  # mutant: used-names
                slot = len(members) + taken if taken < most else None
                options.append(goes_on(style.parted(name, entry.state, again), slot, min(taken + 1, most)))
            if options:
                writer.rules[f"{prefix}.{taken}"] = ir.Rule(f"{prefix}.{taken}", choice(options))
        some: list[ir.Expr] = [ir.Sequence((brackets.open, ir.RuleRef(f"{prefix}.0")))]
        if not low and not required:
            some.extend(alone or (brackets.empty,))
        return ir.Keyed(ir.Sequence((brackets.begin, choice(some))), spec)

    @property
    def last_name(self) -> ir.Expr:
        """The last undeclared name."""
        return self.writer.dynamic(last_name)

    def next_name(self, names: ir.Expr, follows: bool) -> ir.Expr:
        """Return the rule of an undeclared name; ``follows``: it must differ from earlier ones."""
        key = names, follows
        found = self.next_names.get(key)
        if found is None:
            rule = self.writer.fresh("name")
            body = self.writer.dynamic(LeftOverNames(names)) if follows else names
            action = next_name if follows else first_name
            self.writer.rules[rule] = ir.Rule(rule, self.writer.capture(body, action))
            found = self.next_names[key] = ir.RuleRef(rule)
        return found

    # -- parts -------------------------------------------------------------------------------------------

    def other_key(self, names: tuple[str, ...]) -> ir.Expr:
        """Return a key that is neither a declared name nor a used key."""
        found = self.other_keys.get(names)
        if found is None:
            spellings = literals(names)
            words = spellings[0] if len(names) == 1 else ir.Choice(spellings)
            body = ir.Intersection((self.writer.style.string_body, ir.Complement(words)))
            found = self.other_keys[names] = ir.Capture(ir.Sequence((QUOTE, body, QUOTE)), "key")
        return found

    def class_member(self, form: ObjectForm, entry: KeyClass, state: State) -> ir.Expr:
        """Return a member with an unnamed key, which must not have been used."""
        writer, style = self.writer, self.writer.style
        texts = entry.texts
        key: ir.Expr
        if not texts.is_endless():
            key = ir.Capture(self.left_over(texts.without(form.names).expr()), "key")
        elif not form.names:
            key = style.any_key if texts is ALL else ir.Capture(style.text(texts), "key")
        elif texts is ALL:
            key = self.other_key(tuple(form.names))
        else:
            key = ir.Capture(style.text(texts.without(form.names)), "key")
        return ir.Sequence(
            (
                UNDECLARED,
                key,
                writer.whitespace.member,
                writer.expression(state),
            )
        )

    def left_over(self, expr: ir.Expr) -> ir.Expr:
        """Return the rule for the unused keys among those of an expression."""
        found = self.left_overs.get(expr)
        if found is None:
            name = self.writer.fresh("key")
            left = self.writer.dynamic(LeftOverKeys(expr, self.writer.style.spelling))
            self.writer.rules[name] = ir.Rule(name, self.writer.capture(left, use_key))
            found = self.left_overs[expr] = ir.RuleRef(name)
        return found

    # -- shapes ------------------------------------------------------------------------------------------

    def closed_chain(self, members: list[Member]) -> ir.Expr:
        """Return an object of named members in order."""
        brackets = self.brackets
        return ir.Sequence((brackets.begin, self.chain(members, [brackets.end], [brackets.empty])))

    def chain(self, members: list[Member], rest: list[ir.Expr], rest_alone: list[ir.Expr]) -> ir.Expr:
        """Return the members in order, then ``rest``; without any member, return ``rest_alone``."""
        brackets = self.brackets
        written = self.style.written(members, self.writer)
        if chain_size(members) > MAX_CHAIN:
            return self.shared_chain(members, written, rest, rest_alone)
        return choice(write_chain(members, written, brackets.open, brackets.item, rest, rest_alone))

    def shared_chain(
        self, members: list[Member], written: list[ir.Expr], rest: list[ir.Expr], rest_alone: list[ir.Expr]
    ) -> ir.Expr:
        """Return the result of ``chain``, but with a separate rule for the continuation of each member."""
        writer, brackets = self.writer, self.brackets
        names = [writer.fresh("after") for _ in members]
        follows: ir.Expr = ir.Sequence(tuple(rest))
        for member, expr, name in zip(reversed(members), reversed(written), reversed(names), strict=True):
            writer.rules[name] = ir.Rule(name, follows)
            follows = ir.Sequence((write_item(member, expr, brackets.item), ir.RuleRef(name)))
        options: list[ir.Expr] = []
        for member, expr, name in zip(members, written, names, strict=True):
            options.append(ir.Sequence((brackets.open, expr, ir.RuleRef(name))))
            if member.required:
                break
        else:
            options.extend(rest_alone)
        return choice(options)

    def open_chain(
        self, form: ObjectForm, declared: list[Member], others: list[Member], classes: list[KeyClass]
    ) -> ir.Expr:
        """Return an object of declared members in order, then other members in any order."""
        brackets = self.brackets
        spec = _NO_SLOTS
        options: list[ir.Expr] = []
        if others or not classes:
            required = frozenset(i for i, member in enumerate(others) if member.required)
            spec = ir.KeySpec(len(others), required, open=bool(classes))
            options.extend(self.style.slotted(others, self.writer))
        for entry in classes:
            options.append(self.style.other(form, entry, entry.state, self))
        other = choice(options)
        more = ir.Repeat(ir.Sequence((MAY_GO_ON, brackets.item, other)), 0, None)
        first = ir.Sequence((MAY_GO_ON, brackets.open, other, more, brackets.may_end))
        chain = self.chain(declared, [more, brackets.may_end], [first, brackets.may_be_empty])
        return ir.Keyed(ir.Sequence((brackets.begin, chain)), spec)

    def keyed(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return an object whose keys are tracked, because they come in any order or are counted."""
        spec = ir.KeySpec(
            len(members),
            frozenset(i for i, member in enumerate(members) if member.required),
            ordered=not self.style.any_order and any(member.declared for member in members),
            min_count=low,
            max_count=high,
            open=bool(classes),
        )
        options = self.style.slotted(members, self.writer)
        options.extend(self.style.other(form, entry, entry.state, self) for entry in classes)
        if not options:
            return ir.Sequence((self.brackets.begin, self.brackets.empty))
        return self.brackets.keyed(options, spec)

    def searched(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return an object in which unnamed keys must be found.

        There is one rule for each set of found keys and, with counted keys, each number of optional keys.
        """
        writer, brackets = self.writer, self.brackets
        count = len(form.some)
        place = writer.algebra.nodes[abs(form.some[0][1])].where
        if count > MAX_FOUND:
            reason = f"more than {MAX_FOUND} kinds of keys that must be found among many"
            raise UnsupportedSchemaError(place, "not", reason)
        required = count_required(members)
        room = None if high is None else high - required
        moves = self.finding(form, classes, writer.is_live)
        needed = fewest(moves, count)
        if room is not None and (room + 1) << count > MAX_FINDING:
            reason = f"keys that must be found among many, together with `maxProperties` of {high}"
            raise UnsupportedSchemaError(place, "not", reason)
        if not is_coverable(needed[0], room):
            reason = "keys that must be found, which may be too few"
            raise UnsupportedSchemaError(place, "not", reason)
        spec = ir.KeySpec(
            len(members),
            frozenset(i for i, member in enumerate(members) if member.required),
            ordered=not self.style.any_order,
            min_count=low if room is None else 0,  # else the rules count
            max_count=high,
            open=True,
        )
        named = self.style.slotted(members, writer)
        # what comes next: which of those that must be found it is, whether it takes room, and as what
        options: list[tuple[int, int, ir.Expr]] = [
            (0, int(room is not None and not member.required), expr)
            for member, expr in zip(members, named, strict=True)
        ]
        options += [
            (bits, int(room is not None), self.style.other(form, entry, state, self))
            for bits, entries in moves.items()
            for entry, state in entries
        ]
        full = (1 << count) - 1
        names: dict[tuple[int, int], str] = {}
        todo: list[tuple[int, int]] = []

        def goes_on(have: int, taken: int, blank: ir.Expr) -> list[ir.Expr]:
            joined: dict[tuple[int, int], list[ir.Expr]] = {}
            for bits, takes, expr in options:
                spend(1)
                left = None if room is None else room - taken - takes
                if not bits & have and is_coverable(needed[have | bits], left):
                    joined.setdefault((have | bits, taken + takes), []).append(expr)
            found: list[ir.Expr] = []
            for key, choices in joined.items():
                if key not in names:
                    names[key] = writer.fresh("found")
                    todo.append(key)
                found.append(ir.Sequence((MAY_GO_ON, blank, choice(choices), ir.RuleRef(names[key]))))
            return found

        first = goes_on(0, 0, brackets.open)
        while todo:
            have, taken = todo.pop()
            ways = goes_on(have, taken, brackets.item)
            if have == full and (room is None or required + taken >= low):
                ways.append(brackets.may_end)
            name = names[have, taken]
            writer.rules[name] = ir.Rule(name, choice(ways))
        return ir.Keyed(ir.Sequence((brackets.begin, choice(first))), spec)


def is_counted(form: ObjectForm, members: list[Member]) -> bool:
    """Return whether the number of members of an object matters in addition to the required ones."""
    required = count_required(members)
    return form.low > required or (form.high is not None and form.high != required)


def is_any_object(form: ObjectForm) -> bool:
    """Return whether a form allows all objects."""
    if form.names or form.low or form.high is not None or form.some or len(form.classes) != 1:
        return False
    (only,) = form.classes
    return only.texts is ALL and not only.state


def fewest(moves: Iterable[int], count: int) -> list[int | None]:
    """Return, for each set of found classes, how many keys find the rest, or None. ``moves``: as bits."""
    full = (1 << count) - 1
    needed: list[int | None] = [None] * (full + 1)
    needed[full] = 0
    steps = [bits for bits in moves if bits]
    for have in range(full - 1, -1, -1):
        spend(len(steps))
        after = [needed[have | bits] for bits in steps if not bits & have]
        known = [number for number in after if number is not None]
        needed[have] = min(known) + 1 if known else None
    return needed


def is_coverable(needed: int | None, room: int | None) -> bool:
    """Return whether ``needed`` keys can be found within the remaining ``room`` (None: no bound)."""
    return needed is not None and (room is None or needed <= room)


# -- unlike items ----------------------------------------------------------------------------------------
#
# `uniqueItems`: no two items of equal value, in whatever spelling, and never a dead end. Items with few values, and
# strings without end, are *slots*: each may be taken once, as keys of an object are. Of all others the values that were
# used are kept in a frame (`unique_frames`). Those that can always be made longer are compared where they end; of scalars
# that run out the used ones are left out of what may come; and arrays and objects without room for more are written with
# *gates*: resolvers that ask a frame whether a key, a comma or a bracket may come.


class Parts(NamedTuple):
    """The parts of a state: single values, infinite sets of strings and numbers, arrays or objects."""

    singles: dict[Hashable, ir.Expr]
    strings: ir.Expr | None
    numbers: ir.Expr | None
    structured: bool


def unique_array(writer: Lowering, form: ArrayForm) -> ir.Expr:
    """Return the expression of an array of unique items.

    Raises: UnsupportedSchemaError if this is impossible without dead ends.
    """
    if not (form.prefix or form.contains) and writer.is_live(form.rest):
        parts = parts_of(writer, form.rest)
        if parts is not None and parts.numbers is None and not parts.structured:
            return _slots(writer, form, parts.singles, parts.strings)
    fields = UnlikeItems(writer, form)
    begun = fields.array(form, is_outer=True)
    fields.finish()
    return begun.expression(fields)


def gated(writer: Lowering, expr: ir.Expr, gate: Gate) -> ir.Expr:
    """Return an expression after its gate. If it is nullable, the others follow, each after its own gate."""
    if expr == ir.EPSILON:
        return expr
    match expr:
        case ir.Dynamic(resolver):
            return ir.Dynamic(GateOfDepth(resolver, gate))
        case ir.Capture(item, action):
            return ir.Capture(gated(writer, item, gate), action)
        case ir.Repeat(item, 0, high):
            return expr if ir.is_pure(expr) else ir.Repeat(gated(writer, item, gate), 0, high)
        case ir.Sequence(items) if not ir.is_pure(expr):
            return ir.Sequence((gated(writer, items[0], gate), *items[1:]))
    return writer.dynamic(GateOf(expr, gate))


# -- values -----------------------------------------------------------------------------------------------


def enough_values(writer: Lowering, form: ArrayForm) -> bool:
    """Return whether the array's positions have enough distinct values for the required number of items.

    Positions whose items have few values are matched to values by augmenting paths; others never run out.
    """
    few: list[list[Hashable]] = []
    known: dict[State, dict[Hashable, ir.Expr] | None] = {}
    for index in range(form.low):
        state = form.prefix[index] if index < len(form.prefix) else form.rest
        if state not in known:
            known[state] = _values(writer, state)
        values = known[state]
        spend(1 + len(values or ()) // 8)
        if values is None:
            if index >= len(form.prefix):
                break
            continue
        few.append(list(values))
        if len(few) > MAX_VALUES:
            return False
    return has_matching(few)


def is_endless(writer: Lowering, state: State) -> bool:
    """Return whether all prefixes of the state's arrays and objects have infinitely many completions.

    This holds if more keys or items are always possible.
    """
    if not state:
        return True
    value = writer.algebra.value(state)
    for array in value.arrays:
        counted = any(most is not None for *_, most in array.contains)
        if array.high is not None or counted or array.unique or not writer.is_live(array.rest):
            return False
    return all(
        form.high is None
        and any(writer.is_live(entry.state) and entry.texts.is_endless() for entry in form.classes)
        for form in value.objects
    )


def with_singles(
    writer: Lowering, begin: ir.Expr, singles: list[ir.Expr], item: ir.Expr, low: int, high: int | None
) -> ir.Expr:
    """Return an array of items among which each single value may occur once.

    There is a rule for each set of remaining values: slots would multiply the states of used values.
    """
    brackets = writer.style.array_brackets
    most = max(low, high or 0)
    names: dict[tuple[int, int], str] = {}
    todo: list[tuple[int, int]] = []

    def goes_on(left: int, count: int, before: ir.Expr) -> list[ir.Expr]:
        if high is not None and count >= high:
            return []
        spend(4 * (1 + left.bit_count()))
        moves = [(item, left)]
        moves += [(single, left & ~(1 << i)) for i, single in enumerate(singles) if left >> i & 1]
        found: list[ir.Expr] = []
        for expr, rest in moves:
            key = (rest, min(count + 1, most))
            if key not in names:
                names[key] = writer.fresh("unique")
                todo.append(key)
            found.append(ir.Sequence((before, expr, ir.RuleRef(names[key]))))
        return found

    first = goes_on((1 << len(singles)) - 1, 0, brackets.open)
    if not low:
        first.append(brackets.empty)
    while todo:
        left, count = todo.pop()
        options = goes_on(left, count, brackets.item)
        if count >= low:
            options.append(brackets.end)
        writer.rules[names[left, count]] = ir.Rule(names[left, count], choice(options))
    return ir.Sequence((begin, choice(first)))


def _slots(
    writer: Lowering, form: ArrayForm, singles: dict[Hashable, ir.Expr], strings: ir.Expr | None
) -> ir.Expr:
    """Return an array of infinitely many strings and of values that are slots."""
    high = form.high
    if strings is None and (high is None or high >= len(singles)):
        high = None
    if strings is None and form.low > len(singles):
        return ir.NOTHING
    spec = ir.KeySpec(len(singles), min_count=form.low, max_count=high, open=strings is not None)
    options: list[ir.Expr] = [
        ir.Sequence((value, ir.Slot(i), ir.EPSILON)) for i, value in enumerate(singles.values())
    ]
    if strings is not None:
        options.append(ir.Sequence((UNDECLARED, ir.Capture(strings, "key"))))
    return writer.style.array_brackets.keyed(options, spec)


def _values(writer: Lowering, state: State) -> dict[Hashable, ir.Expr] | None:
    """Return the spellings of all values of a state by value, or None unless they are a few scalars."""
    if not state:
        return None
    value = writer.algebra.value(state)
    return None if value.arrays or value.objects else scalar_values(writer, value)


def scalar_values(writer: Lowering, value: StateValue) -> dict[Hashable, ir.Expr] | None:
    """Return the spellings of all scalars of a value by value, or None if there are more than 512."""
    found: dict[Hashable, ir.Expr] = {
        ("", bit): ir.Literal(word) for bit, word in CONSTANTS if value.mask & bit
    }
    numbers = value.number.values(MAX_VALUES)
    words = few_words(writer, value.text)
    if numbers is None or words is None:
        return None
    spend(5 * len(numbers))
    found.update((n, writer.style.numbers(finite([n]), value.whole)) for n in numbers)
    found.update((word, writer.style.word(word)) for word in words)
    return found if len(found) <= MAX_VALUES else None


def few_words(writer: Lowering, text: Texts) -> list[str] | None:
    """Return the members of a set if there are few, else None. Many arrays of a schema need the same sets."""
    if text.words is not None:
        return list(text.words)
    if text not in writer.few_words:
        words: list[str] | None = None
        if text.is_empty():
            words = []
        elif text.parts or text.high is not None:
            words = finite_words(text.expr(), MAX_VALUES)
            if words is None and not text.is_endless():
                words = hidden_words(text)
        writer.few_words[text] = words
    return writer.few_words[text]


def count_values(writer: Lowering, value: StateValue) -> int:
    """Return a lower bound on the number of scalars, up to 512."""
    count = (value.mask & NULL) // NULL + (value.mask & TRUE) // TRUE + (value.mask & FALSE) // FALSE
    numbers = value.number.values(MAX_VALUES)
    if numbers is None:
        return MAX_VALUES
    words = few_words(writer, value.text)
    if words is not None:
        return min(MAX_VALUES, count + len(numbers) + len(words))
    return min(MAX_VALUES, MAX_VALUES if value.text.is_endless() else count + count_keys(value.text))


def parts_of(writer: Lowering, state: State) -> Parts | None:
    """Split a state into single values, infinitely many strings, and other infinite items.

    Returns None if some prefix of an item has only finitely many completions.
    """
    style = writer.style
    if state:
        value = writer.algebra.value(state)
        mask, number, text, whole = value.mask, value.number, value.text, value.whole
        structured = bool(value.arrays or value.objects)
        words = None if text is ALL else few_words(writer, text)
    else:
        mask, number, text, whole = NULL | TRUE | FALSE, ALL_NUMBERS, ALL, False
        structured, words = True, None
    singles: dict[Hashable, ir.Expr] = {("", bit): ir.Literal(word) for bit, word in CONSTANTS if mask & bit}
    numbers: ir.Expr | None = None
    few = number.values(MAX_VALUES)
    if few is not None:
        singles.update((n, style.numbers(finite([n]), whole)) for n in few)
    else:
        spelled = endless_numbers(number, style.plain_numbers)
        if spelled is None:
            return None
        zero, others = spelled
        if zero is not None:
            singles[0] = zero
        numbers = ended(others) if style.plain_numbers else others
    strings: ir.Expr | None = None
    if words is not None:
        singles.update((word, style.word(word)) for word in words)
    elif not text.is_endless():
        return None
    else:
        strings = style.text(text)
    if len(singles) > MAX_VALUES or (structured and not is_endless(writer, state)):
        return None
    return Parts(singles, strings, numbers, structured)


def endless_numbers(number: Any, plain_numbers: bool) -> tuple[ir.Expr | None, ir.Expr] | None:
    """Return the spellings of zero, and extensible plain spellings of the other numbers."""
    digits = ir.Repeat(ir.CharClass(((0x30, 0x39),)), 0, None)
    whole = ir.Sequence((ir.CharClass(((0x31, 0x39),)), digits))
    minus = ir.Literal(b"-")
    zero = number_expr(finite([0]), plain=plain_numbers) if 0 in number else None
    if number == INTEGERS:
        return zero, ir.Sequence((ir.Repeat(minus, 0, 1), whole))
    fraction = ir.Sequence((ir.Literal(b"."), ir.Repeat(ir.CharClass(((0x30, 0x39),)), 1, None)))
    plain = ir.Sequence((ir.Choice((ir.Literal(b"0"), whole)), ir.Repeat(fraction, 0, 1)))
    if number == ALL_NUMBERS:
        return None, ir.Sequence((ir.Repeat(minus, 0, 1), plain))
    if number == at_least(0):
        return None, plain
    for low in (0, 1):
        if number == (INTEGERS & at_least(low)):
            return zero, whole
    return None


# -- arrays and objects ---------------------------------------------------------------------------------


class UnlikeItems:
    """The fields of an array of unique items, with a rule for each state of a value inside."""

    def __init__(self, writer: Lowering, form: ArrayForm) -> None:
        self.writer = writer
        first = form.rest or (form.prefix[0] if form.prefix else form.rest)
        self.where = writer.algebra.where(first)
        self.fields: dict[State, Field] = {}
        self.names: dict[State, str] = {}  # of the rules of their values
        self.written: dict[State, ir.Expr] = {}
        self.shapes: dict[State, list[BegunArray | BegunObject]] = {}
        self.scalars: dict[State, dict[Hashable, ir.Expr] | None] = {}
        self.endless: dict[State, bool] = {}  # whether some value can always be made longer
        self.children: dict[State, set[State]] = {}
        self.todo: list[State] = []
        self.most: int | None = None  # unequal items, where a field has many values, but not endless ones
        self.unique = 1
        self.parts = self.endless_items(form)

    def refused(self, reason: str) -> UnsupportedSchemaError:
        """Return the error that explains why items cannot be compared."""
        return UnsupportedSchemaError(self.where, "uniqueItems", reason)

    def endless_items(self, form: ArrayForm) -> dict[State, Parts]:
        """Return the parts of items if all but some single values can be extended forever; else None."""
        found: dict[State, Parts] = {}
        for state in (*form.prefix, form.rest):
            if not self.writer.is_live(state):
                break
            parts = parts_of(self.writer, state)
            if parts is None or len(parts.singles) > (0 if form.prefix else MAX_SINGLE):
                return {}
            found[state] = parts
        return found

    def field(self, state: State) -> Field:
        """Return the field of a state. The field's values are determined later."""
        found = self.fields.get(state)
        if found is None:
            found = self.fields[state] = Field()
            self.names[state] = self.writer.fresh("unlike")
            self.todo.append(state)
        return found

    def finish(self) -> None:
        """Find the values of all fields, and write their rules. Raises: UnsupportedSchemaError."""
        order: list[State] = []
        while self.todo:
            state = self.todo.pop()
            order.append(state)
            spend(20)
            self.read(state)
        self.count()
        for state in order:
            if state in self.parts:
                self.written[state] = self.endless_item(state)
                continue
            name = self.names[state]
            self.writer.rules[name] = ir.Rule(name, self.body(state))

    def read(self, state: State) -> None:
        """Determine the shapes of the arrays and objects of a state."""
        writer = self.writer
        self.shapes[state] = shapes = []
        self.children[state] = children = set()
        if not state:
            self.endless[state], self.scalars[state] = True, None
            return
        value = writer.algebra.value(state)
        if value.digits is not None:
            raise self.refused("integers of draft 4 beside other numbers")
        if state in self.parts:
            self.endless[state], self.scalars[state] = True, None
            return
        few = self.scalars[state] = scalar_values(writer, value)
        if few is None:
            self.check_numbers(state, value)
        self.endless[state] = few is None and (
            value.text is ALL
            or (not value.text.is_empty() and value.text.words is None and value.text.is_endless())
            or (not value.number.is_empty() and endless_numbers(value.number, False) is not None)
        )
        for form in writer.forms(value):
            if self.form_is_endless(form):
                self.endless[state] = True
                continue
            begun = self.array(form) if isinstance(form, ArrayForm) else self.object(form)
            shapes.append(begun)
            children.update(begun.states)

    def check_numbers(self, state: State, value: StateValue) -> None:
        """Raise the errors that otherwise would only appear later."""
        plain = self.writer.style.plain_numbers
        try:
            number_expr(value.number, zero_fractions=not value.whole, plain=plain)
        except UnsupportedNumber as error:
            where = self.writer.algebra.where(state)
            raise UnsupportedSchemaError(where, "uniqueItems", str(error)) from None

    def form_is_endless(self, form: ArrayForm | ObjectForm) -> bool:
        """Return whether every prefix of an array or object has infinitely many extensions."""
        writer = self.writer
        if isinstance(form, ObjectForm):
            return form.high is None and any(
                writer.is_live(entry.state) and entry.texts.is_endless() for entry in form.classes
            )
        if form.high is not None or any(most is not None for *_, most in form.contains):
            return False
        if not writer.is_live(form.rest):
            return False
        if not form.unique:
            return True
        if form.prefix or form.contains:
            return False
        parts = parts_of(writer, form.rest)
        return parts is not None and bool(parts.strings or parts.numbers or parts.structured)

    def array(self, form: ArrayForm, is_outer: bool = False) -> BegunArray:
        """Return the shape of an array. ``is_outer``: this is the array whose items must be unique."""
        if form.contains:
            raise self.refused("together with `contains`")
        self.unique += bool(form.unique) and not is_outer
        writer = self.writer
        prefix, high = list(form.prefix), form.high
        live = [writer.is_live(state) for state in prefix]
        if False in live:
            high = min(live.index(False), len(prefix) if high is None else high)
        others: State | None = form.rest
        if (high is not None and high <= len(prefix)) or not writer.is_live(form.rest):
            high = len(prefix) if high is None else min(high, len(prefix))
            others = None
        prefix = prefix[:high]
        if len(prefix) > MAX_VALUES:
            raise self.refused(f"more than {MAX_VALUES} leading items")
        fields = [self.field(state) for state in prefix]
        field = None if others is None else self.field(others)
        shape = ArrayShape(tuple(fields), field, form.low, high, bool(form.unique))
        states = [*prefix, *(() if others is None else (others,))]
        return BegunArray(shape, states, form, is_outer)

    def object(self, form: ObjectForm) -> BegunObject:
        """Return the shape of an object."""
        writer = self.writer
        if form.some or any(writer.is_live(entry.state) for entry in form.classes):
            raise self.refused(_FEW)
        for member in form.members:
            writer.is_live(member.state)
        members = live_members(form.members, writer.productive)
        needed = sum(member.required for member in members)
        high = len(members) if form.high is None else min(form.high, len(members))
        if high == needed:
            members = [member for member in members if member.required]
        if len(members) > MAX_MEMBERS:
            raise self.refused(f"objects of more than {MAX_MEMBERS} members")
        ranks = [0] * len(members)
        if not writer.style.any_order:
            for i, member in enumerate(members):
                ranks[i] = i if member.declared else len(members)
        required = sum(1 << i for i, member in enumerate(members) if member.required)
        names = tuple(member.name for member in members)
        fields = tuple(self.field(member.state) for member in members)
        shape = ObjectShape(names, fields, tuple(ranks), required, form.low, high)
        return BegunObject(shape, [member.state for member in members])

    def count(self) -> None:
        """Find the fields with few values, in which each part has few."""
        waiting = [state for state in self.fields if not self.is_many(state)]
        known: set[State] = set()
        changed = True
        while changed:
            changed = False
            for state in waiting:
                spend(1 + len(self.children[state]))
                if state in known or any(
                    child not in known or self.fields[child].values is None for child in self.children[state]
                ):
                    continue
                known.add(state)
                changed = True
                self.fields[state].values = self.values(state)
        # a field of more values than are told apart, but not endless ones, could still be used up
        self.find_endless()
        least = 1 << 30
        for state, field in self.fields.items():
            if field.values is None and not self.endless[state]:
                least = min(least, self.fewest(state))
        if least < 1 << 30:
            # what is forbidden are values before this one, and those that would lead into a dead end
            self.most = least if self.unique == 1 else least // 2
            if self.most < MIN_VALUES and len(self.fields) > 1:
                raise self.refused(_FEW)

    def fewest(self, state: State) -> int:
        """Return a lower bound on the number of values of a state that has many."""
        if self.scalars[state] is None:
            return count_values(self.writer, self.writer.algebra.value(state))
        return MAX_VALUES

    def is_many(self, state: State) -> bool:
        return self.endless[state] or self.scalars[state] is None

    def find_endless(self) -> None:
        """Mark the states with an infinite part."""
        changed = True
        while changed:
            changed = False
            for state, children in self.children.items():
                spend(1 + len(children))
                if not self.endless[state] and any(self.endless[child] for child in children):
                    self.endless[state] = changed = True

    def values(self, state: State) -> frozenset[Hashable] | None:
        """Return all values of a state, or None if there are more than 512."""
        found: set[Hashable] = set(self.scalars[state] or ())
        for begun in self.shapes[state]:
            made = begun.values()
            if made is None:
                return None
            found |= made
            if len(found) > MAX_VALUES:
                return None
        return frozenset(found)

    def body(self, state: State) -> ir.Expr:
        """Return a value of a state that is not forbidden."""
        writer = self.writer
        options: list[ir.Expr] = []
        value = writer.algebra.value(state)
        few = self.scalars[state]
        if few or (few is None and value.has_scalars()):
            resolver = ScalarsLeft(few, value, writer.style.spelling, writer.style.plain_numbers)
            options.append(writer.capture(writer.dynamic(resolver), take_left_over))
        if not state:
            options.append(writer.capture(writer.structured(state), take))
            return choice(options)
        for form in writer.forms(value):
            if self.form_is_endless(form):
                options.append(writer.capture(writer.container(form), take))
        options += [writer.capture(begun.expression(self), take_left_over) for begun in self.shapes[state]]
        return choice(options)

    def endless_item(self, state: State) -> ir.Expr:
        """Return an item that can be extended forever."""
        writer, parts = self.writer, self.parts[state]
        ends = [end for end in (parts.strings, parts.numbers) if end is not None]
        if parts.numbers is not None:
            writer.algebra.report.add("narrowed", writer.algebra.where(state), "uniqueItems", _PLAIN)
        if parts.structured:
            ends.append(writer.structured(state))
        return writer.capture(choice(ends), take)

    def item(self, state: State) -> ir.Expr:
        """Return a value of a state that is not forbidden, at its position."""
        return self.written.get(state) or ir.RuleRef(self.names[state])

    def entered(self, shape: ObjectShape | ArrayShape, bracket: bytes, is_gated: bool = True) -> ir.Expr:
        """Return an opening bracket that enters a new frame."""
        literal: ir.Expr = ir.Literal(bracket)
        if is_gated:
            literal = self.writer.dynamic(GateOf(literal, BeginIf(shape)))
        action = self.writer.whitespace.bracket
        literal = literal if action is None else ir.Capture(literal, action)
        return self.writer.capture(literal, Enter(shape, not is_gated))

    def closed(self, bracket: bytes) -> ir.Expr:
        """Return the closing bracket that follows items or members, with its gate."""
        parts = self.writer.whitespace.end(ir.Literal(bracket))
        return sequence(gated(self.writer, part, may_close) for part in parts)


class BegunArray:
    """An array described by its items."""

    def __init__(self, shape: ArrayShape, states: list[State], form: ArrayForm, is_outer: bool) -> None:
        self.shape = shape
        self.states = states
        self.form = form
        self.is_outer = is_outer

    def values(self) -> set[Hashable] | None:
        """Return all values, or None if there are more than 512."""
        shape = self.shape
        found: set[Hashable] = set()
        level: set[tuple[Hashable, ...]] = {("array",)}
        count = 0
        while level:
            if count >= shape.low:
                found |= level
            field = shape.field(count)
            if field is None:
                break
            assert field.values is not None
            count += 1
            longer: set[tuple[Hashable, ...]] = set()
            for items in level:
                spend(1 + len(field.values))
                for value in field.values:
                    more = (*items, value)
                    if shape.unique and (value in items[1:] or not shape.has_end(count, NONE_USED, more[1:])):
                        continue
                    longer.add(more)
                if len(longer) + len(found) > MAX_VALUES:  # each of them can be ended
                    return None
            level = longer
        return found

    def expression(self, fields: UnlikeItems) -> ir.Expr:
        """Return the expression of the array, as a scope."""
        shape, writer = self.shape, fields.writer
        ws, algebra = writer.whitespace, writer.algebra
        most = fields.most
        if most is not None and shape.unique and (shape.high is None or shape.high > most):
            if shape.low > most:
                raise fields.refused(f"{shape.low:,} items that may run out after {most}")
            shape.high = most
            note = f"at most {most} items"
            algebra.report.add("narrowed", algebra.where(self.form.rest), "uniqueItems", note)
        if not shape.has_end(0, NONE_USED):
            raise fields.refused(_FEW)
        items = [fields.item(state) for state in self.states]
        if self.is_outer and all(fields.fields[state].values is None for state in self.states):
            # nothing runs out before it must end
            parts = fields.parts.get(self.states[-1]) if self.states else None
            if parts is not None and parts.singles:  # there is one kind of items
                begin = writer.capture(writer.style.array_brackets.begin, begin_set)
                singles = list(parts.singles.values())
                return ir.Scope(with_singles(writer, begin, singles, items[0], shape.low, shape.high))
            rest = items.pop() if shape.others is not None else None
            array = array_expr(writer.style.array_brackets, items, rest, shape.low, shape.high)
            assert isinstance(array, ir.Sequence)
            return ir.Scope(ir.Sequence((writer.capture(array.items[0], begin_set), *array.items[1:])))
        # each item has a comma of its own, which is there at its index only
        firsts = [gated(writer, ws.open, may_go_on)]
        begin = fields.entered(shape, b"[", not self.is_outer)
        more: list[ir.Expr] = []
        for index, item in enumerate(items):
            more.append(ir.Sequence((gated(writer, ws.item, MayBegin(index)), item)))
        some: list[ir.Expr] = []
        if items:
            rest = ir.Repeat(choice(more), 0, None)
            some = [ir.Sequence((*firsts, items[0], rest, fields.closed(b"]")))]
        empty = sequence((ws.empty, gated(writer, ir.Literal(b"]"), may_close)))
        return ir.Scope(ir.Sequence((begin, choice([*some, empty]))))


class BegunObject:
    """An object described by its members."""

    def __init__(self, shape: ObjectShape, states: list[State]) -> None:
        self.shape = shape
        self.states = states

    def values(self) -> set[Hashable] | None:
        """Return all values, or None if there are more than 512."""
        shape = self.shape
        rest = list(range(len(shape.fields)))
        level: list[tuple[tuple[str, Hashable], ...]] = [()]
        for i, field in enumerate(shape.fields):
            assert field.values is not None
            after = rest[i + 1 :]
            longer: list[tuple[tuple[str, Hashable], ...]] = []
            for members in level:
                spend(1 + len(field.values))
                if not shape.required >> i & 1 and shape.has_end(len(members), after):
                    longer.append(members)
                if shape.has_end(len(members) + 1, after):
                    longer += [(*members, (shape.names[i], value)) for value in field.values]
                if len(longer) > MAX_VALUES:  # each of them can be ended
                    return None
            level = longer
        return {("object", frozenset(members)) for members in level}

    def expression(self, fields: UnlikeItems) -> ir.Expr:
        """Return the expression of the object, as a scope."""
        shape, writer = self.shape, fields.writer
        ws = writer.whitespace
        begin = fields.entered(shape, b"{")
        members: list[ir.Expr] = []
        for i, (name, state) in enumerate(zip(shape.names, self.states, strict=True)):
            gate = GateOf(writer.style.word(name), MayBegin(i))
            key = writer.capture(writer.dynamic(gate), AtKey(i))
            members.append(ir.Sequence((key, ws.member, fields.item(state))))
        empty = sequence((ws.empty, gated(writer, ir.Literal(b"}"), may_close)))
        if not members:
            return ir.Scope(ir.Sequence((begin, empty)))
        name = writer.fresh("member")
        writer.rules[name] = ir.Rule(name, choice(members))
        member = ir.RuleRef(name)
        more = ir.Repeat(ir.Sequence((gated(writer, ws.item, may_go_on), member)), 0, None)
        some = ir.Sequence((gated(writer, ws.open, may_go_on), member, more, fields.closed(b"}")))
        return ir.Scope(ir.Sequence((begin, choice([some, empty]))))
