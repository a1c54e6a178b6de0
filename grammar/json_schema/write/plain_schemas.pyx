# distutils: language = c++
"""Plain schemas, read and written in one go: what most schemas are, and most parts of the others.

A plain schema says of each value which types it has and, for each of them, what one conjunction says:
declared members and other keys of objects, items and lengths of arrays, and what is remembered of scalar
values. Nothing is left to choose or to be worked out, so its rules are put together while it is read. They
are those of the whole reader, names included, to which all is left that is not plain or that is wrong.
"""

cimport cython

from stackmask.grammar.ir.expressions cimport Slot
from stackmask.grammar.json_schema.nodes.object_members cimport Member, chain_size, write_chain
from stackmask.grammar.json_schema.nodes.structural_keys cimport Contents
from stackmask.grammar.json_schema.text.string_spelling cimport sequence

from stackmask.grammar.ir import (
    Capture,
    Choice,
    Complement,
    Intersection,
    KeySpec,
    KeyTest,
    Keyed,
    Literal,
    Repeat,
    Rule,
    RuleRef,
)
from stackmask.grammar.json_schema.nodes.leaf_cache import MAX_CONTENT
from stackmask.grammar.json_schema.sets.string_sets import spelled
from stackmask.grammar.json_schema.text.strings import ANY_STRING, ANY_STRING_BODY, QUOTE, literals
from stackmask.grammar.json_schema.write.array_expr import array_expr
from stackmask.grammar.json_schema.write.lowering import (
    ANY_INTEGER,
    ANY_NUMBER,
    ANY_WHOLE,
    PLAIN_INTEGER,
    PLAIN_NUMBER,
)
from stackmask.grammar.json_schema.write.object_rules import MAX_CHAIN
from stackmask.grammar.json_schema.write.prelude import ANY_ARRAY, ANY_OBJECT, JSON_WORDS, VALUE, prelude
from stackmask.grammar.source.work import spend, spend_units


# ------------------------------------------------------------------------------------------------
# What the keywords of one schema say, where each of them is plain.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MOST = 1_000_000_000    # of what is counted

cdef enum Part:
    NAMES_TYPE = 1
    OF_SCALARS
    VALUES
    PROPERTIES
    REQUIRED
    OTHERS
    ITEMS
    LEAST_ITEMS
    MOST_ITEMS
    WITHOUT_EFFECT

cdef dict PARTS = {
    "type": NAMES_TYPE,
    "enum": VALUES,
    "const": VALUES,
    "properties": PROPERTIES,
    "required": REQUIRED,
    "additionalProperties": OTHERS,
    "items": ITEMS,
    "minItems": LEAST_ITEMS,
    "maxItems": MOST_ITEMS,
    "$defs": WITHOUT_EFFECT,
    "definitions": WITHOUT_EFFECT,
    "additionalItems": WITHOUT_EFFECT,  # without a list of items
    "minimum": OF_SCALARS,
    "maximum": OF_SCALARS,
    "exclusiveMinimum": OF_SCALARS,
    "exclusiveMaximum": OF_SCALARS,
    "multipleOf": OF_SCALARS,
    "minLength": OF_SCALARS,
    "maxLength": OF_SCALARS,
    "pattern": OF_SCALARS,
    "format": OF_SCALARS,
}
cdef dict TYPE_BITS = {
    "null": NULL_BIT,
    "boolean": TRUE_BIT | FALSE_BIT,
    "number": NUMBER_BIT,
    "integer": NUMBER_BIT,
    "string": STRING_BIT,
    "array": ARRAY_BIT,
    "object": OBJECT_BIT,
}


@cython.final
cdef class PlainShape:
    """What a schema says of arrays, of objects, and of other values. ``kinds``: types as bits."""


cdef PlainShape shape_of(dict schema, frozenset keywords):
    """Return what the keywords say, or None where one of them is not plain."""
    cdef PlainShape shape = PlainShape.__new__(PlainShape)
    cdef object name, value, part, kind
    cdef int bits
    cdef bint numbers = False, integers = False
    shape.kinds = ANY_BITS
    shape.others = True
    shape.items = True
    shape.high = -1
    for name, value in schema.items():
        if name not in keywords:
            continue
        part = PARTS.get(name)
        if part is None:
            return None
        if part == NAMES_TYPE:
            bits = 0
            if type(value) is list:
                spend(len(<list>value) // 8)
            for kind in ((value,) if type(value) is str else value if type(value) is list else ()):
                if type(kind) is not str or kind not in TYPE_BITS:
                    return None
                bits |= <int>TYPE_BITS[kind]
                integers |= kind == "integer"
                numbers |= kind == "number"
            if not bits:
                return None
            shape.kinds = bits
        elif part == OF_SCALARS:
            shape.of_scalars = True
        elif part == VALUES:
            shape.of_values = True
        elif part == PROPERTIES or part == REQUIRED:
            if value is None:  # as if it were not there
                return None
            shape.of_objects = True
            if part == PROPERTIES:
                shape.properties = value
            else:
                shape.required = value
        elif part == OTHERS:
            shape.of_objects = True
            shape.others = value
        elif part == ITEMS:
            shape.of_arrays = True
            shape.items = value
        elif part != WITHOUT_EFFECT:
            if type(value) is not int or not 0 <= value <= MOST:  # mutant: no-count
                return None
            shape.of_arrays = True
            if part == LEAST_ITEMS:
                shape.low = value
            else:
                shape.high = value
    shape.whole = integers and not numbers
    return shape


MAX_KEPT = 4096  # pieces of each kind that are remembered

cdef enum:
    MAX_LED = 16            # references that only lead on to another one

cdef str START = "root"
cdef frozenset NO_STATE = frozenset()
cdef object MISSING = object()
cdef object OPEN = Literal(b"{"), CLOSE = Literal(b"}")
cdef object MAY_CLOSE = KeyTest("close"), MAY_GO_ON = KeyTest("continue"), UNDECLARED = KeyTest("undeclared")
cdef object NO_SLOTS = KeySpec(0, open=True)
cdef list REFERENCES = [RuleRef(f"value{i}") for i in range(1, 257)]
cdef list SLOTS = [Slot(i) for i in range(64)]
cdef object A_VALUE = VALUE, AN_ARRAY = ANY_ARRAY, AN_OBJECT = ANY_OBJECT
cdef object NULL_WORD = JSON_WORDS[0][1], TRUE_WORD = JSON_WORDS[1][1], FALSE_WORD = JSON_WORDS[2][1]
cdef Py_ssize_t LONGEST_CHAIN = MAX_CHAIN, LARGEST_LEAF = MAX_CONTENT


cdef object choice(list options):
    return options[0] if len(options) == 1 else Choice(tuple(options))


@cython.final
cdef class PlainSchemas:
    """The pieces of plain schemas for one kind of blanks and spelling. Threads may share it.

    ``narrow``: returns an expression in this spelling; None for every spelling. ``read_leaf``: returns the
    expression of a scalar value, or None, and the units that it took. It is given what the schema says, the
    schema, its draft, whether formats count, and whether to remember it.
    """

    cdef object whitespace, narrow, read_leaf
    cdef bint plain_numbers
    cdef object a_string, a_number, an_integer, a_whole, string_body, any_key
    cdef object begin, end, empty, may_end, may_be_empty
    cdef dict any_value     # its rules by name
    cdef dict leaves        # (what it says, its draft, whether formats count) -> (expression, units)
    cdef dict members       # (name, address of the value's expression) -> key, colon, value
    cdef dict slots         # the same and the slot -> key, slot, colon, value
    cdef dict items         # as `write_item` keeps them

    def __init__(self, whitespace, bint plain_numbers, narrow, read_leaf):
        ws = self.whitespace = whitespace
        self.plain_numbers = plain_numbers
        self.narrow = narrow
        self.a_string = self.written(ANY_STRING)
        self.a_number = self.written(PLAIN_NUMBER if plain_numbers else ANY_NUMBER)
        self.an_integer = self.written(PLAIN_INTEGER if plain_numbers else ANY_INTEGER)
        self.a_whole = self.written(PLAIN_INTEGER if plain_numbers else ANY_WHOLE)
        self.string_body = self.written(ANY_STRING_BODY)
        self.any_key = Capture(self.a_string, "key")
        self.read_leaf = read_leaf
        self.begin = ws.begin(OPEN)
        self.end = sequence(ws.end(CLOSE))
        self.empty = sequence((ws.empty, CLOSE))
        self.may_end = sequence((MAY_CLOSE, *ws.end(CLOSE)))
        self.may_be_empty = sequence((MAY_CLOSE, ws.empty, CLOSE))
        self.any_value = {
            name: Rule(name, self.written(rule.body))
            for name, rule in prelude(ws, (NULL_WORD, TRUE_WORD, FALSE_WORD), plain_numbers).items()
        }
        self.leaves = {}
        self.members = {}
        self.slots = {}
        self.items = {}

    def rules(self, dict schema, draft, str formats, bint any_order):
        """Return the rules of a schema by name, and whether an object may stand in it twice; or None.

        None: it is not plain. ``draft``: one of those there are.
        Cost: linear in what is reached of the schema; that of ``read_leaf`` for each new scalar value.
        """
        cdef _Reading reading = _Reading(self, schema, draft, formats, any_order)
        try:
            rules = reading.run()
        except UnicodeEncodeError:  # the whole reader says it with the place
            return None
        return None if rules is None else (rules, reading.shares)

    cdef object written(self, object expr):
        """Return an expression in this spelling."""
        return expr if self.narrow is None else self.narrow(expr)

    cdef object leaf(self, tuple key, dict schema, object draft, Py_ssize_t size):
        """Return what a scalar value that was not met before may be; None where that takes rules.

        ``key``: what its schema says, the address of the draft, and whether formats count.
        """
        cdef tuple found = self.read_leaf(key[0], schema, draft, key[2], size <= LARGEST_LEAF)
        if size <= LARGEST_LEAF:
            if len(self.leaves) >= MAX_KEPT:
                self.leaves = {}
            self.leaves[key] = found
        return found[0]

    cdef object member(self, object name, object value):
        """Return a member: key, colon, value. It holds the value, whose address stays its own."""
        cdef object key = (name, <Py_ssize_t><void*>value)
        cdef object found = self.members.get(key)
        if found is None:
            if len(self.members) >= MAX_KEPT:
                self.members = {}
                self.items = {}
            found = self.members[key] = sequence(
                (self.written(spelled(name)), self.whitespace.member, value)
            )
        return found

    cdef object slot(self, object name, object value, Py_ssize_t index):
        """Return a member of an object whose keys are kept account of."""
        cdef object key = (name, <Py_ssize_t><void*>value, index)
        cdef object found = self.slots.get(key)
        if found is None:
            if len(self.slots) >= MAX_KEPT:
                self.slots = {}
            slot = SLOTS[index] if index < 64 else Slot(index)
            found = self.slots[key] = sequence(
                (self.written(spelled(name)), slot, self.whitespace.member, value)
            )
        return found


@cython.final
cdef class _Reading:
    """The reading of one schema. Equal parts are one rule, named when the first of them is met."""

    cdef PlainSchemas pieces
    cdef dict root
    cdef object draft, id_keyword
    cdef frozenset keywords
    cdef str formats
    cdef bint any_order, uses_prelude, keyed, shares
    cdef Contents contents
    cdef dict known         # address of a schema -> its expression
    cdef dict saying        # what a schema says -> its expression
    cdef dict sketches      # what equal ones share -> the first schema, its expression; None: there are two
    cdef dict referred      # reference -> what it leads to
    cdef dict needs         # name of a rule -> names of the rules that each of its values needs
    cdef dict rules
    cdef list todo
    cdef Py_ssize_t count

    def __cinit__(self, PlainSchemas pieces, dict root, draft, str formats, bint any_order):
        self.pieces = pieces
        self.root = root
        self.draft = draft
        self.id_keyword = draft.id_keyword
        self.keywords = draft.keywords
        self.formats = formats
        self.any_order = any_order
        self.uses_prelude = self.shares = False
        self.contents = Contents()
        self.known = {}
        self.saying = {}
        self.sketches = {}
        self.referred = {}
        self.needs = {}
        self.rules = {START: None}
        self.todo = []
        self.count = 0

    cdef object run(self):
        """Return the rules by name, or None."""
        cdef object first, body, name
        cdef tuple waiting
        if self.id_keyword in self.root and type(self.root[self.id_keyword]) is not str:
            return None
        # no part of an object with properties says the same as all of it: that is not worth asking
        self.keyed = "properties" not in self.root
        first = self.led(self.root) if "$ref" in self.root else self.node(self.root)
        self.keyed = True
        if first is None:
            return None
        while self.todo:
            waiting = self.todo.pop()
            name = waiting[0]
            body = self.body(<dict>waiting[1], name)
            if body is None:
                return None
            self.rules[name] = Rule(name, body)
        self.rules[START] = Rule(START, first)
        if self.referred and not self.all_have_values():
            return None
        if self.uses_prelude:
            self.rules.update(self.pieces.any_value)
        return self.rules

    # -- which expression a schema has -------------------------------------------------------------------

    cdef object value(self, object schema):
        """Return what a schema allows: of arrays and objects a reference to a rule. None: it is not plain."""
        cdef object found
        if type(schema) is not dict:
            if schema is True:
                self.uses_prelude = True
                return A_VALUE
            return None
        if not <dict>schema:
            self.uses_prelude = True
            return A_VALUE
        if self.id_keyword in <dict>schema:
            return None
        found = self.known.get(<Py_ssize_t><void*>schema)
        if found is not None:
            self.shares = True
            return found
        if "$ref" in <dict>schema:
            return self.led(schema)
        return self.node(schema)

    cdef object led(self, dict schema):
        """Return what a reference within the document leads to, where nothing counts beside it."""
        cdef object ref, name, found
        cdef dict target = schema
        for _ in range(MAX_LED):
            spend(2)
            if not self.draft.ref_alone:
                for name in target:
                    if name in self.keywords and name not in ("$ref", "$defs", "definitions"):
                        return None
                    if name == self.id_keyword:
                        return None
            ref = target["$ref"]
            if type(ref) is not str:
                return None
            found = self.referred.get(ref)
            if found is not None:
                return found
            if ref == "#":
                found = self.root
            else:
                found = self.target(ref)
            if type(found) is not dict or not <dict>found:
                return None
            target = found
            found = self.known.get(<Py_ssize_t><void*>target)
            if found is None and "$ref" not in target:
                found = self.node(target)
                if found is None:
                    return None
            if found is not None:
                self.referred[ref] = found
                return found
        return None

    cdef object target(self, str ref):
        """Return where a plain pointer into the document leads."""
        cdef object target = self.root, name
        if not ref.startswith("#/") or "%" in ref or "~" in ref:
            return None
        for name in ref.split("/")[1:]:
            if type(target) is not dict:
                return None
            target = (<dict>target).get(name)
            if type(target) is dict and self.id_keyword in <dict>target:
                return None
        return target

    cdef object node(self, dict schema):
        """Return the expression of a schema that was not met before at this place."""
        cdef Contents contents = self.contents
        cdef object said, found, first
        said = contents.sketch(schema, self.keywords)
        if said is None:
            return None
        if contents.portable:
            found = self.saying.get(said) if self.keyed else None
            if found is None:
                found = self.portable(schema, said)
        elif not self.keyed:
            found = self.structured(schema)
        else:
            first = self.sketches.get(said, MISSING)
            if first is MISSING:
                found = self.structured(schema)
                self.sketches[said] = (schema, found)
            else:
                if first is not None:
                    self.sketches[said] = None
                    said = contents.key(<dict>(<tuple>first)[0], self.keywords)
                    if said is not None:
                        self.saying[said] = (<tuple>first)[1]
                said = contents.key(schema, self.keywords)
                if said is None:
                    return None
                found = self.saying.get(said)
                if found is None:
                    found = self.saying[said] = self.structured(schema)
        if found is not None:
            self.known[<Py_ssize_t><void*>schema] = found
        return found

    cdef object portable(self, dict schema, tuple said):
        """Return the expression of a schema that says this alone."""
        cdef PlainShape shape
        cdef tuple key = (said, <Py_ssize_t><void*>self.draft, self.formats)
        cdef object found = self.pieces.leaves.get(key)
        if found is not None:
            spend_units((<tuple>found)[1])
            found = (<tuple>found)[0]
        else:
            shape = shape_of(schema, self.keywords)
            if shape is None:
                return None
            if not shape.kinds & (ARRAY_BIT | OBJECT_BIT) or shape.of_values:
                found = self.pieces.leaf(key, schema, self.draft, self.contents.size)
            else:
                found = self.structured(schema)
        if found is not None and self.keyed:
            self.saying[said] = found
        return found

    cdef object structured(self, dict schema):
        """Return a reference to the rule of arrays or objects, which is to be written."""
        cdef Py_ssize_t at = self.count
        cdef object found
        self.count += 1
        found = REFERENCES[at] if at < 256 else RuleRef(f"value{at + 1}")
        self.todo.append((found.name, schema))
        return found

    # -- the rules of arrays and objects -----------------------------------------------------------------

    cdef object body(self, dict schema, str name):
        """Return what arrays, objects and other values a schema allows; None where it is not plain."""
        cdef PlainShape shape = shape_of(schema, self.keywords)
        cdef object found
        cdef list options = [], needs = []
        cdef int bits
        if shape is None or shape.of_scalars or shape.of_values:
            return None
        bits = shape.kinds
        if not bits & (ARRAY_BIT | OBJECT_BIT):  # beside definitions
            return None
        if (shape.of_arrays and not bits & ARRAY_BIT) or (shape.of_objects and not bits & OBJECT_BIT):
            return None
        spend(24 + 4 * len(schema))
        if bits & NULL_BIT:
            options.append(NULL_WORD)
        if bits & TRUE_BIT:
            options.append(TRUE_WORD)
            options.append(FALSE_WORD)
        if bits & NUMBER_BIT:
            if not shape.whole:
                options.append(self.pieces.a_number)
            else:
                options.append(self.pieces.a_whole if self.draft.exclusive_flags else self.pieces.an_integer)
        if bits & STRING_BIT:
            options.append(self.pieces.a_string)
        for found in (
            self.array_of(shape, needs) if bits & ARRAY_BIT else MISSING,
            self.object_of(shape, needs) if bits & OBJECT_BIT else MISSING,
        ):
            if found is None:
                return None
            if found is not MISSING:
                options.append(self.pieces.whitespace.around(found))
        if needs and not bits & ~(ARRAY_BIT | OBJECT_BIT):
            self.needs[name] = needs  # of either: where that is too much, the whole reader finds out
        return choice(options)

    cdef object array_of(self, PlainShape shape, list needs):
        """Return an array of items of one kind."""
        cdef object item
        if shape.items is True or (type(shape.items) is dict and not shape.items):
            if not shape.low and shape.high < 0:
                self.uses_prelude = True
                return AN_ARRAY
        if shape.high == 0 or (shape.high > 0 and shape.low > shape.high):
            return None
        item = self.value(shape.items)
        if item is None:
            return None
        if shape.low and type(item) is RuleRef:
            needs.append(item.name)
        return array_expr(
            self.pieces.whitespace, [], item, shape.low, None if shape.high < 0 else shape.high
        )

    cdef object object_of(self, PlainShape shape, list needs):
        """Return an object of declared members, and of other keys if it allows them."""
        cdef dict properties
        cdef object others = shape.others, required = shape.required, name, other = None, inner, value
        cdef list members = [], written = []
        cdef set must
        cdef Member member
        cdef Py_ssize_t i, size
        cdef bint is_open, keyed
        if shape.properties is None:
            properties = {}
        elif type(shape.properties) is dict:
            properties = shape.properties
        else:
            return None
        must = set()
        if required is not None:
            if type(required) is not list:
                return None
            spend(len(<list>required) // 8)
            for name in required:
                if type(name) is not str or name not in properties:
                    return None
                must.add(name)  # mutant: must-be-there
        is_open = others is not False
        if is_open and not properties and (others is True or (type(others) is dict and not others)):
            self.uses_prelude = True
            return AN_OBJECT
        spend(2 + len(properties))
        for name in properties:
            if type(name) is not str:
                return None
            member = Member.__new__(Member)
            member.name = name
            member.state = NO_STATE
            member.required = name in must
            member.declared = True
            members.append(member)
        size = len(members)
        if self.any_order and size > 1:
            keyed = True
        else:
            keyed = chain_size(members) > LONGEST_CHAIN or (self.any_order and is_open and size > 0)
        if is_open and not keyed:  # it is written first
            other = self.other(others, properties)
            if other is None:
                return None
        i = 0
        for name, inner in properties.items():
            value = self.value(inner)
            if value is None:
                return None
            if name in must and type(value) is RuleRef:
                needs.append(value.name)
            written.append(self.pieces.slot(name, value, i) if keyed else self.pieces.member(name, value))
            i += 1
        if keyed:
            if is_open:
                other = self.other(others, properties)
                if other is None:
                    return None
                written.append(other)
            return self.kept_account_of(members, written, is_open)
        if is_open:
            return self.open_chain(members, written, other)
        pieces = self.pieces
        return sequence((pieces.begin, self.chain(members, written, [pieces.end], [pieces.empty])))

    cdef object other(self, object others, dict properties):
        """Return a member whose key is none of the declared ones, and was not there before."""
        cdef object value = self.value(others), key
        if value is None:
            return None
        if not properties:
            key = self.pieces.any_key
        else:
            spellings = literals(properties)
            words = spellings[0] if len(spellings) == 1 else Choice(spellings)
            body = Intersection((self.pieces.string_body, Complement(words)))
            key = Capture(sequence((QUOTE, body, QUOTE)), "key")
        return sequence((UNDECLARED, key, self.pieces.whitespace.member, value))

    cdef object chain(self, list members, list written, list rest, list alone):
        """Return the members in order, then ``rest``; ``alone`` where no member came."""
        ws = self.pieces.whitespace
        return choice(write_chain(members, written, self.pieces.items, ws.open, ws.item, rest, alone))

    cdef object open_chain(self, list members, list written, object other):
        """Return an object of declared members in order, then other keys."""
        cdef PlainSchemas pieces = self.pieces
        ws = pieces.whitespace
        more = Repeat(sequence((MAY_GO_ON, ws.item, other)), 0, None)
        first = sequence((MAY_GO_ON, ws.open, other, more, pieces.may_end))
        chain = self.chain(members, written, [more, pieces.may_end], [first, pieces.may_be_empty])
        return Keyed(sequence((pieces.begin, chain)), NO_SLOTS)

    cdef object kept_account_of(self, list members, list written, bint is_open):
        """Return an object whose keys are kept account of: in any order, or too many for a chain."""
        cdef PlainSchemas pieces = self.pieces
        cdef list required = []
        cdef Py_ssize_t i
        ws = pieces.whitespace
        for i in range(len(members)):
            if (<Member>members[i]).required:
                required.append(i)
        spec = KeySpec(len(members), frozenset(required), not self.any_order, 0, None, bool(is_open))
        member = choice(written)
        more = Repeat(sequence((MAY_GO_ON, ws.item, member)), 0, None)
        some = sequence((ws.open, member, more, MAY_CLOSE, *ws.end(CLOSE)))
        return Keyed(sequence((pieces.begin, Choice((some, pieces.may_be_empty)))), spec)

    cdef bint all_have_values(self) except -1:
        """Return whether no rule needs itself for each of its values. Cost: linear in what rules need."""
        cdef dict left = {}
        cdef dict users = {}
        cdef object name, other
        cdef list done = [], needed
        for name in self.rules:
            needed = self.needs.get(name) or []
            left[name] = len(needed)
            if not needed:
                done.append(name)
            for other in needed:
                users.setdefault(other, []).append(name)
        for name in done:  # grows
            for other in users.get(name, ()):
                left[other] -= 1
                if not left[other]:
                    done.append(other)
        return len(done) == len(left)
