# distutils: language = c++
"""Hash-consed terms and their derivatives: the local states of the automaton.

A term is a small integer; equal terms are one integer. The store grows and never changes what it holds.

    t ::= ∅ | ε | [bytes] | "literal" | t t | t "|" t | t{m,n} | t & t | ¬t | call | token | ≫[bytes]

``nu`` is the guard under which a term may end at the current position: a set of next bytes (the end of
input and special tokens satisfy every guard), or NEVER.

The store is the table of the records (``term_table``), and owns what works on it. Each of these gets the
table with every call, rather than holding it: a reference back to their owner would be a cycle.

    Constructors    terms made of terms
    Derivatives     the term after a symbol
    Emptiness       whether a term has a string
    Simplifier      searches about operands of intersections, for the constructors and derivatives
    Steps           derivatives without alternatives that have no string
    Endings         the guards that can be pending where a term ends
    FirstCalls      the rules that a term may call first

``TermBuilder`` is what the lowering calls.
"""

cimport cython
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    ACTION_COUNTED,
    ACTION_KEYED,
    ACTION_NONE,
    ACTION_SCOPE,
    FAILED,
    ID_FAILED,
    NEVER,
    UNBOUNDED,
    MapId,
    Nullability,
    TokenClassId,
)
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    EPS,
    F_CALL,
    F_IMPURE,
    F_KEYS,
    K_ALT,
    K_AND,
    K_EMPTY,
    K_EPS,
    K_GUARD,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    ByteClasses,
    Call,
    Term,
    intern_call,
    intern_token,
)

from stackmask.pda.errors import BudgetError


# ------------------------------------------------------------------------------------------------
# Terms as text, for goldens and debugging.
#
#     ε  ∅  b'text'  [61-7a]  a b  (a | b)  (a & b)  ¬(a)  (a){2,}    as in regular expressions, over bytes
#     ≫[61]           the next byte must be in the set, or the input ends
#     token0          a special token of a class
#     rule1           a call; rule1⁺ without the empty string
#     resolver0       a call of a dynamic rule
#     close, slot2    a test of an object key
#     action0(rule1), scope(rule1), keys0(rule1)      calls with what happens at their return
# ------------------------------------------------------------------------------------------------


# tests of object keys, by number; then the slots
TESTS = ("close", "continue", "undeclared")


cdef str dump_term(TermTable table, TermId t):
    """Return a term as text. Each term in it is spelled once; no recursion, as terms may be deep."""
    cdef dict known = {}
    cdef list todo = [t], operands, missing
    while todo:
        u = todo[len(todo) - 1]
        operands = operands_of(table, u)
        missing = [] if u in known else [operand for operand in operands if operand not in known]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if u not in known:
            known[u] = spell(table, u, [known[operand] for operand in operands])
    return known[t]


cpdef str dump_rules(TermTable table, object rules):
    """Return rules as text, one a line: where they may be empty, their height, and their body."""
    cdef list lines = []
    cdef int32_t rule
    cdef Nullability nu
    for rule in rules:
        nu = table.rule_nu[rule]
        empty = ""
        if nu.always():
            empty = ", may be empty"
        elif nu.possible():
            empty = f", may be empty before {dump_set(table, table.classes.guard_sets[nu.guard()])}"
        body = dump_term(table, table.rule_body[rule])
        lines.append(f"rule{rule} (height {table.rule_height[rule]}{empty}) = {body}\n")
    return "".join(lines)


cdef list operands_of(TermTable table, TermId t):
    """Return the terms that a term is made of; of a sequence, all its items."""
    cdef Term u = table.terms[t]
    cdef list items = []
    if u.kind == K_ALT or u.kind == K_AND:
        return [table.kids[u.operands.first + k] for k in range(u.operands.count)]
    if u.kind == K_REP:
        return [u.rep.item]
    if u.kind == K_NOT:
        return [u.negated]
    while u.kind == K_SEQ:
        items.append(u.seq.first)
        t = u.seq.rest
        u = table.terms[t]
    if items:
        items.append(t)
    return items


cdef str spell(TermTable table, TermId t, list operands):
    """Return a term as text, given that of its operands."""
    cdef Term u = table.terms[t]
    if u.kind == K_EMPTY:
        return "∅"
    if u.kind == K_EPS:
        return "ε"
    if u.kind == K_GUARD:
        return f"≫{dump_set(table, table.classes.guard_sets[u.guard])}"
    if u.kind == K_SET:
        return dump_set(table, u.set_id)
    if u.kind == K_LIT:
        return repr(bytes([table.pool[u.literal.first + i] for i in range(u.literal.length)]))
    if u.kind == K_SEQ:
        return " ".join(operands)
    if u.kind == K_ALT:
        return "(" + " | ".join(operands) + ")"
    if u.kind == K_AND:
        return "(" + " & ".join(operands) + ")"
    if u.kind == K_NOT:
        return f"¬({operands[0]})"
    if u.kind == K_REP:
        return f"({operands[0]}){{{u.rep.low},{'' if u.rep.high == UNBOUNDED else u.rep.high}}}"
    if u.kind == K_TOKEN:
        return f"token{u.token_class}"
    return dump_call(table.call_table[u.call.id]) + ("⁺" if u.call.nonempty else "")


cdef str dump_call(Call call):
    """Return an entry of the call table as text."""
    if call.kind == CALL_TEST:
        return TESTS[call.test] if call.test < len(TESTS) else f"slot{call.test - len(TESTS)}"
    called = f"resolver{call.resolver}" if call.kind == CALL_RESOLVER else f"rule{call.rule}"
    if call.action == ACTION_NONE:
        return called
    if call.action == ACTION_SCOPE:
        return f"scope({called})"
    if call.action == ACTION_KEYED:
        return f"keys{call.spec}({called})"
    if call.action == ACTION_COUNTED:
        return f"tokens{call.most_tokens}({called})"
    return f"action{call.action.action()}({called})"


cdef str dump_set(TermTable table, SetId set_id):
    """Return a byte set as text."""
    members = [b for b in range(256) if table.classes.set_has(set_id, b)]
    runs = []
    start = previous = None
    for b in [*members, None]:
        if start is not None and b != previous + 1:
            runs.append((start, previous))
            start = None
        if start is None:
            start = b
        previous = b
    return "[" + " ".join(f"{a:02x}" if a == b else f"{a:02x}-{b:02x}" for a, b in runs) + "]"


cdef enum:
    MAX_TOKEN_CLASSES = 60_000    # they share 16 bits of a key with the bytes


cdef SetId set_of(ByteClasses classes, object mask) except ID_FAILED:
    """Return the byte set of a 256-bit mask."""
    cdef uint64_t words[4]
    for i in range(4):
        words[i] = (mask >> (64 * i)) & 0xFFFFFFFFFFFFFFFF
    return classes.intern_set(words)


@cython.final
cdef class TermStore(TermTable):
    """The terms, rules and calls of one automaton.

    Invariant: append-only; ids stay valid for the life of the store.
    """

    def __cinit__(self, uint64_t max_terms=20_000_000, uint64_t max_explored=200_000):
        self.make = Constructors()
        self.derivatives = Derivatives(self.make)
        self.emptiness = Emptiness(self.derivatives, max_explored)
        self.simplifier = Simplifier(self.make, self.derivatives, self.emptiness)
        self.steps = Steps(self.make, self.derivatives, self.emptiness, self.simplifier)
        self.endings = Endings(self.make, self.steps)
        self.first_calls = FirstCalls(self.make)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the terms take, with all remembered results."""
        cdef size_t held = TermTable.nbytes(self) + self.make.nbytes() + self.derivatives.nbytes()
        return held + self.emptiness.nbytes() + self.simplifier.nbytes() + self.endings.nbytes()

    def matches(self, TermId t, bytes data):
        """Return whether a regular term holds exactly these bytes."""
        cdef unsigned char byte
        for byte in data:
            t = self.steps.step(self, t, byte)
        return self.terms[t].nu.possible()

    def alive(self, TermId t):
        """Return whether the term has a string."""
        return self.emptiness.is_live(self, t)

    def size(self):
        """Return the number of terms."""
        self.meter.settle()
        return self.terms.size()

    def nbytes_held(self):
        """Return about how many bytes the terms take."""
        self.meter.settle()
        return self.nbytes()

    def counts(self):
        """Return sizes: terms, transition rows, byte classes, guards, rules."""
        self.meter.settle()
        return {
            "terms": self.terms.size(),
            "byte_maps": self.classes.maps.size(),
            "guards": self.classes.guard_sets.size(),
            "term_bytes": self.nbytes(),
            "rules": self.rule_body.size(),
        }

    def dump(self, TermId t):
        """Return the term as text, for goldens and debugging. What it calls is named by number."""
        return dump_term(self, t)


@cython.final
cdef class TermBuilder:
    """Makes the terms, rules and calls of grammars in a store, for the lowering. It holds nothing else."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms

    def byte_set(self, mask):
        """Return the term of one byte out of ``mask`` (a 256-bit int)."""
        return self.terms.make.mk_set(self.terms, set_of(self.terms.classes, mask))

    def guard(self, mask):
        """Return the guard that requires the next byte to be in ``mask``, without consuming it."""
        return self.terms.make.mk_guard(self.terms, self.guard_id(mask))

    def guard_id(self, mask):
        """Return the id of the guard that allows the bytes in ``mask``."""
        return self.terms.classes.guard_of_set(set_of(self.terms.classes, mask))

    cpdef TermId literal(self, bytes data) except ID_FAILED:
        """Return the term of exactly these bytes."""
        return self.terms.make.mk_bytes(self.terms, data)

    def sequence(self, items):
        """Return the terms one after the other."""
        cdef TermId t = EPS
        for item in reversed(items):
            t = self.terms.make.mk_seq(self.terms, item, t)
        return t

    def alternatives(self, items):
        """Return any of the terms; of none, the term of the empty language."""
        cdef vector[TermId] operands
        for item in items:
            operands.push_back(item)
        return self.terms.make.mk_alt(self.terms, operands, 0)

    def repeat(self, TermId item, int32_t low, high):
        """Return the term ``low`` to ``high`` times; None for no upper bound."""
        return self.terms.make.mk_rep(self.terms, item, low, UNBOUNDED if high is None else high)

    def token(self, TokenClassId token_class):
        """Return one special token of the class."""
        return intern_token(self.terms, token_class)

    cdef CallId add_call(self, Call call) except ID_FAILED nogil:
        """Enter a call into the call table."""
        self.terms.call_table.push_back(call)
        return <int32_t>self.terms.call_table.size() - 1

    cpdef TermId call(self, CallId call, bint nonempty=False, bint keys=False) except ID_FAILED:
        """Return the term that calls; ``nonempty`` leaves out the empty string; ``keys``: it tests keys."""
        cdef Nullability nu = NEVER
        if self.terms.call_table[call].kind == CALL_RULE and not nonempty:
            nu = self.terms.rule_nu[self.terms.call_table[call].rule]
        return intern_call(self.terms, call, nonempty, nu, F_CALL | F_IMPURE | (F_KEYS if keys else 0))

    cpdef RuleId add_rule(self, object nu) except ID_FAILED:
        """Declare a rule; ``nu`` is the mask of bytes before which it may be empty, or None."""
        self.terms.rule_body.push_back(EMPTY)
        self.terms.rule_nu.push_back(NEVER if nu is None else Nullability.under(self.guard_id(nu)))
        self.terms.rule_height.push_back(0)
        return <int32_t>self.terms.rule_body.size() - 1

    cpdef int set_rule(self, RuleId rule, TermId body, int32_t height) except FAILED:
        """Give a declared rule its body and its height, more than that of the rules it can call first."""
        self.terms.rule_body[rule] = body
        self.terms.rule_height[rule] = height
        return 0

    def add_token_class(self):
        """Add a class of special tokens and return its number."""
        if self.terms.token_classes >= MAX_TOKEN_CLASSES:
            raise BudgetError("max_token_classes", MAX_TOKEN_CLASSES, "sets of special tokens", fixed=True)
        self.terms.token_classes += 1
        return self.terms.token_classes - 1


# ------------------------------------------------------------------------------------------------
# Whether every beginning of a string of a term begins infinitely many strings.
#
# The derivatives of a regular term are the states of a finite automaton. Call those that have a string live.
# If each live state leads to a live one, a path through them goes on without end, so it meets a cycle, and each
# has infinitely many strings. A live state that leads to none has the empty string alone.
# ------------------------------------------------------------------------------------------------


cpdef object is_endless(TermStore terms, TermId term, Py_ssize_t max_explored):
    """Return whether every beginning of a string of a regular term begins infinitely many.

    Returns: None if more than ``max_explored`` states would have to be visited; False if there is no string.
    Cost: linear in the states and in their byte classes.
    """
    cdef vector[TermId] states
    cdef vector[int32_t] source, target     # the steps between the states, by their places in the list
    cdef KeyMap places
    cdef size_t at = 0
    cdef TermId next
    cdef MapId classes
    cdef int32_t k, place
    if term == EMPTY:
        return False
    map_init(&places)
    try:
        states.push_back(term)
        map_put(&places, term, 0)
        while at < states.size():
            classes = terms.classes_of(states[at])
            terms.meter.spend(40 + 4 * terms.classes.maps[classes].count)
            for k in range(terms.classes.maps[classes].count):
                next = terms.derive(states[at], terms.classes.maps[classes].byte_of[k])
                if next == EMPTY:
                    continue
                place = map_get(&places, next)
                if place == NO_VALUE:
                    place = <int32_t>states.size()
                    if place >= max_explored:
                        return None
                    states.push_back(next)
                    map_put(&places, next, place)
                source.push_back(<int32_t>at)
                target.push_back(place)
            at += 1
    finally:
        map_free(&places)
    return none_runs_out(terms, states, source, target)


cdef bint none_runs_out(
    TermStore terms, vector[TermId]& states, vector[int32_t]& source, vector[int32_t]& target
) except FAILED:
    """Return whether the first state is live, and each live state leads to a live one."""
    cdef vector[int32_t] first, before, steps, todo
    cdef vector[uint8_t] live
    cdef size_t i
    cdef int32_t at, k
    # the states before each one
    first.resize(states.size() + 1, 0)
    for i in range(target.size()):
        first[target[i] + 1] += 1
    for i in range(states.size()):
        first[i + 1] += first[i]
    before.resize(target.size())
    todo.assign(first.begin(), first.end())
    for i in range(target.size()):
        before[todo[target[i]]] = source[i]
        todo[target[i]] += 1
    todo.clear()
    # those that are live
    live.resize(states.size(), 0)
    for i in range(states.size()):
        if terms.terms[states[i]].nu.possible():
            live[i] = 1
            todo.push_back(<int32_t>i)
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        for k in range(first[at], first[at + 1]):
            if not live[before[k]]:
                live[before[k]] = 1
                todo.push_back(before[k])
    if not live[0]:
        return False
    steps.resize(states.size(), 0)
    for i in range(target.size()):
        steps[source[i]] += live[target[i]]  # mutant: dead-steps
    for i in range(states.size()):
        if live[i] and not steps[i]:
            return False
    return True


# ------------------------------------------------------------------------------------------------
# Sets of literals, each with what may follow it, as one term that shares their prefixes.
# ------------------------------------------------------------------------------------------------


cpdef int32_t literal_trie(TermBuilder build, dict tails) except FAILED:
    """Return any of the words, each followed by one of its tails. The words share their prefixes.

    Cost: linear in the bytes, after sorting.
    """
    cdef list words = sorted(tails), stack
    cdef bytes word, following
    cdef Py_ssize_t i, after, depth, top, outer, n
    if not words:
        return EMPTY
    if len(words) == 1:
        return ending(build, tails, words[0], 0)
    # a stack of open branch points: (length of the prefix, alternatives so far)
    stack = [(0, [])]
    for i in range(len(words)):
        word = words[i]
        after = 0
        if i + 1 < len(words):
            following = words[i + 1]
            n = min(len(word), len(following))
            while after < n and word[after] == following[after]:
                after += 1
        depth = stack[len(stack) - 1][0]
        if after > depth:
            # the next word branches off closer to the root
            stack.append((after, []))
            depth = after
        stack[len(stack) - 1][1].append(ending(build, tails, word, depth))
        while stack[len(stack) - 1][0] > after:
            top, kids = stack.pop()
            joined = build.alternatives(kids)
            outer = max(after, stack[len(stack) - 1][0])
            if outer > stack[len(stack) - 1][0]:
                stack.append((outer, []))
            stack[len(stack) - 1][1].append(build.terms.mk_seq(build.literal(word[outer:top]), joined))
    return build.alternatives(stack[0][1])


cdef int32_t ending(TermBuilder build, dict tails, bytes word, Py_ssize_t depth) except FAILED:
    cdef list ends = tails[word]
    cdef int32_t tail = ends[0] if len(ends) == 1 else build.alternatives(ends)
    return build.terms.mk_seq(build.literal(word[depth:]), tail)
