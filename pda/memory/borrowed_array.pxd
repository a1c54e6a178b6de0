# A growing array of another object, for readers: one pointer, no memory of its own.
#
# The owner must outlive the reader, and must not move, like the fields of an extension object. An
# index returns a reference into the array of the owner, valid until the owner grows.
from stackmask.pda.memory.growing_array cimport Growing

cdef extern from "growing_array.h" nogil:
    cdef cppclass Borrowed "stackmask::BorrowedArray"[T]:
        void borrow(Growing[T]&)
        size_t size()
        bint empty()
        T* data()
        T& operator[](size_t)
