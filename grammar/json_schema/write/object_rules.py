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
)
from stackmask.grammar.json_schema.sets.key_languages import (
    LeftOverKeys,
    LeftOverNames,
    count_keys,
    few_keys,
    first_name,
    last_name,
    next_name,
    no_keys,
    simplified,
    use_key,
)
from stackmask.grammar.json_schema.sets.string_sets import ALL
from stackmask.grammar.json_schema.text.strings import QUOTE, literals
from stackmask.grammar.json_schema.write.interfaces import ValueWriter
from stackmask.grammar.json_schema.write.style import MAY_CLOSE, MAY_GO_ON, UNDECLARED, ObjectStyle, Parted
from stackmask.grammar.languages.forms import MANY
from stackmask.grammar.source.work import spend

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


class ObjectWriter:
    """Writes objects of one style for one grammar."""

    def __init__(self, writer: ValueWriter, style: ObjectStyle) -> None:
        self.writer = writer
        self.style = style
        self.brackets = style.brackets
        self.other_keys: dict[tuple[str, ...], ir.Expr] = {}
        self.left_overs: dict[ir.Expr, ir.Expr] = {}
        self.next_names: dict[tuple[ir.Expr, bool], ir.Expr] = {}

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
        """Return the keys without a declared name that the style can write. Raises: UnsupportedSchemaError."""
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
        """Return an object of which no account is kept of keys without a declared name."""
        brackets = self.brackets
        others = [self.style.other(form, entry, entry.state, self) for entry in classes]
        if not others:
            return self.closed_chain(members)
        other = self.writer.choice(others)
        more = ir.Repeat(ir.Sequence((brackets.item, other)), 0, None)
        first = ir.Sequence((brackets.open, other, more, brackets.end))
        chain = self.chain(members, [more, brackets.end], [first, brackets.empty])
        return ir.Sequence((brackets.begin, chain))

    def by_number(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return members in any order, or counted, in a style whose keys the engine does not compare.

        Names that are not declared are slots too, the first, the second and so on, where they count: there is a rule for each
        number of them, whose names are none of those before.
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
            """Return a member, its slot, and what follows it. ``taken``: the names that are not declared, with it."""
            options: list[ir.Expr] = []
            for name, value, close in ways:
                ends: ir.Expr = ir.Sequence((MAY_CLOSE, close, brackets.end))
                if (members and not (ordered and taken)) or (classes and (taken < most or is_open)):
                    more = ir.Sequence((MAY_GO_ON, close, brackets.item, ir.RuleRef(f"{prefix}.{taken}")))
                    ends = ir.Choice((ends, more))
                place = () if slot is None else (ir.Slot(slot),)
                options.append(ir.Sequence((name, *place, value, ends)))
            return writer.choice(options)

        for taken in range(most + 1):
            options: list[ir.Expr] = []
            if not (ordered and taken):
                options = [goes_on(ways, i, taken) for i, ways in enumerate(named)]
            for entry in classes if taken < most or is_open else ():
                names = entry.texts.without(form.names).expr()
                if not is_counted:
                    options.append(goes_on(style.parted(names, entry.state), None, taken))
                    continue
                name = self.next_name(names, bool(taken))  # mutant: used-names
                slot = len(members) + taken if taken < most else None
                after = min(taken + 1, most)
                options.append(goes_on(style.parted(name, entry.state, self.last_name), slot, after))
            if options:
                writer.rules[f"{prefix}.{taken}"] = ir.Rule(f"{prefix}.{taken}", writer.choice(options))
        some: list[ir.Expr] = [ir.Sequence((brackets.open, ir.RuleRef(f"{prefix}.0")))]
        if not low and not required:
            some.append(brackets.empty)
        return ir.Keyed(ir.Sequence((brackets.begin, writer.choice(some))), spec)

    @property
    def last_name(self) -> ir.Expr:
        """The name that came last, of those that are not declared."""
        return self.writer.dynamic(last_name)

    def next_name(self, names: ir.Expr, follows: bool) -> ir.Expr:
        """Return the rule of a name that is not declared; ``follows``: others came before, and it is none of them."""
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
        """Return a key that is none of the names, and was not there before."""
        found = self.other_keys.get(names)
        if found is None:
            spellings = literals(names)
            words = spellings[0] if len(names) == 1 else ir.Choice(spellings)
            body = ir.Intersection((self.writer.style.string_body, ir.Complement(words)))
            found = self.other_keys[names] = ir.Capture(ir.Sequence((QUOTE, body, QUOTE)), "key")
        return found

    def class_member(self, form: ObjectForm, entry: KeyClass, state: State) -> ir.Expr:
        """Return a member whose key has no name; it must not have been there before."""
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
        """Return the rule of the keys out of an expression that were not used yet."""
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
        """Return the members in order, then ``rest``; ``rest_alone`` where no member came."""
        brackets = self.brackets
        written = self.style.written(members, self.writer)
        if chain_size(members) > MAX_CHAIN:
            return self.shared_chain(members, written, rest, rest_alone)
        options = write_chain(
            members, written, self.style.items, brackets.open, brackets.item, rest, rest_alone
        )
        return options[0] if len(options) == 1 else ir.Choice(tuple(options))

    def shared_chain(
        self, members: list[Member], written: list[ir.Expr], rest: list[ir.Expr], rest_alone: list[ir.Expr]
    ) -> ir.Expr:
        """Return what ``chain`` does, with a rule for what may follow each member."""
        writer, brackets = self.writer, self.brackets
        names = [writer.fresh("after") for _ in members]
        follows: ir.Expr = ir.Sequence(tuple(rest))
        for member, expr, name in zip(reversed(members), reversed(written), reversed(names), strict=True):
            writer.rules[name] = ir.Rule(name, follows)
            follows = ir.Sequence(
                (write_item(member, expr, self.style.items, brackets.item), ir.RuleRef(name))
            )
        options: list[ir.Expr] = []
        for member, expr, name in zip(members, written, names, strict=True):
            options.append(ir.Sequence((brackets.open, expr, ir.RuleRef(name))))
            if member.required:
                break
        else:
            options.extend(rest_alone)
        return options[0] if len(options) == 1 else ir.Choice(tuple(options))

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
        other = options[0] if len(options) == 1 else ir.Choice(tuple(options))
        more = ir.Repeat(ir.Sequence((MAY_GO_ON, brackets.item, other)), 0, None)
        first = ir.Sequence((MAY_GO_ON, brackets.open, other, more, brackets.may_end))
        chain = self.chain(declared, [more, brackets.may_end], [first, brackets.may_be_empty])
        return ir.Keyed(ir.Sequence((brackets.begin, chain)), spec)

    def keyed(
        self, form: ObjectForm, members: list[Member], classes: list[KeyClass], low: int, high: int | None
    ) -> ir.Expr:
        """Return an object whose keys are kept account of: in any order, or counted."""
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
        """Return an object in which keys without a name must be found.

        There is a rule per set of those found and, where keys are counted, number of keys that need not be there.
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
                found.append(ir.Sequence((MAY_GO_ON, blank, writer.choice(choices), ir.RuleRef(names[key]))))
            return found

        first = goes_on(0, 0, brackets.open)
        while todo:
            have, taken = todo.pop()
            ways = goes_on(have, taken, brackets.item)
            if have == full and (room is None or required + taken >= low):
                ways.append(brackets.may_end)
            name = names[have, taken]
            writer.rules[name] = ir.Rule(name, writer.choice(ways))
        return ir.Keyed(ir.Sequence((brackets.begin, writer.choice(first))), spec)


def is_counted(form: ObjectForm, members: list[Member]) -> bool:
    """Return whether the number of members of an object matters beside those that must be there."""
    required = count_required(members)
    return form.low > required or (form.high is not None and form.high != required)


def is_any_object(form: ObjectForm) -> bool:
    """Return whether all objects are of a form."""
    if form.names or form.low or form.high is not None or form.some or len(form.classes) != 1:
        return False
    (only,) = form.classes
    return only.texts is ALL and not only.state


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
