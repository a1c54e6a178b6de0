"""From a conjunction of atoms to keys with a name: what is done for every name of every object."""

from stackmask.grammar.json_schema.nodes import COUNT, KEYS, PROPERTY, REQUIRED, SOME_KEY

cdef str A_PROPERTY = PROPERTY, A_REQUIRED = REQUIRED, A_KEYS = KEYS, A_SOME_KEY = SOME_KEY, A_COUNT = COUNT


cpdef tuple sort_out(tuple atoms):
    """Return what atoms of objects say, by kind.

    (literals by declared name, required names, rules for many keys, keys that must be found, keys that must
    be found and have no name, the least and the greatest count, all names). Cost: linear.
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
                declared[name] = [atom[2]]
            else:
                (<list>found).append(atom[2])
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


cpdef list find_members(object algebra, object make, dict declared, dict required, list rules, dict names):
    """Return the keys with a name that may be there, each made by ``make``; None if one that must be may not.

    ``make``: name, state, required, declared. Cost: for a name, the rules for many keys.
    """
    cdef list members = [], nodes = algebra.nodes, literals, found
    cdef dict singles = algebra.singles
    cdef object name, state, clashes, node, keys
    cdef tuple rule
    cdef bint must, known
    cdef long number
    for name in names:
        literals = declared.get(name)
        known = literals is not None
        found = literals
        for rule in rules:
            keys = rule[0]
            if (name in keys.names) != keys.negated if not keys.sets else keys.has(name):
                if found is literals:
                    found = [] if literals is None else list(literals)
                found.append(rule[1])
        must = name in required
        number = 0
        if found is not None and len(found) == 1:  # nearly always
            number = found[0]
        if number > 0:
            state = singles.get(found[0])
            if state is None:
                state = algebra.state(found)
            node = nodes[number]
            if not node.ready:
                node = algebra.node(number)
            clashes = not node.mask
        else:
            state = algebra.state(found if found is not None else ())
            clashes = algebra.clashes(state)
        if clashes:
            if must:
                return None
            continue
        members.append(make(name, state, must, known))
    return members


cpdef list live_members(list members, dict productive):
    """Return the members whose values there are."""
    cdef list found = []
    cdef object member
    for member in members:
        if productive[member.state]:
            found.append(member)
    return found


cpdef Py_ssize_t count_required(list members) except -1:
    """Return how many members must be there."""
    cdef Py_ssize_t count = 0
    cdef object member
    for member in members:
        if member.required:
            count += 1
    return count


cpdef tuple by_declaration(list members):
    """Return the members that `properties` declares, and the others."""
    cdef list declared = [], others = []
    cdef object member
    for member in members:
        (declared if member.declared else others).append(member)
    return declared, others


cpdef Py_ssize_t chain_size(list members) except -1:
    """Return how many members a chain writes: each place where it may start has its own tail."""
    cdef Py_ssize_t size = 0, total = len(members), i
    for i in range(total):
        size += total - i
        if members[i].required:
            break
    return size - total + 1 if size else 0
