from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, CallId, GuardId, MapId, RuleId, SetId, SymbolId, TermId
from stackmask.pda.memory.checked_vectors cimport copy_list, priority_queue
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_table cimport Call, CallSite, Ends, Term, TermTable


cdef struct OperandRules:
    # queries of an intersection about its operands, each answered by a search; all NULL: no queries.
    # `simplifier` is borrowed: the caller keeps it alive
    void* simplifier
    # whether a term holds well-formed text only
    bint (*is_textual)(void* simplifier, TermTable table, TermId t) except FAILED nogil
    # what two repetitions have in common if it is one term, else NO_TERM
    TermId (*both_repeats)(void* simplifier, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    # whether the second term is found to include every string of the first
    bint (*is_subset)(void* simplifier, TermTable table, TermId a, TermId b) except FAILED nogil


cdef class Constructors:
    cdef OperandRules rules
    cdef TermId any_text        # the term of every well-formed text, or NO_TERM while there is none
    cdef dict literals          # bytes -> their place in the pool
    cdef size_t literal_count       # entries of it

    cdef size_t nbytes(self) noexcept nogil
    cdef TermId guard_first(self, TermTable table, GuardId g, TermId t) except ID_FAILED nogil
    cdef TermId intern_seq(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef TermId join_counts(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef int factor(self, TermTable table, vector[TermId]& items, int depth) except FAILED nogil
    cdef int merge_repeats(self, TermTable table, vector[TermId]& items, int depth) except FAILED nogil
    cdef TermId mk_guard(self, TermTable table, GuardId g) except ID_FAILED nogil
    cdef TermId mk_set(self, TermTable table, SetId set_id) except ID_FAILED nogil
    cdef TermId mk_literal(self, TermTable table, int32_t offset, int32_t length) except ID_FAILED nogil
    cdef TermId mk_bytes(self, TermTable table, bytes data) except ID_FAILED
    cdef TermId mk_seq(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef TermId mk_alt(self, TermTable table, vector[TermId]& items, int depth) except ID_FAILED nogil
    cdef TermId mk_alt2(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef TermId mk_rep(self, TermTable table, TermId item, int32_t low, int32_t high) except ID_FAILED nogil
    cdef TermId mk_and(self, TermTable table, vector[TermId]& items) except ID_FAILED nogil
    cdef bint is_in_star(self, TermTable table, TermId t, TermId star, int depth, int* left) except FAILED nogil
    cdef int drop_any_text(self, TermTable table, vector[TermId]& items) except FAILED nogil
    cdef bint join_repeats(self, TermTable table, vector[TermId]& items) except FAILED nogil
    cdef TermId mk_not(self, TermTable table, TermId item) except ID_FAILED nogil


# return an equal term, a shorter one if it is known
ctypedef TermId (*Simplify)(void* simplifier, TermTable table, TermId t) except ID_FAILED nogil


cdef class Derivatives:
    cdef Constructors make
    cdef KeyMap known           # term << 16 | byte class or token class -> derivative, but for the first
    cdef Simplify simplify      # or NULL
    cdef void* simplifier       # borrowed: the caller keeps it alive

    cdef size_t nbytes(self) noexcept nogil
    cdef MapId classes_of(self, TermTable table, TermId t) except ID_FAILED nogil
    cdef MapId classes_of_run(self, TermTable table, TermId t) except ID_FAILED nogil
    cdef MapId classes_of_kids(self, TermTable table, Term u) except ID_FAILED nogil
    cdef TermId derive(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil
    cdef int32_t class_of(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil
    cdef TermId after_first(self, TermTable table, Term u) except ID_FAILED nogil
    cdef bint may_begin(self, TermTable table, TermId t, int32_t byte, int levels) noexcept nogil
    cdef TermId derive_raw(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil
    cdef int derive_anchors(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil
    cdef bint is_derived(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil
    cdef TermId derive_part(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil


cdef class Emptiness:
    cdef Derivatives derivatives
    cdef vector[vector[uint8_t]] endings    # bytes that led searches to an end, the most recently used first
    cdef KeyMap efforts                     # term -> about how many bytes a string of it needs
    cdef uint64_t max_explored

    cdef size_t nbytes(self) noexcept nogil
    cdef bint is_live(self, TermTable table, TermId t) except FAILED nogil
    cdef bint is_open(self, TermTable table, TermId t) noexcept nogil
    cdef bint explore(self, TermTable table, TermId t) except FAILED nogil
    cdef bint try_endings(self, TermTable table, TermId t) except FAILED nogil


cdef class Simplifier:
    cdef Constructors make
    cdef Derivatives derivatives
    cdef Emptiness emptiness
    cdef KeyMap simple          # term -> the repetition that it means, or itself
    cdef KeyMap textual         # term -> 1 if it holds well-formed UTF-8 only, else 0
    cdef KeyMap known_subsets   # term << 32 | term -> 1 if the second is seen to hold the first
    cdef KeyMap known_codes     # term -> 1 if it is seen to be a prefix code
    cdef bint searching         # for what a term simplifies to
    cdef bint including         # a search for whether a term includes another one is under way

    cdef size_t nbytes(self) noexcept nogil
    cdef TermId simplified(self, TermTable table, TermId t) except ID_FAILED nogil
    cdef TermId star_in(self, TermTable table, TermId t) except ID_FAILED nogil
    cdef bint is_empty_soon(self, TermTable table, TermId t) except FAILED nogil
    cdef bint is_textual(self, TermTable table, TermId t) except FAILED nogil
    cdef TermId both_repeats(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef bint is_subset(self, TermTable table, TermId a, TermId b) except FAILED nogil
    cdef bint is_code(self, TermTable table, TermId item) except FAILED nogil


cdef class Steps:
    cdef Constructors make
    cdef Derivatives derivatives
    cdef Emptiness emptiness
    cdef Simplifier simplifier

    cdef TermId step(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil
    cdef TermId prune(self, TermTable table, TermId t) except ID_FAILED nogil


cdef class Endings:
    cdef Constructors make
    cdef Steps steps
    cdef KeyMap index               # term * 64 + guard -> index in `found`
    cdef vector[Ends] found
    cdef KeyMap rule_index          # rule * 64 + guard -> index in `rule_found`
    cdef vector[Ends] rule_found
    cdef vector[uint64_t] rule_keys
    cdef size_t final               # pairs before this index have their final values
    cdef bint solving               # the fixpoint over the rules
    cdef int32_t current            # ... the pair that is visited, and the sequences that it is met in
    cdef int32_t nesting
    cdef priority_queue[int32_t] waiting    # pairs to visit
    cdef vector[uint8_t] is_waiting         # ... by their index after `final`
    cdef vector[vector[int32_t]] users      # likewise: the pairs that use it

    cdef size_t nbytes(self) noexcept nogil
    cdef int ends(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil
    cdef int ends_of(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil
    cdef int ends_of_item(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil
    cdef int ends_of_repeat(self, TermTable table, Term u, GuardId guard, Ends* out) except FAILED nogil
    cdef int rule_ends(self, TermTable table, RuleId rule, GuardId guard, Ends* out) except FAILED nogil
    cdef int visit(self, TermTable table, int32_t at) except FAILED nogil
    cdef int queue(self, int32_t at) except FAILED nogil
    cdef int add_user(self, int32_t at, int32_t user) except FAILED nogil
    cdef int forget(self) except FAILED nogil


cdef class FirstCalls:
    cdef Constructors make

    cdef int find_sites(self, TermTable table, TermId t) except FAILED nogil
    cdef int collect_sites(
        self, TermTable table, TermId t, GuardId guard, TermId continuation, vector[CallSite]& out
    ) except FAILED nogil


cdef class TermStore(TermTable):
    cdef Constructors make
    cdef Derivatives derivatives
    cdef Emptiness emptiness
    cdef Simplifier simplifier
    cdef Steps steps
    cdef Endings endings
    cdef FirstCalls first_calls

    # calls of other packages
    cdef inline TermId mk_seq(self, TermId a, TermId b) except ID_FAILED nogil:
        return self.make.mk_seq(self, a, b)

    cdef inline TermId mk_alt(self, vector[TermId]& items, int depth) except ID_FAILED nogil:
        # other packages have lists of integers
        cdef vector[TermId] operands
        copy_list(operands, items)
        return self.make.mk_alt(self, operands, depth)

    cdef inline TermId mk_guard(self, GuardId g) except ID_FAILED nogil:
        return self.make.mk_guard(self, g)

    cdef inline MapId classes_of(self, TermId t) except ID_FAILED nogil:
        return self.derivatives.classes_of(self, t)

    cdef inline TermId derive(self, TermId t, SymbolId symbol) except ID_FAILED nogil:
        return self.derivatives.derive(self, t, symbol)

    cdef inline TermId step(self, TermId t, SymbolId symbol) except ID_FAILED nogil:
        return self.steps.step(self, t, symbol)

    cdef inline int ends(self, TermId t, GuardId guard, Ends* out) except FAILED nogil:
        return self.endings.ends(self, t, guard, out)

    cdef inline int find_sites(self, TermId t) except FAILED nogil:
        return self.first_calls.find_sites(self, t)


cdef class TermBuilder:
    cdef readonly TermStore terms

    cpdef TermId literal(self, bytes data) except ID_FAILED
    cdef CallId add_call(self, Call call) except ID_FAILED nogil
    cpdef TermId call(self, CallId call, bint nonempty=*, bint keys=*) except ID_FAILED
    cpdef RuleId add_rule(self, object nu) except ID_FAILED
    cpdef int set_rule(self, RuleId rule, TermId body, int32_t height) except FAILED


# Sets of literals as one term.

cpdef int32_t literal_trie(TermBuilder build, dict tails) except FAILED
