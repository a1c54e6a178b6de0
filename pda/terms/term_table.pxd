# The records of hash-consed terms, and the tables that make equal ones one. See term_table.pyx.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    ID_FAILED,
    NEVER,
    UNBOUNDED,
    CallId,
    GuardId,
    MapId,
    Nullability,
    ResolverId,
    ReturnAction,
    RuleId,
    SetId,
    SitesId,
    SpecId,
    SymbolId,
    TermId,
    TestId,
    TokenClassId,
)
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap, Probe
from stackmask.pda.memory.work_meter cimport WorkMeter


cdef extern from "term_table.h" nogil:
    struct Sequence "stackmask::Sequence":
        TermId first        # never a K_SEQ
        TermId rest

    struct Repetition "stackmask::Repetition":
        TermId item
        int32_t low
        int32_t high        # or UNBOUNDED

    struct OperandList "stackmask::OperandList":
        int32_t first       # kids[first:first + count]
        int32_t count

    struct Literal "stackmask::Literal":
        int32_t first       # pool[first:first + length]
        int32_t length      # at least 2

    struct CallTerm "stackmask::CallTerm":
        CallId id           # in `call_table`
        int32_t nonempty    # 1 leaves out the empty string

    # 32 bytes, half a line of the cache: a step reads all that it needs at once
    struct Term "stackmask::Term":
        uint8_t kind            # of `Kind`
        uint8_t flags
        Nullability nu          # the guard under which the term may end here, or NEVER
        uint8_t live            # of `Live`; only `Emptiness` writes it
        # the next ten share their place: one is read, by the kind; unused integers are 0
        int32_t key[3]          # all of it, which tells terms of one kind apart (lists: what they list)
        SetId set_id            # of K_SET
        GuardId guard           # of K_GUARD
        Literal literal         # of K_LIT
        Sequence seq            # of K_SEQ
        OperandList operands    # of K_ALT and K_AND
        Repetition rep          # of K_REP
        TermId negated          # of K_NOT
        CallTerm call           # of K_CALL
        TokenClassId token_class    # of K_TOKEN
        # the next three: only `Derivatives` writes them
        MapId map               # the partition of bytes for its first step, or -1
        SymbolId symbol         # byte or token class of the first derivative that was computed, or -1
        TermId derivative       # ... and that derivative; `Derivatives` has a table of the others
        SitesId calls           # its calls in first position, in `site_lists`, or -1; `FirstCalls` writes it

    struct Call "stackmask::Call":
        int32_t kind            # of `CallKind`
        # the next three share their place: one is read, by the kind
        RuleId rule             # of CALL_RULE
        ResolverId resolver     # of CALL_RESOLVER
        TestId test             # of CALL_TEST
        ReturnAction action     # what the return does
        # the next three share their place: one is read, by the action
        int32_t operand         # all of it, which tells calls apart; 0 if nothing is read
        SpecId spec             # of ACTION_KEYED: what the keys of the object must satisfy
        int32_t most_tokens     # of ACTION_COUNTED: how many tokens the text may take


cdef enum Kind:
    K_EMPTY   # the empty language; always term 0
    K_EPS     # the empty string; always term 1
    K_GUARD   # the empty string where the next byte is in the guard (the end and special tokens are fine)
    K_SET     # one byte of a byte set
    K_LIT     # some bytes of the pool
    K_SEQ     # one term and then the rest
    K_ALT     # any of the operands: sorted, distinct, no K_ALT and no K_EMPTY among them
    K_REP     # an item, `low` to `high` times
    K_AND     # all of the operands
    K_NOT     # every byte string but those of one term
    K_CALL    # what an entry of `call_table` calls
    K_TOKEN   # one special token of a token class

cdef enum:
    EMPTY = 0
    EPS = 1
    ANY_BYTE = 0       # guard 0 allows every byte
    F_BOOL = 1         # contains & or !, so the term may have no string though its structure does not show it
    F_CALL = 2         # a call stands in first position
    F_TOKEN = 4        # a special token stands in first position
    F_LOCAL = 8        # can consume a byte or token without calling
    F_IMPURE = 16      # contains a call, a token or a guard: not allowed under & and !
    F_KEYS = 32        # contains a test of an object key, here or in a rule that it calls


cdef enum Live:
    # whether a term has a string, as far as it is known
    LIVE_UNKNOWN = 0
    LIVE = 1
    DEAD = 2


cdef enum CallKind:
    CALL_RULE
    CALL_RESOLVER       # a dynamic rule: the resolver gives its body
    CALL_TEST           # consumes nothing; tests the key state of the object around


cdef struct CallSite:
    CallId call
    GuardId guard       # what the next byte must satisfy for the call to start
    TermId continuation         # the local state after the call returns


cdef struct SiteList:
    int32_t first       # sites[first:first + count]
    int32_t count


cdef struct ClassMap:
    # a partition of the bytes: bytes of one class have equal derivatives
    uint8_t of[256]
    uint8_t byte_of[256]    # class -> its first byte
    int32_t count


cdef struct Ends:
    # guards, as bits, that can be pending where a term ends; see `Endings`
    uint64_t consumed   # after at least one symbol
    uint64_t silent     # without any


cdef class ByteClasses:
    cdef Growing[uint64_t] sets         # 4 words per byte set
    cdef vector[SetId] guard_sets       # guard -> its byte set
    cdef Growing[ClassMap] maps         # 0: all bytes are one class; 1: each byte is a class of its own
    cdef vector[MapId] set_map          # byte set -> its partition, or -1
    cdef IdTable set_index
    cdef IdTable map_index
    cdef KeyMap meets                   # partition << 32 | partition -> their coarsest common refinement
    cdef WorkMeter meter                # counts the memory of new sets

    cdef size_t nbytes(self) noexcept nogil
    cdef SetId intern_set(self, uint64_t* words) except ID_FAILED nogil
    cdef MapId intern_map(self, uint8_t* classes) except ID_FAILED nogil
    cdef MapId map_of_set(self, SetId set_id) except ID_FAILED nogil
    cdef MapId map_meet(self, MapId a, MapId b) except ID_FAILED nogil
    cdef MapId map_of_guard(self, GuardId guard) except ID_FAILED nogil
    cdef GuardId guard_of_set(self, SetId set_id) except ID_FAILED nogil
    cdef GuardId guard_and(self, GuardId g, GuardId h) except ID_FAILED nogil
    cdef GuardId guard_or(self, GuardId g, GuardId h) except ID_FAILED nogil

    cdef inline bint has_guards(self) noexcept nogil:
        # more than the guard that allows every byte
        return self.guard_sets.size() > 1

    cdef inline bint guard_has(self, GuardId guard, SymbolId symbol) noexcept nogil:
        # special tokens satisfy every guard
        if guard == ANY_BYTE or symbol >= TOKENS:
            return True
        return (self.sets[4 * self.guard_sets[guard] + (symbol >> 6)] >> (symbol & 63)) & 1

    cdef inline bint set_has(self, SetId set_id, SymbolId symbol) noexcept nogil:
        if symbol >= TOKENS:
            return False
        return (self.sets[4 * set_id + (symbol >> 6)] >> (symbol & 63)) & 1


cdef class TermTable:
    cdef Growing[Term] terms
    cdef Growing[TermId] kids           # operands of alternatives and intersections
    cdef Growing[uint8_t] pool          # bytes of literals
    cdef IdTable term_index
    cdef ByteClasses classes
    cdef Growing[CallSite] sites
    cdef vector[SiteList] site_lists    # 0: no sites
    cdef vector[Call] call_table
    cdef vector[TermId] rule_body       # rule -> term
    cdef vector[Nullability] rule_nu    # rule -> nu of its body
    cdef vector[int32_t] rule_height    # rule -> more than that of every rule it can call in first position
    cdef readonly int token_classes
    cdef uint64_t max_terms
    cdef WorkMeter meter                # counts the work of all that is made of these terms

    cdef size_t nbytes(self) noexcept nogil
    # outside this module, `intern_sequence` and the like below: they have typed members for the key
    cdef TermId add(
        self,
        int32_t kind,
        int32_t key0,
        int32_t key1,
        int32_t key2,
        Nullability nu,
        int32_t flags,
        Probe* probe,
    ) except ID_FAILED nogil
    cdef TermId intern(
        self, int32_t kind, int32_t key0, int32_t key1, int32_t key2, Nullability nu, int32_t flags
    ) except ID_FAILED nogil
    cdef TermId intern_list(
        self, int32_t kind, vector[TermId]& items, Nullability nu, int32_t flags
    ) except ID_FAILED nogil


cdef enum:
    TOKENS = 256       # symbols are bytes, and from here on classes of special tokens
    MAP_ONE = 0
    MAP_EACH = 1


cdef inline int32_t one_less(int32_t most) noexcept nogil:
    # a bound after one of what it counts
    return most if most == UNBOUNDED else most - 1


cdef inline int32_t one_more(int32_t most) noexcept nogil:
    return most if most == UNBOUNDED else most + 1


cdef inline bint is_byte(SymbolId symbol) noexcept nogil:
    return symbol < TOKENS


cdef inline SymbolId token_symbol(TokenClassId token_class) noexcept nogil:
    return <SymbolId>(TOKENS + <int32_t>token_class)


cdef inline TokenClassId token_class_of(SymbolId symbol) noexcept nogil:
    # of a symbol that is no byte
    return <TokenClassId>(<int32_t>symbol - TOKENS)


# Terms by their members. An integer of the key is the member at the same place of the struct above.
cdef inline TermId intern_guard(TermTable table, GuardId guard) except ID_FAILED nogil:
    return table.intern(K_GUARD, guard, 0, 0, Nullability.under(guard), F_IMPURE)


cdef inline TermId intern_byte(TermTable table, SetId set_id) except ID_FAILED nogil:
    return table.intern(K_SET, set_id, 0, 0, NEVER, F_LOCAL)


cdef inline TermId intern_literal(TermTable table, int32_t first, int32_t length) except ID_FAILED nogil:
    return table.intern(K_LIT, first, length, 0, NEVER, F_LOCAL)


cdef inline TermId intern_sequence(
    TermTable table, TermId first, TermId rest, Nullability nu, int32_t flags
) except ID_FAILED nogil:
    return table.intern(K_SEQ, first, rest, 0, nu, flags)


cdef inline TermId intern_repetition(
    TermTable table, TermId item, int32_t low, int32_t high, Nullability nu, int32_t flags
) except ID_FAILED nogil:
    return table.intern(K_REP, item, low, high, nu, flags)


cdef inline TermId intern_negation(TermTable table, TermId negated, Nullability nu) except ID_FAILED nogil:
    return table.intern(K_NOT, negated, 0, 0, nu, F_BOOL | F_LOCAL)


cdef inline TermId intern_call(
    TermTable table, CallId call, bint nonempty, Nullability nu, int32_t flags
) except ID_FAILED nogil:
    return table.intern(K_CALL, call, nonempty, 0, nu, flags)


cdef inline TermId intern_token(TermTable table, TokenClassId token_class) except ID_FAILED nogil:
    return table.intern(K_TOKEN, token_class, 0, 0, NEVER, F_TOKEN | F_LOCAL | F_IMPURE)
