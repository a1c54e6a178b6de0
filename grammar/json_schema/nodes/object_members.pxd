# The keys of objects that have a name.
cimport cython

from stackmask.grammar.ir.failures cimport FAILED, ID_FAILED


@cython.final
@cython.no_gc
cdef class Member:
    cdef readonly object name
    cdef readonly object state
    cdef public bint required
    cdef readonly bint declared


cpdef tuple sort_out(tuple atoms)
cpdef list find_members(object algebra, dict declared, dict required, list rules, dict names)
cpdef list live_members(list members, dict productive)
cpdef Py_ssize_t count_live(list members, dict productive) except ID_FAILED
cpdef int add_states(list members, set seen, list states) except FAILED
cpdef Py_ssize_t count_required(list members) except FAILED
cpdef tuple by_declaration(list members)
cpdef Py_ssize_t chain_size(list members) except FAILED
cpdef list write_members(list members, object style, object lowering, bint slotted=*)
cpdef object write_item(Member member, object expr, object comma)
cpdef list write_chain(
    list members, list written, object blank, object comma, list rest, list alone
)
