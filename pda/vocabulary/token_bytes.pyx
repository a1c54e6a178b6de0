# distutils: language = c++
"""The bytes of every token id, in one block of memory.

There is no Python object for each token. The block can be saved, and used again without a copy.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcmp, memcpy, memset

from collections.abc import Sequence

from stackmask.pda.errors import VocabularyError


cdef enum:
    MAX_COUNT = 1 << 26      # ids; a row of a mask then takes 8 MB, and more is surely a mistake
    MAX_BYTES = 0x7FFFFFF0   # the nodes of the trie are numbered by int32


cdef inline size_t flag_bytes(int64_t count) noexcept nogil:
    return ((count + 31) // 32) * 4


cdef bytes block_owner(object block, const uint8_t** data, Py_ssize_t* size):
    """Return the bytes object that contains a buffer (or a copy of it), and the buffer's position inside.

    The pointer is valid as long as the object lives. A ``Py_buffer`` in a field would do the same, but the
    garbage collector cannot free a memoryview that has one.
    """
    cdef Py_buffer view
    owner = block.obj if isinstance(block, memoryview) and block.contiguous else block
    if not isinstance(owner, bytes):
        owner = block = bytes(block)
    PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)
    data[0] = <const uint8_t*>view.buf
    size[0] = view.len
    PyBuffer_Release(&view)
    if <size_t>data[0] % 4:  # a view into a buffer need not be aligned
        owner = bytes(block)
        data[0] = <const uint8_t*>PyBytes_AS_STRING(owner)
    return owner


cdef object block_view(bytes owner, const uint8_t* data, Py_ssize_t size):
    """Return a block as a read-only memoryview."""
    cdef Py_ssize_t first = data - <const uint8_t*>PyBytes_AS_STRING(owner)
    return memoryview(owner)[first : first + size]


@cython.final
cdef class TokenBytes:
    """The bytes of each token id; None for ids that are not text. An immutable sequence.

    ``block``: ``count + 1`` offsets (uint32), one bit per id for "not text" (padded to words), the bytes,
    in the byte order of the machine. The sequence keeps the block alive and reads from it.

    Raises: VocabularyError if the block does not contain ``count`` tokens.
    Cost: one pass over the offsets.
    """

    def __cinit__(self, block, int64_t count):
        cdef size_t header
        cdef int64_t i, total
        cdef uint32_t length
        self.owner = block_owner(block, &self.data, &self.nbytes)
        header = 4 * <size_t>(count + 1) + flag_bytes(count)
        if not 0 <= count <= MAX_COUNT or self.nbytes < <Py_ssize_t>header:
            raise VocabularyError(f"not a table of {count} tokens")
        total = self.nbytes - header
        self.size = <int32_t>count
        self.start = <const uint32_t*>self.data
        self.absent = self.data + 4 * (count + 1)
        self.blob = self.data + header
        if total > MAX_BYTES or self.start[0] != 0 or self.start[count] != total:
            raise VocabularyError(f"not a table of {count} tokens")
        for i in range(count):
            length = self.start[i + 1] - self.start[i]
            if not self.start[i] <= self.start[i + 1] <= total or (length and self.is_absent(<int32_t>i)):
                raise VocabularyError(f"not a table of {count} tokens: id {i} is broken")
            self.present += not self.is_absent(<int32_t>i)
            self.spelled += length > 0
            self.longest = max(self.longest, <int32_t>length)
        for i in range(count, <int64_t>(8 * flag_bytes(count))):
            if self.is_absent(<int32_t>i):
                raise VocabularyError(f"not a table of {count} tokens: a flag beyond the last id is set")

    def __len__(self):
        """Return the number of ids."""
        return self.size

    def __getitem__(self, index):
        """Return the bytes of an id, or None; for a slice of ids, return a list."""
        cdef int64_t i
        if isinstance(index, slice):
            return [self.get(i) for i in range(*index.indices(self.size))]
        i = index
        if i < 0:
            i += self.size
        if not 0 <= i < self.size:
            raise IndexError("token id out of range")
        return self.get(i)

    def __iter__(self):
        """Iterate over the ids in order."""
        cdef TokenId i
        for i in range(self.size):
            yield self.get(i)

    def index(self, value, first=0, last=None):
        """Return the first id with these bytes, or with None.

        Raises: ValueError if there is none.
        """
        for i in range(*slice(first, last).indices(self.size)):
            if self.get(i) == value:
                return i
        raise ValueError(f"{value!r} is not a token")

    def count(self, value):
        """Return the number of ids that have these bytes, or are not text."""
        return sum([text == value for text in self])

    def __reduce__(self):
        return TokenBytes, (bytes(self.block), self.size)

    @property
    def block(self):
        """The block of memory, read-only; ``TokenBytes(block, count)`` is an equal sequence."""
        return block_view(self.owner, self.data, self.nbytes)

    cdef bytes get(self, int64_t i):
        """Return the bytes of an id; None if it is out of range or not text."""
        if not 0 <= i < self.size or self.is_absent(<int32_t>i):
            return None
        return PyBytes_FromStringAndSize(<const char*>self.blob + self.start[i], self.length(<int32_t>i))

    def overlay(self, changes):
        """Return the sequence with other bytes (or None) for some ids, longer if an id is beyond its end.

        Cost: one copy, or nothing without changes.
        """
        cdef TokenBytesBuilder builder
        cdef int64_t i, first, last = 0
        cdef list ids = sorted(changes)
        if all([i < self.size and self.get(i) == changes[i] for i in ids]):
            return self
        builder = TokenBytesBuilder()
        for first in ids:
            builder.copy_from(self, <int32_t>last, <int32_t>min(first, self.size))
            while builder.count < first:
                builder.push_absent()
            text = changes[first]
            if text is None:
                builder.push_absent()
            else:
                builder.push(text, len(text))
            last = first + 1
        builder.copy_from(self, <int32_t>min(last, self.size), self.size)
        return builder.finish()

    def same_texts(self, TokenBytes other not None):
        """Return whether every id has the same bytes in both; trailing ids that are not text are ignored."""
        cdef int32_t mine = self.size, others = other.size
        cdef TokenId i
        while mine and self.is_absent(mine - 1):
            mine -= 1
        while others and other.is_absent(others - 1):
            others -= 1
        if mine != others or memcmp(self.start, other.start, 4 * <size_t>(mine + 1)):
            return False
        for i in range(mine):
            if self.is_absent(i) != other.is_absent(i):
                return False
        return memcmp(self.blob, other.blob, self.start[mine]) == 0

    def digest_input(self, without_text):
        """Return the input of a vocabulary's digest: id, length and bytes of each token, by ascending id.

        ``without_text``: one byte per id. Where it is not zero, the length is written as ffffffff, and no
        bytes follow.
        """
        cdef const uint8_t[::1] hidden = without_text
        cdef uint32_t no_text = 0xFFFFFFFF, length
        cdef TokenId i
        cdef size_t size = 0
        cdef uint8_t* out
        for i in range(self.size):
            if hidden[i]:
                size += 8
            elif not self.is_absent(i):
                size += 8 + self.length(i)
        block = PyBytes_FromStringAndSize(NULL, size)
        out = <uint8_t*>PyBytes_AS_STRING(block)
        for i in range(self.size):
            if not hidden[i] and self.is_absent(i):
                continue
            length = no_text if hidden[i] else self.length(i)
            put_word(out, <uint32_t>i)
            put_word(out + 4, length)
            out += 8
            if length != no_text:
                memcpy(out, self.blob + self.start[i], length)
                out += length
        return block

    def single_bytes(self):
        """Return the bytes that are tokens, as an integer with one bit per byte.

        Cost: a pass over all tokens the first time, then cached.
        """
        cdef TokenId i
        cdef uint8_t[256] seen
        if self.known_single is not None:
            return self.known_single
        memset(seen, 0, 256)
        for i in range(self.size):
            if self.length(i) == 1:
                seen[self.blob[self.start[i]]] = 1
        mask = 0
        for i in range(256):
            if seen[i]:
                mask |= (<object>1) << i
        self.known_single = mask
        return mask


cdef inline void put_word(uint8_t* out, uint32_t word) noexcept nogil:
    out[0] = word & 0xFF
    out[1] = (word >> 8) & 0xFF
    out[2] = (word >> 16) & 0xFF
    out[3] = word >> 24


@cython.final
cdef class TokenBytesBuilder:
    """Collects the tokens of a vocabulary by ascending id."""

    def __cinit__(self):
        self.start.push_back(0)

    cdef int close_token(self, bint absent, size_t end) except FAILED nogil:
        """End a token whose bytes are already in ``blob``, up to ``end``."""
        if self.count >= MAX_COUNT:
            raise VocabularyError(f"more than {MAX_COUNT} token ids")
        if end > MAX_BYTES:
            raise VocabularyError(f"the tokens have more than {MAX_BYTES} bytes together")
        if not self.count & 31:
            self.absent.resize(self.absent.size() + 4, 0)
        if absent:
            self.absent[self.count >> 3] |= 1 << (self.count & 7)
        self.start.push_back(<uint32_t>end)
        self.count += 1
        return 0

    cdef int push(self, const uint8_t* data, size_t length) except FAILED nogil:
        self.blob.insert(self.blob.end(), data, data + length)
        return self.close_token(False, self.blob.size())

    cdef int push_absent(self) except FAILED nogil:
        return self.close_token(True, self.blob.size())

    def extend(self, tokens):
        """Add tokens: bytes, or None for ids that are not text.

        Raises: TypeError for anything else.
        """
        for token in tokens:
            if token is None:
                self.push_absent()
            elif PyBytes_CheckExact(token):
                self.push(<const uint8_t*>PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
            else:
                raise TypeError(f"{type(token).__name__}, not bytes")

    def copy_from(self, TokenBytes source not None, int32_t first, int32_t last):
        """Add the ids from ``first`` to before ``last`` of another sequence."""
        cdef TokenId i
        cdef uint32_t shift
        first, last = max(first, 0), min(last, source.size)
        if first >= last:
            return
        shift = <uint32_t>self.blob.size() - source.start[first]
        self.start.reserve(self.start.size() + (last - first))
        self.blob.insert(self.blob.end(), source.blob + source.start[first], source.blob + source.start[last])
        for i in range(first, last):
            self.close_token(source.is_absent(i), source.start[i + 1] + shift)

    def __len__(self):
        """Return the number of tokens so far."""
        return self.count

    def finish(self):
        """Return the sequence of the added tokens."""
        cdef size_t offsets = 4 * self.start.size()
        cdef uint8_t* out
        block = PyBytes_FromStringAndSize(NULL, offsets + self.absent.size() + self.blob.size())
        out = <uint8_t*>PyBytes_AS_STRING(block)
        memcpy(out, self.start.data(), offsets)
        if not self.absent.empty():  # the data of an empty vector may be NULL, which memcpy must not be given
            memcpy(out + offsets, self.absent.data(), self.absent.size())
        if not self.blob.empty():
            memcpy(out + offsets + self.absent.size(), self.blob.data(), self.blob.size())
        return TokenBytes(block, self.count)


def pack(tokens):
    """Return the sequence of the given tokens, by id: bytes, or None.

    Raises: TypeError for other objects; VocabularyError if there are too many, or they are too long in total.
    """
    builder = TokenBytesBuilder()
    builder.extend(tokens)
    return builder.finish()


Sequence.register(TokenBytes)
