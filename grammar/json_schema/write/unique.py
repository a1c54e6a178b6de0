"""``uniqueItems``: no two items of equal value, in whatever spelling, and never a dead end.

Items with few values are *slots*: each value may be taken once, as keys of an object are. Strings without end are
captured and compared like keys. Other items without end are captured, and their JSON texts read and compared by
value; then after every beginning of an item there must be a value that was not used, which the kinds allowed here
have: a text that would end in a used value can always be made longer.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ArrayForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.state_values import Value
from stackmask.grammar.json_schema.sets.key_languages import count_keys, hidden_words
from stackmask.grammar.json_schema.sets.numbers import (
    INTEGERS,
    MAX_EXPONENT,
    NumberSet,
    UnsupportedNumber,
    finite,
)
from stackmask.grammar.json_schema.sets.string_sets import ALL, finite_words
from stackmask.grammar.json_schema.sets.used_values import NONE_USED, UsedValues
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE, FarNumber, read_value
from stackmask.grammar.json_schema.text.strings import lift, literal, string
from stackmask.grammar.json_schema.write.array_expr import array_expr
from stackmask.grammar.json_schema.write.interfaces import ValueWriter
from stackmask.grammar.json_schema.write.numbers.decimals import ended
from stackmask.grammar.json_schema.write.numbers.number_spellings import number_expr
from stackmask.grammar.json_schema.write.style import MAY_CLOSE, MAY_GO_ON, UNDECLARED, Style
from stackmask.grammar.json_schema.write.unique_frames import has_matching

MAX_VALUES: Final = 512  # values of items that are told apart by slots
MAX_SINGLE: Final = 4  # values that may come once among items without end: rules double with each
_OPEN: Final = ir.Literal(b"[")
_CLOSE: Final = ir.Literal(b"]")
_CONSTANTS: Final = ((NULL, b"null"), (TRUE, b"true"), (FALSE, b"false"))

# texts of a number that is left, after one with so many digits that it cannot be left out
_SHORT: Final = ir.Repeat(ir.CharClass(((0x20, 0x7E),)), 1, MAX_EXPONENT)
_PLAIN: Final = "integers are digits alone, and other numbers have no exponent"


@ir.never_forbids
def begin_set(_: Hashable, __: bytes) -> Hashable:
    """Start with no value used. Whatever was kept account of outside comes back when the array's scope ends."""
    return NONE_USED


def may_repeat(used: Hashable, begun: bytes) -> bool:
    """Return whether the JSON text of a used value, in any spelling, may begin like this."""
    if not isinstance(used, UsedValues):
        return False  # the capture is another action's
    if not used or not begun:
        return bool(used)
    if begun[:1] == b'"':
        return b"\\" in begun or used.may_hold_string(begun[1:])
    if begun[:1] in b"[{":
        return used.holds_structures
    return True


@ir.may_forbid_if(may_repeat)
def add_value(used: Hashable, text: bytes) -> Hashable | None:
    """Add the value of a JSON text; None if it was used before. Cost: linear in the text."""
    assert isinstance(used, UsedValues)
    return used.adding(read_value(text))


@ir.never_forbids
def add_left_over(used: Hashable, text: bytes) -> Hashable | None:
    """As ``add_value``, for values that were not used before."""
    return add_value(used, text)


def unique_array(writer: ValueWriter, form: ArrayForm) -> ir.Expr:
    """Return the expression of an array of unequal items.

    Raises: UnsupportedSchemaError where that cannot be done without dead ends.
    """
    algebra = writer.algebra
    place = algebra.where(form.rest if form.rest else (form.prefix[0] if form.prefix else form.rest))

    def refuse(reason: str) -> UnsupportedSchemaError:
        return UnsupportedSchemaError(place, "uniqueItems", reason)

    if form.contains:
        raise refuse("together with `contains`")
    mark = algebra.report.mark()
    try:
        return _simple(writer, form, refuse)
    except UnsupportedSchemaError as error:
        algebra.report.take_back(mark)
        from stackmask.grammar.json_schema.write.unique_structures import unlike_items

        return unlike_items(writer, form, error)


def _simple(writer: ValueWriter, form: ArrayForm, refuse: Any) -> ir.Expr:
    """Return an array of unequal items that are told apart where they end."""
    if any(state and writer.algebra.value(state).digits is not None for state in (*form.prefix, form.rest)):
        raise refuse("integers of draft 4 beside other numbers")
    ws = writer.whitespace
    live = [writer.is_live(state) for state in form.prefix]
    if form.prefix:
        return _prefixed(writer, form, live, refuse)
    if not writer.is_live(form.rest):
        return ir.Sequence((_OPEN, ws.empty, _CLOSE))
    parts = parts_of(writer, form.rest)
    if parts is None and form.rest:
        value = writer.algebra.value(form.rest)
        if is_endless(writer, form.rest):
            return _left_over(writer, form, value)
    if parts is None:
        raise refuse("items of which some beginnings have only a few values")
    singles, strings, endless = parts
    if endless is None:
        return _slots(writer, form, singles, strings)
    if len(singles) > MAX_SINGLE:
        raise refuse(f"more than {MAX_SINGLE} single values beside items of other types")
    options = [option for option in (strings, endless) if option is not None]
    item = writer.capture(writer.choice(options), add_value)
    return _captured(writer, singles, item, form.low, form.high)


def enough_values(writer: ValueWriter, form: ArrayForm) -> bool:
    """Return whether as many unequal items as the array must have can be found, one for each place.

    Places whose items have few values are matched to values (augmenting paths); others never run out.
    """
    few: list[list[Hashable]] = []
    for index in range(form.low):
        state = form.prefix[index] if index < len(form.prefix) else form.rest
        values = _values(writer, state)
        if values is None:
            if index >= len(form.prefix):
                break
            continue
        few.append(list(values))
        if len(few) > MAX_VALUES:
            return False
    return has_matching(few)


def is_endless(writer: ValueWriter, state: State) -> bool:
    """Return whether every beginning of an array or object of the state has endless completions.

    It has if more keys or items can always come.
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


def _slots(writer: ValueWriter, form: ArrayForm, singles: list[ir.Expr], strings: ir.Expr | None) -> ir.Expr:
    """Return an array of values by slot, and of strings without end."""
    ws = writer.whitespace
    high = form.high
    if strings is None and (high is None or high >= len(singles)):
        high = None
    if strings is None and form.low > len(singles):
        return ir.NOTHING
    spec = ir.KeySpec(len(singles), min_count=form.low, max_count=high, open=strings is not None)
    options: list[ir.Expr] = [ir.Sequence((value, ir.Slot(i), ir.EPSILON)) for i, value in enumerate(singles)]
    if strings is not None:
        options.append(ir.Sequence((UNDECLARED, ir.Capture(strings, "key"))))
    return _keyed(ws, options, spec)


def _keyed(ws: Any, options: list[ir.Expr], spec: ir.KeySpec) -> ir.Expr:
    item = options[0] if len(options) == 1 else ir.Choice(tuple(options))
    some = ir.Sequence(
        (
            ws.open,
            item,
            ir.Repeat(ir.Sequence((MAY_GO_ON, ws.item, item)), 0, None),
            MAY_CLOSE,
            *ws.end(_CLOSE),
        )
    )
    none = ir.Sequence((MAY_CLOSE, ws.empty, _CLOSE))
    return ir.Keyed(ir.Sequence((ws.begin(_OPEN), ir.Choice((some, none)))), spec)


def is_near(number: Any) -> bool:
    """Return whether a used number can be left out of a set of numbers."""
    if isinstance(number, FarNumber):
        return False
    try:
        finite([number])
    except UnsupportedNumber:
        return False
    return True


class LeftOver:
    """A resolver: the scalar values of a schema that were not used yet, in a style."""

    __slots__ = ("body", "plain_numbers", "value")

    def __init__(self, value: Value, style: Style) -> None:
        self.value = value
        self.plain_numbers = style.plain_numbers
        text = value.text
        self.body = None if text.is_empty() else lift(text.expr(), style.spelling)

    def __call__(self, used: Hashable) -> ir.Expr:
        """Return the expression of what is left. Cost: linear in the number of used values."""
        assert isinstance(used, UsedValues)
        return self.without(used)

    def without(self, used: Any) -> ir.Expr:
        """Return the expression of the values that are not used; ``used`` is asked and visited like a set."""
        value = self.value
        options: list[ir.Expr] = [
            ir.Literal(word) for bit, word in _CONSTANTS if value.mask & bit and ("", bit) not in used
        ]
        counted = [item for item in used if isinstance(item, FarNumber) or not isinstance(item, str | tuple)]
        taken = [item for item in counted if is_near(item)]
        numbers = value.number - finite(taken) if taken else value.number
        if not numbers.is_empty():
            spelled = self.spelled(numbers, taken)
            # numbers too long to be left out of a set: no other one is as long
            options.append(spelled if len(taken) == len(counted) else ir.Intersection((spelled, _SHORT)))
        if self.body is not None:
            words = tuple(literal(word) for word in sorted(item for item in used if isinstance(item, str)))
            body = self.body
            if words:
                body = ir.Intersection(
                    (body, ir.Complement(words[0] if len(words) == 1 else ir.Choice(words)))
                )
            options.append(string(body))
        return options[0] if len(options) == 1 else ir.Choice(tuple(options))

    def spelled(self, numbers: NumberSet, taken: list[Any]) -> ir.Expr:
        """Return the spellings of numbers: those of the schema but for the ones ``taken``."""
        zeros = not self.value.whole
        try:
            return number_expr(numbers, zero_fractions=zeros, plain=self.plain_numbers)
        except (
            UnsupportedNumber
        ):  # with these left out it is too large for one expression: leave their texts out
            texts = number_expr(finite(taken))
            every = number_expr(self.value.number, zero_fractions=zeros, plain=self.plain_numbers)
            return ir.Intersection((every, ir.Complement(texts)))


def _left_over(writer: ValueWriter, form: ArrayForm, value: Value) -> ir.Expr:
    """Return an array of which some beginnings of scalar items have only a few values.

    What was used is left out of the language of the next item, so nothing leads into a dead end while there are
    more values than items.
    """
    try:
        number_expr(
            value.number, zero_fractions=not value.whole, plain=writer.style.plain_numbers
        )  # refuse now what could only be refused later
    except UnsupportedNumber as error:
        raise UnsupportedSchemaError(writer.algebra.where(form.rest), "uniqueItems", str(error)) from None
    high = form.high
    most = MAX_VALUES if value.arrays or value.objects else count_values(value)
    if high is None or high > most:
        if most < form.low:
            reason = f"{form.low:,} items that may run out after {most}"
            raise UnsupportedSchemaError(writer.algebra.where(form.rest), "uniqueItems", reason)
        high = most
        writer.algebra.report.add(
            "narrowed", writer.algebra.where(form.rest), "uniqueItems", f"at most {high} items"
        )
    item: ir.Expr = writer.capture(writer.dynamic(LeftOver(value, writer.style)), add_left_over)
    if value.arrays or value.objects:
        item = ir.Choice((item, writer.capture(writer.structured(form.rest), add_value)))
    return _captured(writer, [], item, form.low, high)


def _captured(
    writer: ValueWriter, singles: list[ir.Expr], item: ir.Expr, low: int, high: int | None
) -> ir.Expr:
    """Return an array of captured items, among which each of the single values may come once.

    Without single values a repetition counts; with them there is a rule for each set of those that are left.
    """
    ws = writer.whitespace
    begin = writer.capture(ws.begin(_OPEN), begin_set)
    end = ir.Sequence(ws.end(_CLOSE))
    empty = ir.Sequence((ws.empty, _CLOSE))
    if not singles:
        more = ir.Repeat(ir.Sequence((ws.item, item)), max(0, low - 1), None if high is None else high - 1)
        some = ir.Sequence((ws.open, item, more, end))
        return ir.Scope(ir.Sequence((begin, some if low else ir.Choice((some, empty)))))
    most = max(low, high or 0)
    names: dict[tuple[int, int], str] = {}
    todo: list[tuple[int, int]] = []

    def goes_on(left: int, count: int, before: ir.Expr) -> list[ir.Expr]:
        if high is not None and count >= high:
            return []
        after = min(count + 1, most)
        moves = [(item, left)]
        moves += [(single, left & ~(1 << i)) for i, single in enumerate(singles) if left >> i & 1]
        found: list[ir.Expr] = []
        for expr, rest in moves:
            key = (rest, after)
            if key not in names:
                names[key] = writer.fresh("unique")
                todo.append(key)
            found.append(ir.Sequence((before, expr, ir.RuleRef(names[key]))))
        return found

    everything = (1 << len(singles)) - 1
    first = goes_on(everything, 0, ws.open)
    if not low:
        first.append(empty)
    while todo:
        left, count = todo.pop()
        options = goes_on(left, count, ws.item)
        if count >= low:
            options.append(end)
        name = names[left, count]
        writer.rules[name] = ir.Rule(name, writer.choice(options))
    return ir.Scope(ir.Sequence((begin, writer.choice(first))))


def _prefixed(writer: ValueWriter, form: ArrayForm, live: list[bool], refuse: Any) -> ir.Expr:
    """Return an array with leading items of their own, all without end."""
    states = form.prefix
    high = form.high
    if False in live:
        high = min(live.index(False), len(states) if high is None else high)
        states = states[:high]
    if high is None or high > len(states):
        if writer.is_live(form.rest):
            states = [*states, form.rest]
        else:
            high = len(states)
    items: dict[State, ir.Expr] = {}
    few: list[State] = []
    for state in states:
        parts = parts_of(writer, state)
        if parts is None:
            raise refuse("items of which some beginnings have only a few values")
        singles, strings, endless = parts
        if singles:
            few.append(state)
        options = [option for option in (strings, endless) if option is not None]
        if options:
            items[state] = writer.capture(writer.choice(options), add_value)
    if few:
        return _few_prefixed(writer, form, states, high, refuse)
    rest = None if high is not None and high <= len(form.prefix) else items[form.rest]
    prefix = [items[state] for state in form.prefix[:high]]
    body = array_expr(writer.whitespace, prefix, rest, form.low, high)
    assert isinstance(body, ir.Sequence)
    return ir.Scope(ir.Sequence((writer.capture(body.items[0], begin_set), *body.items[1:])))


def _few_prefixed(
    writer: ValueWriter, form: ArrayForm, states: list[State], high: int | None, refuse: Any
) -> ir.Expr:
    """Return an array where leading items have few values: all choices of values are told apart by rules."""
    ws = writer.whitespace
    length = len(form.prefix) if high is None else min(high, len(form.prefix))
    sets: list[dict[Hashable, ir.Expr] | None] = [_values(writer, state) for state in form.prefix[:length]]
    rest_state = form.rest if high is None or high > length else None
    rest = None if rest_state is None else _values(writer, rest_state)
    rest_item: ir.Expr | None = None
    if any(values is None for values in sets) or (rest_state is not None and rest is None):
        # a mixture: values of the few are left out of nothing else only if the others cannot have them
        raise refuse("leading items of which some have few values and others many")
    last = length + (len(rest) if rest else 0)
    last = last if high is None else min(last, high)
    names: dict[tuple[int, frozenset[Hashable]], str] = {}
    alive: dict[tuple[int, frozenset[Hashable]], bool] = {}

    def options_at(index: int) -> dict[Hashable, ir.Expr]:
        found = sets[index] if index < length else rest
        return found or {}

    def is_alive(index: int, used: frozenset[Hashable]) -> bool:
        if index >= form.low:
            return True
        if index >= last:
            return False
        key = (index, used)
        if key not in alive:
            if len(alive) > MAX_VALUES:
                raise refuse("too many choices of values in the leading items")
            alive[key] = any(
                value not in used and is_alive(index + 1, used | {value}) for value in options_at(index)
            )
        return alive[key]

    def moves(index: int, used: frozenset[Hashable], before: ir.Expr) -> list[ir.Expr]:
        if index >= last:
            return []
        return [
            ir.Sequence((before, expr, ir.RuleRef(rule(index + 1, used | {value}))))
            for value, expr in options_at(index).items()
            if value not in used and is_alive(index + 1, used | {value})
        ]

    def rule(index: int, used: frozenset[Hashable]) -> str:
        key = (index, used)
        name = names.get(key)
        if name is None:
            if len(names) > MAX_VALUES:
                raise refuse("too many choices of values in the leading items")
            name = names[key] = writer.fresh("unique")
            options = moves(index, used, ws.item)
            if index >= form.low:
                options.append(ir.Sequence(ws.end(_CLOSE)))
            writer.rules[name] = ir.Rule(name, writer.choice(options))
        return name

    assert rest_item is None
    first = moves(0, frozenset(), ws.open)
    if not form.low:
        first.append(ir.Sequence((ws.empty, _CLOSE)))
    if not first:
        return ir.NOTHING
    return ir.Sequence((ws.begin(_OPEN), writer.choice(first)))


def _values(writer: ValueWriter, state: State) -> dict[Hashable, ir.Expr] | None:
    """Return the spellings of all values of a state by value, or None if they are not few scalars."""
    if not state:
        return None
    value = writer.algebra.value(state)
    return None if value.arrays or value.objects else scalar_values(writer, value)


def scalar_values(writer: ValueWriter, value: Value) -> dict[Hashable, ir.Expr] | None:
    """Return the spellings of all scalars of a value by value, or None if they are more than 512."""
    found: dict[Hashable, ir.Expr] = {
        ("", bit): ir.Literal(word) for bit, word in _CONSTANTS if value.mask & bit
    }
    numbers = value.number.values(MAX_VALUES)
    words = _words(value)
    if numbers is None or words is None:
        return None
    zeros = not value.whole
    plain = writer.style.plain_numbers
    found.update((n, number_expr(finite([n]), zero_fractions=zeros, plain=plain)) for n in numbers)
    found.update((word, writer.style.word(word)) for word in words)
    return found if len(found) <= MAX_VALUES else None


def _words(value: Value) -> list[str] | None:
    text = value.text
    if text.words is not None:
        return list(text.words)
    if text.is_empty():
        return []
    if not text.parts and text.high is None:
        return None
    words = finite_words(text.expr(), MAX_VALUES)
    return hidden_words(text) if words is None and not text.is_endless() else words


def count_values(value: Value) -> int:
    """Return how many scalars there are at least, 512 at most."""
    count = (value.mask & NULL) // NULL + (value.mask & TRUE) // TRUE + (value.mask & FALSE) // FALSE
    numbers = value.number.values(MAX_VALUES)
    if numbers is None:
        return MAX_VALUES
    words = _words(value)
    if words is not None:
        return min(MAX_VALUES, count + len(numbers) + len(words))
    return min(MAX_VALUES, MAX_VALUES if value.text.is_endless() else count + count_keys(value.text))


def parts_of(
    writer: ValueWriter, state: State
) -> tuple[list[ir.Expr], ir.Expr | None, ir.Expr | None] | None:
    """Split a state into single values, strings without end, and other items without end.

    Returns None if some beginning of an item can be completed to finitely many values only.
    """
    singles: list[ir.Expr] = []
    if state:
        value = writer.algebra.value(state)
        mask, number, text = value.mask, value.number, value.text
        structured = bool(value.arrays or value.objects)
    else:
        mask, number, text, structured = NULL | TRUE | FALSE, writer.all_numbers, ALL, True
        value = None
    singles.extend(ir.Literal(word) for bit, word in _CONSTANTS if mask & bit)
    endless: list[ir.Expr] = []
    if not number.is_empty():
        numbers = number.values(MAX_VALUES)
        if numbers is not None:
            zeros = value is None or not value.whole
            plain = writer.style.plain_numbers
            singles.extend(number_expr(finite([n]), zero_fractions=zeros, plain=plain) for n in numbers)
        else:
            plain = writer.style.plain_numbers
            spelled = endless_numbers(number, plain)
            if spelled is None:
                return None
            zero, others = spelled
            others = ended(others) if plain else others
            if zero is not None:
                singles.append(zero)
            endless.append(others)
            algebra = writer.algebra
            algebra.report.add("narrowed", algebra.where(state), "uniqueItems", _PLAIN)
    strings: ir.Expr | None = None
    if not text.is_empty():
        words = None if text is ALL or value is None else _words(value)
        if words is None and not text.is_endless():
            return None
        if words is not None:
            singles.extend(writer.style.word(word) for word in words)
        else:
            strings = writer.style.text(text)
    if structured:
        if not is_endless(writer, state):
            return None
        endless.append(writer.structured(state))
    if len(singles) > MAX_VALUES:
        return None
    return singles, strings, (writer.choice(endless) if endless else None)


def endless_numbers(number: Any, plain_numbers: bool) -> tuple[ir.Expr | None, ir.Expr] | None:
    """Return the spellings of zero, and plain ones of the others, of which each can be made longer."""
    digits = ir.Repeat(ir.CharClass(((0x30, 0x39),)), 0, None)
    whole = ir.Sequence((ir.CharClass(((0x31, 0x39),)), digits))
    minus = ir.Literal(b"-")
    zero = number_expr(finite([0]), plain=plain_numbers) if 0 in number else None
    if number == INTEGERS:
        return zero, ir.Sequence((ir.Repeat(minus, 0, 1), whole))
    from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, at_least

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
