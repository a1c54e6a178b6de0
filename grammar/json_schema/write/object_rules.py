"""Objects as expressions: chains of members in declared order, or members by slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError, Where
from stackmask.grammar.json_schema.nodes.forms import KeyClass, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.object_members import (
    Member,
    by_declaration,
    chain_size,
    count_live,
    count_required,
    live_members,
    write_chain,
    write_item,
    write_members,
    write_slots,
)
from stackmask.grammar.json_schema.sets.key_languages import (
    count_keys,
    few_keys,
    left_over_key,
    no_keys,
    simplified,
)
from stackmask.grammar.json_schema.sets.string_sets import ALL, text_expr
from stackmask.grammar.json_schema.text.strings import (
    ANY_STRING,
    ANY_STRING_BODY,
    QUOTE,
    lift,
    literals,
    string,
)
from stackmask.grammar.json_schema.write.interfaces import ValueWriter
from stackmask.grammar.json_schema.write.prelude import ANY_OBJECT
from stackmask.grammar.languages.forms import MANY
from stackmask.grammar.source.work import spend

MAX_SHARED: Final = 500  # declared members of a chain with rules of its own
MAX_CHAIN: Final = 48  # members written for all places where a chain may start
MAX_FOUND: Final = 4  # keys that must be found in one object, and have no name
MIN_ROOM: Final = 16  # keys without a name that there must be room for beside those that must be found
MAX_ROOM: Final = 200  # where such keys may run out
MAX_FINDING: Final = 4000  # rules of one object in which keys must be found and are counted
_OPEN: Final = ir.Literal(b"{")
_CLOSE: Final = ir.Literal(b"}")
_MAY_CLOSE: Final = ir.KeyTest("close")
_MAY_GO_ON: Final = ir.KeyTest("continue")
_UNDECLARED: Final = ir.KeyTest("undeclared")
_ANY_KEY: Final = ir.Capture(ANY_STRING, "key")
_NO_SLOTS: Final = ir.KeySpec(0, open=True)


class ObjectWriter:
    """Writes objects for one grammar."""

    def __init__(self, writer: ValueWriter) -> None:
        self.writer = writer
        ws = writer.whitespace
        # how objects end: after members, and with none; where keys are kept account of, if they may
        self.begin = ws.begin(_OPEN)
        self.end = ir.Sequence(ws.end(_CLOSE))
        self.empty = ir.Sequence((ws.empty, _CLOSE))
        self.may_end = ir.Sequence((_MAY_CLOSE, *ws.end(_CLOSE)))
        self.may_be_empty = ir.Sequence((_MAY_CLOSE, ws.empty, _CLOSE))
        # equal parts of several objects are one expression, which is then lowered once
        self.members: dict[tuple[str, State], ir.Expr] = {}
        self.items: dict[int, ir.Expr] = {}  # by the address of a member, and whether it is required
        self.slots: dict[tuple[str, State, int], ir.Expr] = {}
        self.other_keys: dict[tuple[str, ...], ir.Expr] = {}
        self.left_overs: dict[ir.Expr, ir.Expr] = {}

    def other_children(self, form: ObjectForm) -> Iterable[State]:
        """Return the states of all values of keys without a name."""
        if not form.classes:
            return ()
        if len(form.classes) == 1 and not form.some:
            return (form.classes[0].state,)
        if len(form.some) > MAX_FOUND:
            return [entry.state for entry in form.classes]
        moves = self.finding(form, form.classes, lambda _: True)
        return {state for entries in moves.values() for _, state in entries}

    def is_productive(self, form: ObjectForm) -> bool:
        """Return whether there is such an object, as far as is known of its values."""
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
        """Return the keys without a name by which of those that must be found they are, as bits."""
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
        productive = self.writer.productive
        if not form.names and not form.low and form.high is None and len(form.classes) == 1:
            (only,) = form.classes
            if only.texts is ALL and not only.state and not form.some:  # any object
                self.writer.uses_prelude = True
                return ANY_OBJECT
        members = live_members(form.members, productive)
        classes = form.classes
        if classes:
            classes = [entry for entry in classes if productive[entry.state]]
        for entry in classes:
            if entry.texts is not ALL and not entry.texts.is_endless():
                return self.running_out(form, members, classes)
        return self.shaped(form, members, classes, form.low, form.high)

    def running_out(self, form: ObjectForm, members: list[Member], classes: list[KeyClass]) -> ir.Expr:
        """Return an object of which some keys without a name can run out: few are members, others are kept."""
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
                most = count_keys(entry.texts.without(form.names)) if words is None else len(words)
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
            if self.writer.any_order or not any(member.declared for member in members):
                count += len(members)  # in any order, what is left of either may still come
            place = algebra.where(kept[0].state)
            if max(low, sum(member.required for member in members)) > count:
                raise UnsupportedSchemaError(place, "minProperties", f"keys that may run out after {count}")
            if high is None or high > count:
                note = f"at most {count:,} keys in one object"
                algebra.report.add("narrowed", place, "patternProperties", note)
                high = count
        result = self.shaped(form, members, kept, low, high)
        if all(entry.texts.is_endless() for entry in kept):
            return result
        if not isinstance(result, ir.Keyed) or not isinstance(result.item, ir.Sequence):
            return result  # there was no room for other keys
        inside = ir.Sequence((ir.Capture(result.item.items[0], no_keys), *result.item.items[1:]))
        return ir.Scope(ir.Keyed(inside, result.spec))

    def room_of_each(self, form: ObjectForm, members: list[Member], fewest_keys: int, place: Where) -> int:
        """Return the greatest count at which no class of keys runs out, of which each has at least so many.

        Raises: UnsupportedSchemaError if that leaves out too much.
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
        """Return an object in the shape that its members, other keys and counts need."""
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
        if form.some:
            return self.searched(form, members, classes, low, high)
        if not counted and not (self.writer.any_order and len(members) > 1):
            declared, others = by_declaration(members)
            if not classes and len(others) < 2:
                declared, others = members, []
            if not self.writer.any_order and len(others) > 1 and len(declared) <= MAX_SHARED:
                return self.open_chain(
                    form, declared, others, classes
                )  # slots would put the others in order too
            if chain_size(declared) <= MAX_CHAIN:
                if not classes and not others:
                    return self.closed_chain(members)
                if not self.writer.any_order or not declared:
                    return self.open_chain(form, declared, others, classes)
        return self.keyed(form, members, classes, low, high)

    # -- parts -------------------------------------------------------------------------------------------

    def slot_members(self, members: list[Member]) -> list[ir.Expr]:
        """Return members, each with its slot: key, slot, colon, value."""
        return write_slots(members, self.slots, self.writer, self.writer.whitespace.member)

    def other_key(self, names: tuple[str, ...]) -> ir.Expr:
        """Return a key that is none of the names, and was not there before."""
        found = self.other_keys.get(names)
        if found is None:
            spellings = literals(names)
            words = spellings[0] if len(names) == 1 else ir.Choice(spellings)
            body = ir.Intersection((ANY_STRING_BODY, ir.Complement(words)))
            found = self.other_keys[names] = ir.Capture(ir.Sequence((QUOTE, body, QUOTE)), "key")
        return found

    def class_member(self, form: ObjectForm, entry: KeyClass, state: State) -> ir.Expr:
        """Return a member whose key has no name; it must not have been there before."""
        writer = self.writer
        texts = entry.texts
        key: ir.Expr
        if not texts.is_endless():
            key = ir.Capture(self.left_over(texts.without(form.names).expr()), "key")
        elif not form.names:
            key = _ANY_KEY if texts is ALL else ir.Capture(text_expr(texts), "key")
        elif texts is ALL:
            key = self.other_key(tuple(form.names))
        else:
            key = ir.Capture(string(lift(texts.without(form.names).expr())), "key")
        return ir.Sequence(
            (
                _UNDECLARED,
                key,
                writer.whitespace.member,
                writer.expression(state),
            )
        )

    def left_over(self, expr: ir.Expr) -> ir.Expr:
        """Return the rule of the keys out of an expression that were not used yet."""
        found = self.left_overs.get(expr)
        if found is None:
            name = self.writer.fresh("key")
            self.writer.rules[name] = ir.Rule(name, left_over_key(expr))
            found = self.left_overs[expr] = ir.RuleRef(name)
        return found

    # -- shapes ------------------------------------------------------------------------------------------

    def closed_chain(self, members: list[Member]) -> ir.Expr:
        """Return an object of named members in order."""
        return ir.Sequence((self.begin, self.chain(members, [self.end], [self.empty])))

    def chain(self, members: list[Member], rest: list[ir.Expr], rest_alone: list[ir.Expr]) -> ir.Expr:
        """Return the members in order, then ``rest``; ``rest_alone`` where no member came."""
        writer, ws = self.writer, self.writer.whitespace
        written = write_members(members, self.members, writer, ws.member)
        if chain_size(members) > MAX_CHAIN:
            return self.shared_chain(members, written, rest, rest_alone)
        options = write_chain(members, written, self.items, ws.open, ws.item, rest, rest_alone)
        return options[0] if len(options) == 1 else ir.Choice(tuple(options))

    def shared_chain(
        self, members: list[Member], written: list[ir.Expr], rest: list[ir.Expr], rest_alone: list[ir.Expr]
    ) -> ir.Expr:
        """Return what ``chain`` does, with a rule for what may follow each member."""
        writer, ws = self.writer, self.writer.whitespace
        names = [writer.fresh("after") for _ in members]
        follows: ir.Expr = ir.Sequence(tuple(rest))
        for member, expr, name in zip(reversed(members), reversed(written), reversed(names), strict=True):
            writer.rules[name] = ir.Rule(name, follows)
            follows = ir.Sequence((write_item(member, expr, self.items, ws.item), ir.RuleRef(name)))
        options: list[ir.Expr] = []
        for member, expr, name in zip(members, written, names, strict=True):
            options.append(ir.Sequence((ws.open, expr, ir.RuleRef(name))))
            if member.required:
                break
        else:
            options.extend(rest_alone)
        return options[0] if len(options) == 1 else ir.Choice(tuple(options))

    def open_chain(
        self, form: ObjectForm, declared: list[Member], others: list[Member], classes: list[KeyClass]
    ) -> ir.Expr:
        """Return an object of declared members in order, then other members in any order."""
        ws = self.writer.whitespace
        spec = _NO_SLOTS
        options: list[ir.Expr] = []
        if others or not classes:
            required = frozenset(i for i, member in enumerate(others) if member.required)
            spec = ir.KeySpec(len(others), required, open=bool(classes))
            options.extend(self.slot_members(others))
        for entry in classes:
            options.append(self.class_member(form, entry, entry.state))
        other = options[0] if len(options) == 1 else ir.Choice(tuple(options))
        more = ir.Repeat(ir.Sequence((_MAY_GO_ON, ws.item, other)), 0, None)
        first = ir.Sequence((_MAY_GO_ON, ws.open, other, more, self.may_end))
        chain = self.chain(declared, [more, self.may_end], [first, self.may_be_empty])
        return ir.Keyed(ir.Sequence((self.begin, chain)), spec)

    def keyed(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return an object whose keys are kept account of: in any order, or counted."""
        ws = self.writer.whitespace
        spec = ir.KeySpec(
            len(members),
            frozenset(i for i, member in enumerate(members) if member.required),
            ordered=not self.writer.any_order and any(member.declared for member in members),
            min_count=low,
            max_count=high,
            open=bool(classes),
        )
        options = self.slot_members(members)
        options.extend(self.class_member(form, entry, entry.state) for entry in classes)
        if not options:
            return ir.Sequence((_OPEN, ws.empty, _CLOSE))
        member = options[0] if len(options) == 1 else ir.Choice(tuple(options))
        some = ir.Sequence(
            (
                ws.open,
                member,
                ir.Repeat(ir.Sequence((_MAY_GO_ON, ws.item, member)), 0, None),
                _MAY_CLOSE,
                *ws.end(_CLOSE),
            )
        )
        return ir.Keyed(ir.Sequence((self.begin, ir.Choice((some, self.may_be_empty)))), spec)

    def searched(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return an object in which keys without a name must be found.

        There is a rule per set of those found and, where keys are counted, number of keys that need not be there.
        """
        writer, ws = self.writer, self.writer.whitespace
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
            ordered=not writer.any_order,
            min_count=low if room is None else 0,  # else the rules count
            max_count=high,
            open=True,
        )
        named = self.slot_members(members)
        # what comes next: which of those that must be found it is, whether it takes room, and as what
        options: list[tuple[int, int, ir.Expr]] = [
            (0, int(room is not None and not member.required), expr)
            for member, expr in zip(members, named, strict=True)
        ]
        options += [
            (bits, int(room is not None), self.class_member(form, entry, state))
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
                found.append(ir.Sequence((_MAY_GO_ON, blank, writer.choice(choices), ir.RuleRef(names[key]))))
            return found

        first = goes_on(0, 0, ws.open)
        while todo:
            have, taken = todo.pop()
            ways = goes_on(have, taken, ws.item)
            if have == full and (room is None or required + taken >= low):
                ways.append(ir.Sequence((_MAY_CLOSE, *ws.end(_CLOSE))))
            name = names[have, taken]
            writer.rules[name] = ir.Rule(name, writer.choice(ways))
        return ir.Keyed(ir.Sequence((ws.begin(_OPEN), writer.choice(first))), spec)


def fewest(moves: Iterable[int], count: int) -> list[int | None]:
    """Return how many keys find all that is left, by what was found; None if there is no way. ``moves``: as bits."""
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
    """Return whether so many keys can be found in so much room (None: without end)."""
    return needed is not None and (room is None or needed <= room)
