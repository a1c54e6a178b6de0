# The calls about forced text. See jump_forward_calls.pyx.


cdef class JumpCalls:
    cdef object find_plan(self, object context_ids)
