from cpython.pythread cimport PyThread_type_lock

from stackmask.pda.memory.work_meter cimport WorkAccount, WorkMeter


cdef class StoreLock:
    cdef PyThread_type_lock lock        # what waiting threads sleep on
    cdef long waiting                   # so many of them
    cdef bint woken                     # one was woken, and has not checked the lock yet
    cdef unsigned long owner            # the thread inside, or 0
    cdef readonly WorkMeter meter       # counts the work of the thread inside
    cdef readonly bint spoiled          # memory ran out inside: what it guards may be half changed
    cdef object __weakref__

    cdef int take(self, WorkAccount account) except -1
    cdef void charge_to(self, WorkAccount account) noexcept
    cdef bint is_held(self) noexcept
    cdef bint may_read_inside(self) except -1
    cdef void give(self, bint done) noexcept
    cdef void wake(self) noexcept

    cdef inline bint may_read(self) except -1:
        """Tell whether what is finished may be read now without taking the lock.

        So it is where nobody is inside, or another thread is where its call counts its work. This holds until
        this thread lets others run. Waits until it is so. False if this thread is inside.
        """
        return self.owner == 0 or self.may_read_inside()
