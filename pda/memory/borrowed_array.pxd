# A growing array of another object, for readers: one pointer, no memory of its own.
#
# The owner must outlive the reader, and must not move, like the fields of an extension object. An
# index returns a reference into the array of the owner, valid until the owner grows.
from stackmask.pda.memory.growing_array cimport Growing

cdef extern from * nogil:
    """
    #ifndef STACKMASK_BORROWED
    #define STACKMASK_BORROWED
    template <class T>
    class BorrowedArray {
        GrowingArray<T>* owner = nullptr;

      public:
        void borrow(GrowingArray<T>& lent) { owner = &lent; }
        size_t size() const { return owner->size(); }
        bool empty() const { return owner->empty(); }
        T* data() { return owner->data(); }
        T& operator[](size_t i) { return (*owner)[i]; }
    };
    #endif
    """
    cdef cppclass Borrowed "BorrowedArray"[T]:
        void borrow(Growing[T]&)
        size_t size()
        bint empty()
        T* data()
        T& operator[](size_t)
