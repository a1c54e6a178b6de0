"""Objects as expressions: chains of members in declared order, or members by slot."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
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
from stackmask.grammar.json_schema.sets.finiteness import MANY
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
from stackmask.grammar.source.work import spend

MAX_SHARED: Final = 500  # declared members of a chain with rules of its own
MAX_CHAIN: Final = 48  # members written for all places where a chain may start
MAX_FOUND: Final = 4  # keys that must be found in one object, and have no name
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
        found = [entry.state for entry in form.classes]
        for keys, value in form.some:
            found.extend(
                self.writer.algebra.state([*entry.state, value])
                for entry in form.classes
                if keys.covers(entry.inside)
            )
        return found

    def is_productive(self, form: ObjectForm) -> bool:
        """Tell whether there is such an object, as far as is known of its values."""
        spend(1 + len(form.members) // 8 + len(form.classes) * (1 + 4 * len(form.some)))
        productive = self.writer.productive
        count = count_live(form.members, productive)
        if count < 0:
            return False
        if count < form.low and not any(productive[entry.state] for entry in form.classes):
            return False
        for keys, value in form.some:
            if not any(
                keys.covers(entry.inside) and productive.get(self.writer.algebra.state([*entry.state, value]))
                for entry in form.classes
            ):
                return False
        return True

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
        for entry in classes:
            most = MANY
            if not entry.texts.is_endless():
                entry = KeyClass(simplified(entry.texts), entry.state, entry.inside)
            if not entry.texts.is_endless():
                words = few_keys(entry.texts.without(form.names))
                if words is not None and not form.some:
                    members.extend(Member(word, entry.state, False, False) for word in words)
                    continue
                most = count_keys(entry.texts, len(form.names)) if words is None else len(words)
                if form.some and most < MANY:
                    algebra.unsupported(
                        algebra.where(entry.state),
                        "patternProperties",
                        "keys of which there may be too few, in an object in which keys must be found",
                    )
                    entry, most = KeyClass(ALL, entry.state, entry.inside), MANY
            count += most
            kept.append(entry)
        low, high = form.low, form.high
        if not kept and low > len(members):
            where = algebra.where(classes[0].state)
            raise UnsupportedSchemaError(where, "minProperties", f"there are only {len(members)} keys")
        if kept and count < MANY:
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
        """Return an object in which keys without a name must be found: a rule per set of those found."""
        writer, ws = self.writer, self.writer.whitespace
        algebra = writer.algebra
        count = len(form.some)
        required = sum(member.required for member in members)
        if high is not None and high == required + 1 and count == 1:  # nothing else fits
            members, high, low = [member for member in members if member.required], None, 0
            only_found = True
        else:
            only_found = False
        if count > MAX_FOUND or high is not None:
            raise UnsupportedSchemaError(
                algebra.nodes[abs(form.some[0][1])].where,
                "not",
                "keys that must be found among many, together with `maxProperties`"
                if high is not None
                else f"more than {MAX_FOUND} kinds of keys that must be found among many",
            )
        spec = ir.KeySpec(
            len(members),
            frozenset(i for i, member in enumerate(members) if member.required),
            ordered=not writer.any_order,
            min_count=low,
            open=True,
        )
        names = [writer.fresh("found") for _ in range(1 << count)]
        full = (1 << count) - 1
        named = self.slot_members(members)
        moves: dict[int, list[ir.Expr]] = {0: named}
        for entry in classes:
            for marks in product((False, True), repeat=count):
                if only_found and not any(marks):
                    continue
                if any(mark and not form.some[i][0].covers(entry.inside) for i, mark in enumerate(marks)):
                    continue
                found = [form.some[i][1] for i, mark in enumerate(marks) if mark]
                state = algebra.state([*entry.state, *found])
                if not writer.is_live(state):
                    continue
                bits = sum(1 << i for i, mark in enumerate(marks) if mark)
                moves.setdefault(bits, []).append(self.class_member(form, entry, state))
        for have, name in enumerate(names):
            options: list[ir.Expr] = []
            if have == full:
                options.append(ir.Sequence((_MAY_CLOSE, *ws.end(_CLOSE))))
            for bits, choices in moves.items():
                if choices and not bits & have:
                    member = choices[0] if len(choices) == 1 else ir.Choice(tuple(choices))
                    options.append(ir.Sequence((_MAY_GO_ON, ws.item, member, ir.RuleRef(names[have | bits]))))
            writer.rules[name] = ir.Rule(name, ir.Choice(tuple(options)))
        first = [
            ir.Sequence((ws.open, *choices, ir.RuleRef(names[bits])))
            for bits, options in moves.items()
            if options
            for choices in [(options[0] if len(options) == 1 else ir.Choice(tuple(options)),)]
        ]
        return ir.Keyed(ir.Sequence((ws.begin(_OPEN), ir.Choice(tuple(first)))), spec)
