# distutils: language = c++
"""The rules that a state may call before it reads anything."""

cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport Nullability
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    EMPTY,
    EPS,
    F_CALL,
    K_ALT,
    K_CALL,
    K_REP,
    K_SEQ,
    SiteList,
    Term,
    one_less,
)


@cython.final
cdef class FirstCalls:
    """Finds the calls in first position of the terms of one table; each call gets the table.

    Owner: the store of the terms.
    """

    def __cinit__(self, Constructors make not None):
        self.make = make

    cdef int find_sites(self, TermTable table, TermId t) except -1 nogil:
        """Find the calls that may start here, once: they are then in site_lists[terms[t].calls]."""
        cdef vector[CallSite] found
        cdef SiteList entry
        cdef size_t i
        if table.terms[t].calls >= 0:
            return 0
        if table.terms[t].flags & F_CALL:
            self.collect_sites(table, t, ANY_BYTE, EPS, found)
        if found.empty():
            table.terms[t].calls = 0
            return 0
        entry.first = <int32_t>table.sites.size()
        entry.count = <int32_t>found.size()
        for i in range(found.size()):
            table.sites.push_back(found[i])
        table.terms[t].calls = <int32_t>table.site_lists.size()
        table.site_lists.push_back(entry)
        return 0

    cdef int collect_sites(
        self, TermTable table, TermId t, GuardId guard, TermId continuation, vector[CallSite]& out
    ) except -1 nogil:
        """Append the calls in first position of a term, with the guard before and what follows each."""
        cdef Term u
        cdef CallSite site
        cdef TermId tail
        cdef int32_t k, high
        cdef Nullability nu
        while table.terms[t].kind == K_SEQ:
            u = table.terms[t]
            if table.terms[u.seq.first].flags & F_CALL:
                tail = self.make.mk_seq(table, u.seq.rest, continuation)
                self.collect_sites(table, u.seq.first, guard, tail, out)
            nu = table.terms[u.seq.first].nu
            if not nu.possible():
                return 0
            guard = table.classes.guard_and(guard, nu.guard())
            t = u.seq.rest
        u = table.terms[t]
        if not u.flags & F_CALL:
            return 0
        if u.kind == K_CALL:
            if continuation != EMPTY:
                site.call = u.call.id
                site.guard = guard
                site.continuation = continuation
                out.push_back(site)
        elif u.kind == K_ALT:
            for k in range(u.operands.count):
                self.collect_sites(table, table.kids[u.operands.first + k], guard, continuation, out)
        elif u.kind == K_REP:
            high = one_less(u.rep.high)
            tail = self.make.mk_rep(table, u.rep.item, u.rep.low - 1 if u.rep.low > 0 else 0, high)
            self.collect_sites(table, u.rep.item, guard, self.make.mk_seq(table, tail, continuation), out)
            nu = table.terms[u.rep.item].nu
            if nu.possible() and not nu.always() and u.rep.low > 1:
                # earlier iterations may be empty, under their guard
                tail = self.make.mk_rep(table, u.rep.item, 0, high)
                guard = table.classes.guard_and(guard, nu.guard())
                self.collect_sites(table, u.rep.item, guard, self.make.mk_seq(table, tail, continuation), out)
        return 0
