# distutils: language = c++
"""Actions and resolvers: the effects of captures at their ends, and the meanings of dynamic rules.

Each one is built in or a Python callable. Their results are cached, so that equal arguments cause only one
call.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport reverse

from stackmask.pda.ids cimport NO_PARENT, NO_TEXT, UNBOUNDED
from stackmask.pda.memory.hash_tables cimport NO_VALUE
from stackmask.pda.memory.work_meter cimport Pause

from stackmask.grammar import ir
from stackmask.grammar.ir.stacked import ANSWERS
from stackmask.pda.errors import ResolverError


# ------------------------------------------------------------------------------------------------
# The values of semantic states: Python objects, stacks of strings, and the symbol of mask walks.
# ------------------------------------------------------------------------------------------------


cdef enum:
    VALUE_BYTES = 400   # a small Python object and its place in a dict


@cython.final
cdef class SemanticValues:
    """The values of one store, by number.

    Invariant: append-only; equal values have one number.
    """

    def __cinit__(self):
        self.objects = []
        self.index = {}

    cdef ValueId add(
        self, object value, int32_t kind, ValueId parent, TextId text, bint symbolic
    ) except ID_FAILED nogil:
        with gil:
            self.objects.append(value)
        self.kind.push_back(kind)
        self.parent.push_back(parent)
        self.text.push_back(text)
        self.symbolic.push_back(symbolic)
        self.unsure.push_back(0)
        self.stands_in.push_back(0)
        if parent != NO_PARENT:
            self.unsure[self.unsure.size() - 1] = self.unsure[parent]
        return <int32_t>self.kind.size() - 1

    cdef ValueId value_of(self, object value) except ID_FAILED:
        if value is self.last:
            return self.last_value
        found = self.index.get(value)
        if found is None:
            found = self.add(value, VALUE_OBJECT, NO_PARENT, 0, False)
            self.stands_in[found] = bool(getattr(value, "stands_in", False))
            self.index[value] = found
            self.indexed += 1
        self.last, self.last_value = value, found
        return found

    cdef ValueId link(
        self, ValueId parent, TextId text, int32_t kind=VALUE_LINK
    ) except ID_FAILED nogil:
        """Return the stack of strings with one more string from `push` or `new`."""
        cdef uint64_t key = (<uint64_t>parent << 32) | <uint64_t>text
        cdef ValueId found = self.links.get(key) if kind == VALUE_LINK else self.new_links.get(key)
        if found == NO_VALUE:
            found = self.add(None, kind, parent, text, self.symbolic[parent])
            if kind == VALUE_LINK:
                self.links.put(key, found)
            else:
                self.new_links.put(key, found)
        return found

    cdef bint has_new(self, ValueId value, TextId text) noexcept nogil:
        """Return whether `new` has put a string on the stack after the last string from `push`.

        ``walked``: the number of strings that were compared.
        """
        self.walked = 0
        while self.kind[value] == VALUE_NEW_LINK:
            self.walked += 1
            if self.text[value] == text:
                return True
            value = self.parent[value]
        return False

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the values, estimated for Python's objects."""
        return self.links.nbytes() + self.new_links.nbytes() + 22 * self.kind.size() + VALUE_BYTES * self.indexed


# ------------------------------------------------------------------------------------------------
# The strings that captures have read: chains of bytes that share their prefixes.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class CaptureTexts:
    """The captured strings of one store, by number.

    Invariant: append-only; equal strings with the same remaining capacity have one number.
    """

    def __cinit__(self):
        for _i in range(FIRST_TEXT):
            # 0 is the empty string; then the stand-ins of walks
            self.parent.push_back(NO_PARENT)
            self.last.push_back(0)
            self.first.push_back(0)
            self.left.push_back(0)
        self.left[0] = UNBOUNDED
        # ALIKE_TEXT: of one byte, and takes no more
        self.parent.push_back(0)
        self.last.push_back(0)
        self.first.push_back(0)
        self.left.push_back(0)
        self.bounded = {}
        self.tellers = []

    cdef TextId bounded_text(self, object most) except ID_FAILED:
        """Return the empty text of captures that keep up to ``most`` bytes, or all if it is None."""
        if most is None:
            return 0
        if most not in self.bounded:
            self.bounded[most] = self.new_text(most)
        return self.bounded[most]

    cdef TextId new_text(self, int32_t most) except ID_FAILED nogil:
        """Return an empty text with the given capacity in bytes."""
        self.parent.push_back(NO_PARENT)
        self.last.push_back(0)
        self.first.push_back(0)
        self.left.push_back(most)
        return <int32_t>self.parent.size() - 1

    cdef TextId longer(self, TextId text, uint8_t byte) except ID_FAILED nogil:
        # strings share their prefixes, so a long capture costs its length, not the square of it
        cdef uint64_t key = (<uint64_t>text << 8) | byte
        cdef TextId found = self.index.get(key)
        cdef int32_t left, teller
        if found == NO_VALUE:
            found = <int32_t>self.parent.size()
            self.parent.push_back(text)
            self.last.push_back(byte)
            self.first.push_back(byte if self.parent[text] == NO_PARENT else self.first[text])
            left = self.left[text]
            if left != UNBOUNDED:
                left = max(left - 1, 0)
            self.left.push_back(left)
            if self.teller.count:
                teller = self.teller.get(text)
                if teller != NO_VALUE:
                    if self.is_alike(found, teller):
                        found = ALIKE_TEXT
                    else:
                        self.teller.put(found, teller)
            self.index.put(key, found)
        return found

    cdef int is_alike(self, TextId text, int32_t teller) except FAILED with gil:
        """Return whether an action treats all texts with a prefix alike."""
        test, part = self.tellers[teller]
        return not test(part, self.text_of(text))

    cdef int spell(self, TextId text, vector[uint8_t]& out) except FAILED nogil:
        """Expand a captured text, which is stored as a chain of bytes."""
        while self.parent[text] != NO_PARENT:
            out.push_back(self.last[text])
            text = self.parent[text]
        reverse(out.begin(), out.end())
        return 0

    cdef bytes text_of(self, TextId text):
        cdef vector[uint8_t] out
        self.spell(text, out)
        return (<char*>out.data())[: out.size()]

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the strings."""
        return self.index.nbytes() + self.teller.nbytes() + 10 * self.parent.size() + 4 * self.value.size()


cdef enum:
    # bytes
    MOST_OWED = 1 << 20
    MOST_OWED_TEXT = 1 << 10    # characters
    MOST_OWED_TEXTS = 1 << 28
    OWED_BYTES = 200            # of an answer, beside its text
    PART_BYTES = 250            # of what callables depend on; those of Python's objects are guessed
    OWED_WORK = 2_000           # units of a question


@cython.final
cdef class Callables:
    """The actions and resolvers of one store, by number. ``resolve_term``: converts an answer to a term."""

    def __cinit__(
        self,
        TermTable terms not None,
        CaptureTexts texts not None,
        SemanticValues values not None,
        resolve_term,
    ):
        self.terms = terms
        self.texts = texts
        self.values = values
        self.resolve_term = resolve_term
        self.actions = []
        self.resolvers = []
        self.known_tests = []
        self.numbers = {}
        self.parts = {}
        self.owed_places = {}

    def add_action(self, action):
        """Return the number of an action: ``"push"``, ``"new"``, ``"key"`` or a callable."""
        kind = ACT_CALL
        if isinstance(action, str):
            kind = {"push": ACT_PUSH, "new": ACT_NEW, "key": ACT_KEY}[action]
        if getattr(action, "never_forbids", False):
            kind = ACT_UPDATE
        number = self.number_of(self.actions, "action", action)
        if number == <int32_t>self.kinds.size():
            if kind == ACT_CALL or kind == ACT_NEW:
                # it may forbid what the actions before it did not
                self.known_sure.clear()
            self.kinds.push_back(kind)
            self.first_texts.push_back(self.texts.bounded_text(getattr(action, "reads_at_most", None)))
            test = getattr(action, "tells_apart", None)
            self.tests.push_back(-1 if test is None else self.number_of(self.known_tests, "test", test))
        return number

    def add_resolver(self, resolver):
        """Return the number of a resolver: ``"top"``, ``"level"``, ``"deeper"`` or a callable."""
        cdef TermId bound
        cdef int32_t number
        key = ("resolver", resolver if isinstance(resolver, str) else id(resolver))
        if key in self.numbers:
            return self.numbers[key]
        # a bound may be refused: then nothing is known of the resolver
        at_most = getattr(resolver, "answers_at_most", None)
        bound = NEEDS_STATE if at_most is None else self.resolve_term(at_most)
        number = self.number_of(self.resolvers, "resolver", resolver)
        self.bounds.push_back(bound)
        return number

    cdef int32_t number_of(self, list table, str what, object entry) except FAILED:
        # callables are one if they are the same object; the table keeps them alive, so their ids are theirs
        key = (what, entry if isinstance(entry, str) else id(entry))
        if key not in self.numbers:
            self.numbers[key] = len(table)
            table.append(entry)
        return self.numbers[key]

    cdef ValueId call(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except ID_FAILED nogil:
        """Return the value after a callable, FORBIDDEN or NEEDS_STATE. The result is cached."""
        cdef uint64_t key = (<uint64_t>value << 32) | <uint64_t>text_id  # mutant: pair-key
        cdef int32_t pair = self.pairs.get(key), found
        if pair == NO_VALUE:
            pair = <int32_t>self.pairs.count
            self.pairs.put(key, pair)
        key = (<uint64_t>pair << 32) | <uint64_t>action
        found = self.ended.get(key)
        if found != NO_VALUE:
            return found
        found = self.ask(value, text, text_id, action)
        self.ended.put(key, found)
        return found

    cdef ValueId ask(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except ID_FAILED with gil:
        """Call an action, and return the value after it, FORBIDDEN, or NEEDS_STATE for a stand-in."""
        cdef Pause pause
        cdef ValueId found
        if text.empty() and text_id >= FIRST_TEXT:
            self.texts.spell(text_id, text)
        self.terms.meter.pause(&pause)
        try:
            answer = self.actions[action](self.values.objects[value], self.first_of(text, action))
        except ir.Undecided:
            self.check_stand_in(value)
            return NEEDS_STATE
        finally:
            self.terms.meter.resume(&pause)
        if answer is not None:
            found = self.values.value_of(answer)
            return self.stand_in(found) if self.values.stands_in[value] else found
        if self.kinds[action] == ACT_UPDATE:
            raise ResolverError(f"{self.actions[action]!r} says that it never forbids, and did")
        return FORBIDDEN

    cdef bytes first_of(self, vector[uint8_t]& text, ActionId action):
        """Return the part of a text that an action reads, since an enclosing capture may keep more of it."""
        cdef size_t size = text.size()
        cdef int32_t most = self.texts.left[self.first_texts[action]]
        if size > <size_t>most:
            size = most
        return (<char*>text.data())[:size]

    cdef TermId resolve(self, ValueId value, ResolverId resolver) except ID_FAILED nogil:
        """Return the term of a dynamic rule for this value, or NEEDS_STATE."""
        cdef uint64_t key = (<uint64_t>resolver << 32) | <uint64_t>value
        cdef TermId term = self.resolved.get(key)
        if term == NO_VALUE:
            term = self.ask_resolver(value, resolver)
            if term != NEEDS_STATE:
                self.resolved.put(key, term)
        return term

    cdef TermId ask_resolver(self, ValueId value, ResolverId resolver) except ID_FAILED with gil:
        """Call a resolver, and return the term of its answer, or NEEDS_STATE."""
        cdef Pause pause
        rule = self.resolvers[resolver]
        answer = None
        if isinstance(rule, str):
            if self.values.kind[value] == VALUE_SYMBOL:
                return NEEDS_STATE
            if self.values.kind[value] != VALUE_OBJECT:
                answer = ANSWERS[rule](self.texts.text_of(self.values.text[value]))
        elif self.values.symbolic[value]:
            return NEEDS_STATE
        self.terms.meter.pause(&pause)
        try:
            if isinstance(rule, str):
                return self.resolve_term(answer)
            depends_on = getattr(rule, "depends_on", None)
            if depends_on is None:
                return self.resolve_term(rule(self.values.objects[value]))
            key = rule, self.part_of(depends_on[0], value)
            found = self.parts.get(key)
            if found is None:
                found = self.parts[key] = self.resolve_term(depends_on[1](key[1]))
            return found
        except ir.Undecided:
            self.check_stand_in(value)
            return NEEDS_STATE
        finally:
            self.terms.meter.resume(&pause)

    cdef object part_of(self, object of, ValueId value):
        """Return the cached result of a function of the value on which callables depend.
        Raises: Undecided.
        """
        key = of, value
        found = self.parts.get(key)
        if found is None:
            try:
                found = True, of(self.values.objects[value])
            except ir.Undecided:
                found = False, None
            self.parts[key] = found
            self.parts_kept += 1
        if not found[0]:
            raise ir.Undecided
        return found[1]

    cdef TextId first_text(self, ValueId value, ActionId action) except ID_FAILED nogil:
        """Return the initial text of a capture, given the action at its end."""
        if self.tests[action] < 0 or not self.values.stands_in[value]:
            return self.first_texts[action]
        return self.first_told(value, self.tests[action], self.texts.left[self.first_texts[action]])

    cdef TextId first_told(self, ValueId value, int32_t test, int32_t most) except ID_FAILED nogil:
        """Return the empty text for captures of a stand-in whose actions distinguish texts by one test."""
        cdef uint64_t key = (<uint64_t>value << 32) | <uint64_t>test
        cdef TextId found = self.first_alike.get(key)
        if found == NO_VALUE:
            with gil:
                found = self.first_by_part(value, test, most)
            self.first_alike.put(key, found)
        return found

    cdef TextId first_by_part(self, ValueId value, int32_t test, int32_t most) except ID_FAILED:
        """As ``first_told``, for a text that values share if they distinguish the same texts."""
        of, tells = self.known_tests[test]
        try:
            part = self.part_of(of, value)
        except ir.Undecided:
            self.check_stand_in(value)
            part = None
        key = most, tells, part
        if key not in self.texts.bounded:
            text = self.texts.new_text(most)
            self.texts.teller.put(text, <int32_t>len(self.texts.tellers))
            self.texts.tellers.append((tells, part))
            self.texts.bounded[key] = text
        return self.texts.bounded[key]

    cdef int check_stand_in(self, ValueId value) except FAILED:
        """Raise ResolverError if an actual value, not a stand-in, was undecided."""
        if not getattr(self.values.objects[value], "stands_in", False):
            raise ResolverError("an action or a resolver did not decide, and its value is not a stand-in")
        return 0

    cdef ValueId stand_in(self, ValueId value) except ID_FAILED nogil:
        """Return the value that represents another one for many texts. Most values represent themselves."""
        cdef ValueId found = self.stand_ins.get(value)
        if found == NO_VALUE:
            found = value
            with gil:
                known = self.values.objects[value]
                question = getattr(type(known), "__stand_in__", None)
                if question is not None:
                    found = self.values.value_of(question(known))
            self.stand_ins.put(value, found)
        return found

    cdef int is_sure(self, ValueId value, TextId text) except FAILED nogil:
        """Return whether no action forbids the end of a capture, regardless of further text."""
        cdef int32_t k
        cdef uint64_t key
        key = (<uint64_t>value << 32) | <uint64_t>text
        k = self.known_sure.get(key)
        if k == NO_VALUE:
            k = not self.begins_new(value, text) and self.ask_all(value, text)
            self.known_sure.put(key, k)
        return k

    cdef bint begins_new(self, ValueId value, TextId text) except FAILED nogil:
        """Return whether another string that `new` would refuse begins with this text."""
        cdef TextId at
        while self.values.kind[value] == VALUE_NEW_LINK:
            at = self.values.text[value]
            while at != text and self.texts.parent[at] != NO_PARENT:
                at = self.texts.parent[at]
                self.terms.meter.spend(1)
            self.terms.meter.spend(1)
            if at == text:
                return True
            value = self.values.parent[value]
        return False

    cdef int ask_all(self, ValueId value, TextId text) except FAILED with gil:
        """Ask all actions whether they may forbid the end of a capture."""
        cdef Pause pause
        self.terms.meter.pause(&pause)
        try:
            for number, action in enumerate(self.actions):
                if self.kinds[number] != ACT_CALL:
                    continue
                test = getattr(action, "may_forbid", None)
                if test is None or test(self.values.objects[value], self.texts.text_of(text)):
                    return False
            return True
        finally:
            self.terms.meter.resume(&pause)

    cdef int owed(self, ValueId value, TextId text, Owed* out) except FAILED nogil:
        """Find the text that a value still requires, given the text of an open capture, or NO_TEXT."""
        cdef uint64_t key = (<uint64_t>value << 32) | <uint32_t>text
        cdef int32_t at = self.owed_index.get(key)
        if at != NO_VALUE:
            out[0] = self.owed_found[at]
            return 0
        self.ask_owed(value, text, out)
        self.owed_found.push_back(out[0])
        self.owed_index.put(key, <int32_t>self.owed_found.size() - 1)
        return 0

    cdef int ask_owed(self, ValueId value, TextId text, Owed* out) except FAILED with gil:
        """Ask a value for the text that it still requires. Most values require none."""
        cdef Pause pause
        known = self.values.objects[value]
        out.bytes = out.first = out.count = out.in_name = 0
        question = getattr(type(known), "__owed__", None)
        if question is None:
            return 0
        begun = None if text == NO_TEXT else self.texts.text_of(text).decode(errors="ignore")
        self.terms.meter.pause(&pause)
        try:
            answer = self.checked_owed(question(known, begun))
        except Exception as error:
            raise ResolverError(f"{type(known).__name__}.__owed__ failed: {error!r:.200}") from error
        finally:
            self.terms.meter.resume(&pause)
        self.terms.meter.spend(OWED_WORK)
        out.bytes, data, out.in_name = answer
        out.first = self.enter_owed(data)
        if out.first >= 0:
            out.count = <int32_t>len(data)
        return 0

    cdef tuple checked_owed(self, answer):
        """Return the bytes, the text, and whether it is part of a name. Raises: TypeError for other results."""
        if not isinstance(answer, ir.Owed):
            raise TypeError(f"{answer!r:.60} is not an Owed")
        if not isinstance(answer.size, int) or not isinstance(answer.text, str):
            raise TypeError(f"{answer!r:.60}: size is not an int, or text is not a str")
        data = answer.text[:MOST_OWED_TEXT].encode(errors="replace")
        return min(max(answer.size, 0), MOST_OWED), data, answer.in_name is True

    cdef int32_t enter_owed(self, bytes data) except ID_FAILED:
        """Return the position of a text in ``owed_text``, shared by equal texts; -1 if there is no room."""
        found = self.owed_places.get(data)
        if found is None:
            found = <int32_t>self.owed_text.size()
            if found > MOST_OWED_TEXTS:
                return -1
            self.terms.meter.hold(OWED_BYTES + len(data))
            for byte in data:
                self.owed_text.push_back(byte)
            self.owed_places[data] = found
        return found

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the cached results."""
        cdef size_t held = self.resolved.nbytes() + self.pairs.nbytes() + self.ended.nbytes()
        held += self.known_sure.nbytes() + self.owed_index.nbytes() + self.stand_ins.nbytes()
        held += self.first_alike.nbytes() + PART_BYTES * self.parts_kept
        return held + sizeof(Owed) * self.owed_found.capacity() + self.owed_text.capacity()
