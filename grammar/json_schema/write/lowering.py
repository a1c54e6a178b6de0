"""From what states mean to rules over expressions: finds all states, drops what has no value, writes the rest."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import effects_of
from stackmask.grammar.json_schema.algebra.algebra import Algebra
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsatisfiableSchemaError, Where
from stackmask.grammar.json_schema.nodes.forms import ANY_KEYS, ArrayForm, ObjectForm
from stackmask.grammar.json_schema.nodes.leaf_cache import remember
from stackmask.grammar.json_schema.nodes.nodes import PART_ALL, State
from stackmask.grammar.json_schema.nodes.object_members import add_states, count_required
from stackmask.grammar.json_schema.nodes.state_values import Value
from stackmask.grammar.json_schema.sets.numbers import (
    ALL_NUMBERS,
    INTEGERS,
    NO_NUMBERS,
    NumberSet,
    UnsupportedNumber,
)
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE, Texts, plain_texts
from stackmask.grammar.json_schema.text.strings import NARROWING as STRING_NARROWING
from stackmask.grammar.json_schema.write.array_rules import ArrayWriter
from stackmask.grammar.json_schema.write.contradictions import MAX_SCHEMAS, contradictions
from stackmask.grammar.json_schema.write.numbers.decimals import ended
from stackmask.grammar.json_schema.write.numbers.number_spellings import (
    NARROWING,
    number_expr,
    number_spelling,
)
from stackmask.grammar.json_schema.write.object_rules import ObjectWriter
from stackmask.grammar.json_schema.write.style import Style
from stackmask.grammar.json_schema.write.whitespace import BesideDepth, OfDepth, ResolverBesideDepth
from stackmask.grammar.source.work import spend

START: Final = "root"
_ANY_WHOLE: Final = number_expr(INTEGERS, zero_fractions=False)


class Lowering:
    """Writes the rules of one schema."""

    def __init__(self, algebra: Algebra, style: Style) -> None:
        self.algebra = algebra
        self.style = style
        self.whitespace = style.blanks
        self.productive: dict[State, bool] = {}
        self.expressions: dict[State, ir.Expr] = {}
        self.rules: dict[str, ir.Rule] = {}
        self.todo: list[tuple[str, Value]] = []
        self.uses_prelude = False
        self.counter = 0
        self.actions: dict[int, BesideDepth] = {}  # by the address of what they hold
        self.resolvers: dict[int, ResolverBesideDepth] = {}
        self.few_words: dict[int, tuple[Texts, list[str] | None]] = {}  # of sets of strings, by address
        self.noted_strings = False
        self.noted_numbers = False  # whether the report says how numbers are spelled
        self.arrays = ArrayWriter(self)
        style.trim()
        self.objects = ObjectWriter(self, style)

    def run(self) -> ir.RuleSet:
        """Return the rules. Raises: UnsatisfiableSchemaError if no value is valid."""
        algebra = self.algebra
        start = algebra.state((algebra.start,))
        self.find_productive(start)
        if not self.productive[start]:
            raise UnsatisfiableSchemaError(algebra.where(start), "", self.why(start))
        self.rules[START] = ir.Rule(START, ir.EPSILON)  # the first rule, written last
        return self.finish(self.expression(start))

    def begin_objects(self) -> list[ObjectForm]:
        """Return the objects that the schema allows, as forms, with the start rule begun. Raises: SchemaError if there are none."""
        algebra = self.algebra
        start = algebra.state((algebra.start,))
        self.find_productive(start)
        self.rules[START] = ir.Rule(START, ir.EPSILON)
        forms = self.object_forms(start)
        if not forms:
            problem = "arguments are an object, and the schema allows none"
            raise SchemaError(algebra.where(start), "type", problem)
        return forms

    def object_forms(self, state: State) -> list[ObjectForm]:
        """Return the objects of a state of which there are any."""
        if not state:
            return [ObjectForm([], {}, [ANY_KEYS], 0, None, [])]
        return [form for form in self.algebra.value(state).objects if self.objects.is_productive(form)]

    def finish(self, body: ir.Expr) -> ir.RuleSet:
        """Return the rules, with this body of the start rule, and all that it leads to."""
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

    def forget(self) -> None:
        """Let go of the writers, which refer back: all is freed at once, and not left to the garbage collector."""
        del self.arrays, self.objects

    # -- which states have a value -----------------------------------------------------------------------

    def find_productive(self, start: State) -> None:
        """Decide for every state that the start needs whether it has a value (least fixpoint)."""
        algebra = self.algebra
        nodes = algebra.nodes
        productive = self.productive
        unknown: list[tuple[State, Value]] = []  # that need values of others
        seen = {start}
        todo = [start]
        while todo:
            state = todo.pop()
            if not state:
                productive[state] = True
                continue
            if state in productive:
                continue
            if len(state) == 1:
                (literal,) = state
                if literal > 0 and nodes[literal].leaf is not None:
                    productive[state] = True
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
                for child in self.arrays.children(array):
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
                    map(self.arrays.is_productive, value.arrays)
                ):
                    productive[state] = changed = True
                else:
                    left.append(entry)
            left.reverse()
            unknown = left

    def why(self, start: State) -> str:
        """Return why a state has no value, by following what must be there."""
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
        """Yield the schema objects that all hold for a value of a state."""
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
        """Return whether a state has a value; also for states that were not asked for before."""
        if state not in self.productive:
            self.find_productive(state)
        return self.productive[state]

    def fresh(self, kind: str) -> str:
        """Return a rule name that is not used yet."""
        self.counter += 1
        return f"{kind}{self.counter}"

    def expression(self, state: State) -> ir.Expr:
        """Return the expression of a productive state; arrays and objects are rules of their own."""
        found = self.expressions.get(state)
        if found is not None:
            return found
        node = None
        if len(state) == 1:
            (literal,) = state
            if literal > 0:
                node = self.algebra.nodes[literal]
        if not state:
            self.uses_prelude = True
            result: ir.Expr = ir.RuleRef("json")
        elif node is not None and node.leaf is not None:
            result = node.leaf.expr
            if node.leaf.numbers:
                self.note_numbers(node.where)
            if node.leaf.strings:
                self.note_strings(node.where)
        else:
            value = self.algebra.value(state)
            if value.arrays or value.objects:
                name = self.fresh("value")
                self.todo.append((name, value))
                result = ir.RuleRef(name)
            else:
                before = self.counter
                result = _choice(self.scalars(value))
                if (
                    node is not None
                    and node.content is not None
                    and self.counter == before
                    and not self.algebra.relax  # what is relaxed here is refused elsewhere
                ):
                    remember(self.style.leaves, node, result)
        self.expressions[state] = result
        return result

    def capture(self, item: ir.Expr, action: ir.Action) -> ir.Expr:
        """Return an expression with an action on what it matches, beside the depth where that counts."""
        if self.whitespace.nested and not isinstance(action, str | OfDepth | ir.TokenLimit):
            action = self.actions.setdefault(id(action), BesideDepth(action))
        return ir.Capture(item, action)

    def dynamic(self, resolver: Callable[[Hashable], ir.Expr]) -> ir.Expr:
        """Return what a resolver returns, which is asked beside the depth where that counts."""
        if self.whitespace.nested and not isinstance(resolver, OfDepth):
            resolver = self.resolvers.setdefault(id(resolver), ResolverBesideDepth(resolver))
        return ir.Dynamic(resolver)

    def structured(self, state: State) -> ir.Expr:
        """Return the arrays and objects of a state."""
        if not state:
            self.uses_prelude = True
            return ir.Choice((ir.RuleRef("json.array"), ir.RuleRef("json.object")))
        value = self.algebra.value(state)
        name = self.fresh("value")
        self.rules[name] = ir.Rule(name, _choice(self.containers(value)))
        return ir.RuleRef(name)

    def forms(self, value: Value) -> list[ArrayForm | ObjectForm]:
        """Return the arrays and objects of a value of which there are any."""
        arrays = [form for form in value.arrays if self.arrays.is_productive(form)]
        return [*arrays, *(form for form in value.objects if self.objects.is_productive(form))]

    def container(self, form: ArrayForm | ObjectForm) -> ir.Expr:
        """Return the arrays or objects of one form."""
        if isinstance(form, ArrayForm):
            return self.whitespace.around(self.arrays.expression(form))
        return self.whitespace.around(self.objects.expression(form))

    def body(self, value: Value) -> ir.Expr:
        """Return the body of the rule of a state."""
        if not value.mask and value.number is NO_NUMBERS and value.text is NONE:  # arrays and objects alone
            return _choice(self.containers(value))
        return _choice([*self.scalars(value), *self.containers(value)])

    def containers(self, value: Value) -> list[ir.Expr]:
        """Return the expressions of the arrays and objects of a value."""
        arrays, objects = self.arrays, self.objects
        if (
            len(value.objects) == 1
            and not value.arrays
            and self.productive.get(value.state)
            and not value.has_scalars()
        ):
            # nearly always: what has a value has one of these
            found = [objects.expression(value.objects[0])]
            return list(map(self.whitespace.around, found)) if self.whitespace.nested else found
        found = [arrays.expression(form) for form in value.arrays if arrays.is_productive(form)]
        found += [objects.expression(form) for form in value.objects if objects.is_productive(form)]
        return list(map(self.whitespace.around, found)) if self.whitespace.nested else found

    def scalars(self, value: Value) -> list[ir.Expr]:
        """Return the expressions of the scalar values."""
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
        """Let the report say, once, how strings are spelled."""
        if not self.noted_strings:
            self.noted_strings = True
            self.algebra.report.add("narrowed", where, "", f"strings: {STRING_NARROWING}")

    def note_numbers(self, where: Where) -> None:
        """Let the report say, once, how numbers are spelled."""
        if not self.noted_numbers:
            self.noted_numbers = True
            self.algebra.report.add("narrowed", where, "", f"numbers: {NARROWING}")

    def numbers(self, value: Value) -> ir.Expr:
        """Return the spellings of the numbers of a value."""
        algebra = self.algebra
        if not value.whole:
            self.note_numbers(algebra.where(value.state))
        try:
            if value.digits is not None:
                return _choice(_numbers_and_digits(value.number, value.digits, self.style.plain_numbers))
            written = number_spelling(
                value.number,
                f"number{self.counter + 1}",
                zero_fractions=not value.whole,
                plain=self.style.plain_numbers,
            )
        except UnsupportedNumber as error:
            algebra.unsupported(algebra.where(value.state), "multipleOf", str(error))
            return self.style.any_number
        if written.rules:
            self.counter += 1
            self.rules.update((name, ir.Rule(name, body)) for name, body in written.rules.items())
        return written.expr

    def choice(self, options: list[ir.Expr]) -> ir.Expr:
        """Return any of the expressions."""
        return _choice(options)


def _numbers_and_digits(numbers: NumberSet, digits: NumberSet, plain: bool) -> list[ir.Expr]:
    """Return the spellings of numbers beside integers of draft 4, which are written as digits alone."""
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


def _choice(options: list[ir.Expr]) -> ir.Expr:
    return options[0] if len(options) == 1 else ir.Choice(tuple(options))
