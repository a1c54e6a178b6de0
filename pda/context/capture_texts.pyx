# distutils: language = c++
"""The strings that captures have read: chains of bytes that share their prefixes."""

cimport cython
from libc.stdint cimport uint64_t
from libcpp.algorithm cimport reverse

from stackmask.pda.ids cimport NO_PARENT, UNBOUNDED
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put


@cython.final
cdef class CaptureTexts:
    """The captured strings of one store, by number.

    Invariant: append-only; equal strings that take equally many more bytes are one number.
    """

    def __cinit__(self):
        map_init(&self.index)
        for _i in range(FIRST_TEXT):
            # 0 is the empty string; then the stand-ins of walks
            self.parent.push_back(NO_PARENT)
            self.last.push_back(0)
            self.left.push_back(0)
        self.left[0] = UNBOUNDED
        self.bounded = {}

    def __dealloc__(self):
        map_free(&self.index)

    cdef TextId bounded_text(self, object most) except -1:
        """Return the empty text of captures that keep so many bytes, or all if ``most`` is None."""
        if most is None:
            return 0
        if most not in self.bounded:
            self.bounded[most] = <int32_t>self.parent.size()
            self.parent.push_back(NO_PARENT)
            self.last.push_back(0)
            self.left.push_back(most)
        return self.bounded[most]

    cdef TextId longer(self, TextId text, uint8_t byte) except -1 nogil:
        # strings share their prefixes, so a long capture costs its length, not the square of it
        cdef uint64_t key = (<uint64_t>text << 8) | byte
        cdef TextId found = map_get(&self.index, key)
        cdef int32_t left
        if found == NO_VALUE:
            found = <int32_t>self.parent.size()
            self.parent.push_back(text)
            self.last.push_back(byte)
            left = self.left[text]
            if left != UNBOUNDED:
                left = max(left - 1, 0)
            self.left.push_back(left)
            map_put(&self.index, key, found)
        return found

    cdef int spell(self, TextId text, vector[uint8_t]& out) except -1 nogil:
        """Write out a captured text, which is kept as a chain of bytes."""
        while self.parent[text] != NO_PARENT:
            out.push_back(self.last[text])
            text = self.parent[text]
        reverse(out.begin(), out.end())
        return 0

    cdef bytes text_of(self, TextId text):
        cdef vector[uint8_t] out
        self.spell(text, out)
        return (<char*>out.data())[: out.size()]

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the strings take."""
        return 12 * self.index.mask + 9 * self.parent.size() + 4 * self.value.size()
