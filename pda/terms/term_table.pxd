# The records of hash-consed terms, and the tables that make equal ones one. See term_table.pyx.
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap, Probe
from stackmask.pda.memory.work_meter cimport WorkMeter
from stackmask.pda.ids cimport (
    ACTION_KEYED,
    ACTION_NONE,
    ACTION_SCOPE,
    ActionId,
    CallId,
    GuardId,
    MapId,
    SetId,
    SitesId,
    SpecId,
    SymbolId,
    TermId,
    TokenClassId,
)

cdef enum Kind:
    K_EMPTY   # the empty language; always term 0
    K_EPS     # the empty string; always term 1
    K_GUARD   # the empty string where the next byte is in guard a (the end and special tokens are fine)
    K_SET     # one byte of byte set a
    K_LIT     # the b >= 2 bytes at pool[a:]
    K_SEQ     # a then b; a is never a K_SEQ
    K_ALT     # any of kids[a:a+b], sorted, distinct, no K_ALT and no K_EMPTY among them
    K_REP     # a repeated b to c times; c = -1 without bound
    K_AND     # all of kids[a:a+b]
    K_NOT     # every byte string but those of a
    K_CALL    # what entry a of `call_table` calls; c = 1 leaves out the empty string
    K_TOKEN   # one special token of token class a

cdef enum:
    EMPTY = 0
    EPS = 1
    ANY_BYTE = 0       # guard 0 allows every byte
    NEVER = -1         # nu of a term that may not end here
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


cdef struct Term:
    # 32 bytes, half a line of the cache: a step reads all that it needs at once. `of X`: only X writes it
    uint8_t kind
    uint8_t flags
    int8_t nu           # the guard under which the term may end here, or NEVER
    uint8_t live        # of `Live`; of `Emptiness`
    int32_t a           # what these three are depends on `kind`
    int32_t b
    int32_t c
    MapId map           # the partition of bytes for its first step, or -1; of `Derivatives`, as the next two
    SymbolId symbol      # byte or token class of the first derivative that was computed, or -1
    TermId derivative   # ... and that derivative; `Derivatives` has a table of the others
    SitesId calls       # its calls in first position, in `site_lists`, or -1; of `FirstCalls`


cdef enum CallKind:
    CALL_RULE
    CALL_RESOLVER       # a dynamic rule: the resolver gives its body
    CALL_TEST           # consumes nothing; tests the key state of the object around


cdef struct Call:
    int32_t kind        # of `CallKind`
    int32_t target      # the rule, resolver or test
    ActionId action     # what happens at the return: ACTION_NONE, _SCOPE, _KEYED, or that of a capture
    SpecId spec         # of ACTION_KEYED: what the keys of the object must satisfy; else -1


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


cdef class TermTable:
    cdef Growing[Term] terms
    cdef Growing[TermId] kids           # operands of alternatives and intersections
    cdef Growing[uint8_t] pool          # bytes of literals
    cdef Growing[uint64_t] sets         # 4 words per byte set
    cdef vector[SetId] guard_sets       # guard -> its byte set
    cdef Growing[ClassMap] maps         # 0: all bytes are one class; 1: each byte is a class of its own
    cdef vector[MapId] set_map          # byte set -> its partition, or -1
    cdef IdTable term_index
    cdef IdTable set_index
    cdef IdTable map_index
    cdef KeyMap meets                   # partition << 32 | partition -> their coarsest common refinement
    cdef Growing[CallSite] sites
    cdef vector[SiteList] site_lists    # 0: no sites
    cdef vector[Call] call_table
    cdef vector[TermId] rule_body       # rule -> term
    cdef vector[int32_t] rule_nu        # rule -> nu of its body
    cdef vector[int32_t] rule_height    # rule -> more than that of every rule it can call in first position
    cdef readonly int token_classes
    cdef uint64_t max_terms
    cdef WorkMeter meter                # counts the work of all that is made of these terms

    cdef size_t nbytes(self) noexcept nogil
    cdef TermId add(
        self, int32_t kind, int32_t a, int32_t b, int32_t c, int32_t nu, int32_t flags, Probe* probe
    ) except -1 nogil
    cdef TermId intern(
        self, int32_t kind, int32_t a, int32_t b, int32_t c, int32_t nu, int32_t flags
    ) except -1 nogil
    cdef TermId intern_list(
        self, int32_t kind, vector[TermId]& items, int32_t nu, int32_t flags
    ) except -1 nogil
    cdef SetId intern_set(self, uint64_t* words) except -1 nogil
    cdef MapId intern_map(self, uint8_t* classes) except -1 nogil
    cdef MapId map_of_set(self, SetId set_id) except -1 nogil
    cdef MapId map_meet(self, MapId a, MapId b) except -1 nogil
    cdef GuardId guard_of_set(self, SetId set_id) except -1 nogil
    cdef GuardId guard_and(self, GuardId g, GuardId h) except -1 nogil
    cdef GuardId guard_or(self, GuardId g, GuardId h) except -1 nogil

    cdef inline bint guard_has(self, GuardId guard, SymbolId symbol) noexcept nogil:
        # special tokens satisfy every guard
        if guard == ANY_BYTE or symbol >= TOKENS:
            return True
        return (self.sets[4 * self.guard_sets[guard] + (symbol >> 6)] >> (symbol & 63)) & 1

    cdef inline bint set_has(self, SetId set_id, SymbolId symbol) noexcept nogil:
        if symbol >= TOKENS:
            return False
        return (self.sets[4 * set_id + (symbol >> 6)] >> (symbol & 63)) & 1


cdef enum:
    TOKENS = 256       # symbols are bytes, and from here on classes of special tokens
    MAP_ONE = 0
    MAP_EACH = 1


cdef inline bint is_byte(SymbolId symbol) noexcept nogil:
    return symbol < TOKENS


cdef inline SymbolId token_symbol(TokenClassId token_class) noexcept nogil:
    return <SymbolId>(TOKENS + <int32_t>token_class)


cdef inline TokenClassId token_class_of(SymbolId symbol) noexcept nogil:
    # of a symbol that is no byte
    return <TokenClassId>(<int32_t>symbol - TOKENS)
