"""From conjunctions of atoms to named keys and their expressions, which is done for every name."""

cimport cython

from stackmask.grammar.ir.expressions cimport SEQUENCE, Repeat, Sequence, Slot

from stackmask.grammar.json_schema.nodes.nodes import COUNT, KEYS, PROPERTY, REQUIRED, SOME_KEY

cdef str A_PROPERTY = PROPERTY, A_REQUIRED = REQUIRED, A_KEYS = KEYS, A_SOME_KEY = SOME_KEY, A_COUNT = COUNT


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Member:
    """A named key, with the state of its value and flags for required and declared by `properties`."""

    def __init__(self, object name, object state, bint required, bint declared):
        self.name = name
        self.state = state
        self.required = required
        self.declared = declared


cpdef tuple sort_out(tuple atoms):
    """Return the content of object atoms, by kind.

    These are literals or lists of literals by declared name, required names, rules for many keys, keys to be
    found, keys to be found outside the members, minimum and maximum count, all names. Cost: linear.
    """
    cdef dict declared = {}, required = {}, names
    cdef list rules = [], some = [], nameless = []
    cdef object low = 0, high = None, found, name
    cdef tuple atom
    cdef str kind
    for atom in atoms:
        kind = <str>atom[0]
        if kind is A_PROPERTY:
            name = atom[1]
            found = declared.get(name)
            if found is None:
                declared[name] = atom[2]
            elif type(found) is list:
                (<list>found).append(atom[2])
            else:
                declared[name] = [found, atom[2]]
        elif kind is A_REQUIRED:
            required[atom[1]] = None
        elif kind is A_KEYS:
            rules.append((atom[1], atom[2]))
        elif kind is A_SOME_KEY:
            if len(atom) == 3:
                some.append((atom[1], atom[2]))
            else:
                nameless.append((atom[1], atom[2]))
        else:
            low = max(low, atom[1])
            if atom[2] is not None:
                high = atom[2] if high is None else min(high, atom[2])
    names = dict.fromkeys(declared)
    names.update(required)
    for found in (rules, some, nameless):
        for atom in <list>found:
            for name in atom[0].names:
                names.setdefault(name)
    return declared, required, rules, some, nameless, low, high, names


cpdef list find_members(object algebra, dict declared, dict required, list rules, dict names):
    """Return the possible named keys; None if a required one is impossible.

    Cost: for each name, linear in the rules for many keys.
    """
    cdef Member member
    cdef list members = [], nodes = algebra.nodes, found
    cdef dict singles = algebra.singles
    cdef object name, state, clashes, node, keys, literal
    cdef tuple rule
    cdef bint must, known
    cdef long number
    for name in names:
        literal = declared.get(name)
        known = literal is not None
        found = None
        for rule in rules:
            keys = rule[0]
            if (name in keys.names) != keys.negated if not keys.sets else keys.has(name):
                if found is None:
                    if literal is None:
                        found = []
                    else:
                        found = list(<list>literal) if type(literal) is list else [literal]
                found.append(rule[1])
        must = name in required
        if found is None and type(literal) is list:
            found = literal
        elif found is not None and len(found) == 1:
            literal = found[0]
            found = None
        number = 0
        if found is None and literal is not None:  # nearly always
            number = literal
        if number > 0:
            state = singles.get(literal)
            if state is None:
                state = algebra.state((literal,))
            node = nodes[number]
            if not node.ready:
                node = algebra.node(number)
            clashes = not node.mask
        else:
            if found is None and literal is not None:
                found = [literal]
            state = algebra.state(found if found is not None else ())
            clashes = algebra.clashes(state)
        if clashes:
            if must:
                return None
            continue
        member = Member.__new__(Member)
        member.name = name
        member.state = state
        member.required = must
        member.declared = known
        members.append(member)
    return members


cpdef list live_members(list members, dict productive):
    """Return the members that have a value."""
    cdef list found = []
    cdef Member member
    for member in members:
        if productive[member.state]:
            found.append(member)
    return found


cpdef Py_ssize_t count_live(list members, dict productive) except ID_FAILED:
    """Return the number of members that have values; -1 if a required one has none."""
    cdef Py_ssize_t count = 0
    cdef Member member
    for member in members:
        if productive[member.state]:
            count += 1
        elif member.required:
            return -1
    return count


cpdef int add_states(list members, set seen, list states) except FAILED:
    """Add the states of the members that were not yet seen."""
    cdef Member member
    for member in members:
        if member.state not in seen:
            seen.add(member.state)
            states.append(member.state)
    return 0


cpdef Py_ssize_t count_required(list members) except FAILED:
    """Return the number of required members."""
    cdef Py_ssize_t count = 0
    cdef Member member
    for member in members:
        if member.required:
            count += 1
    return count


cpdef tuple by_declaration(list members):
    """Return the members that `properties` declares, and the others."""
    cdef list declared = [], others = []
    cdef Member member
    for member in members:
        (declared if member.declared else others).append(member)
    return declared, others


cpdef Py_ssize_t chain_size(list members) except FAILED:
    """Return the number of members that a chain writes: each possible start has a separate tail."""
    cdef Py_ssize_t size = 0, total = len(members), i
    for i in range(total):
        size += total - i
        if (<Member?>members[i]).required:
            break
    return size - total + 1 if size else 0


# -- expressions -----------------------------------------------------------------------------------------


cdef Sequence sequence(tuple items):
    """Return ``Sequence(items)``."""
    cdef Sequence made = Sequence.__new__(Sequence)
    made.kind = SEQUENCE
    made.items = items
    made.take_all(items)
    return made


cpdef list write_members(list members, object style, object lowering, bint slotted=False):
    """Return the members as expressions of key, colon and value; ``slotted``: with a slot after each key."""
    cdef list written = []
    cdef dict known = lowering.expressions
    cdef object value, key, colon = style.blanks.member
    cdef Py_ssize_t i
    cdef Member member
    for i in range(len(members)):
        member = <Member?>members[i]
        value = known.get(member.state)
        if value is None:
            value = lowering.expression(member.state)
        key = style.word(member.name)
        written.append(sequence((key, Slot(i), colon, value) if slotted else (key, colon, value)))
    return written


cpdef object write_item(Member member, object expr, object comma):
    """Return a member followed by another one; a member that is not required is optional."""
    cdef object found = sequence((comma, expr))
    return found if member.required else Repeat(found, 0, 1)


cpdef list write_chain(
    list members, list written, object blank, object comma, list rest, list alone
):
    """Return the ways to write members in order, one for each possible first member.

    ``rest``: the continuations after all members; ``alone``: the continuations without members. The
    continuation of a member is one expression, shared with the preceding member and lowered once. Cost:
    linear.
    """
    cdef list options = [], tails = [], after
    cdef Py_ssize_t total = len(members), first = 0, i
    cdef object tail
    if not total:
        return list(alone)
    while first < total - 1 and not (<Member?>members[first]).required:
        first += 1
    # after the last member that may come first, the rest is one expression
    after = [write_item(<Member?>members[i], written[i], comma) for i in range(first + 1, total)] + rest
    if not first:
        options.append(sequence((blank, written[0], *after)))
    else:
        tail = after[0] if len(after) == 1 else sequence(tuple(after))
        tails.append(tail)
        for i in range(first, 0, -1):
            tail = sequence((write_item(<Member>members[i], written[i], comma), tail))
            tails.append(tail)
        for i in range(first + 1):
            options.append(sequence((blank, written[i], tails[first - i])))
    if not (<Member?>members[first]).required:
        options.extend(alone)
    return options
