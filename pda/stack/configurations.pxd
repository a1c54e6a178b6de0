# Configurations, closed and stepped. See configurations.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.stack.configuration_table cimport UNKNOWN, Config, ConfigTable, Member, TokenStep, Way
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.stack.frames cimport Edge
from stackmask.pda.terms.term_table cimport CallSite
from stackmask.pda.memory.hash_tables cimport KeyMap, mix


cdef struct CallNode:
    int32_t call
    int32_t guard
    int32_t sem
    int32_t edge        # head of its list in `links`


cdef struct Link:
    Edge edge
    int32_t next


cdef inline size_t step_place(int32_t config, int32_t token) noexcept nogil:
    # where a step of a token is noted
    return <size_t>(mix(<uint32_t>token, <uint32_t>config) >> 16)


cdef class ConfigSpace(ConfigTable):
    cdef uint64_t computed              # steps that were not remembered
    # scratch of one closure
    cdef vector[CallNode] nodes
    cdef vector[Link] links
    cdef vector[Edge] fresh
    cdef uint64_t found_ends
    cdef vector[Way] ways               # of `leap`
    cdef KeyMap node_seen
    cdef KeyMap tail_seen               # node << 32 | frame: edges already taken over by a tail call
    cdef priority_queue[pair[int32_t, int32_t]] queue

    cdef int return_from(self, Member m, int32_t guard) except -3
    cdef int call_from(self, Member m) except -3
    cdef int32_t node_of(self, CallSite site, int32_t sem) except -3
    cdef int pass_test(self, Member m, CallSite site, int32_t test) except -3
    cdef int returns_alive(self, Member m, CallSite site) except -3
    cdef int add_link(self, int32_t node, Edge edge) except -3
    cdef int open_calls(self) except -3
    cdef int complete(self) except -3
    cdef int32_t close(self) except -3
    cdef int32_t closed(self, int32_t state, int32_t frame, int32_t sem) except -3
    cdef int32_t make_row(self, int32_t config) except -3
    cdef int32_t compute_step(self, int32_t config, int32_t symbol) except -3
    cdef int32_t state_of(self, Way way) except -3
    cdef int32_t leap(self, int32_t config, const uint8_t* text, size_t length) except -3
    cdef int32_t step_token(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3
    cdef int32_t step_bytes(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3
    cdef int note_step(self, int32_t config, int32_t token, int32_t next) except -3

    cdef inline int32_t remembered(self, int32_t config, int32_t token) noexcept:
        # the configuration after the token that first went on from here, or one that was noted; else UNKNOWN
        cdef Config* c = &self.configs[config]
        cdef TokenStep* noted
        if c.token == token and not c.token_at:
            return c.after_token
        if self.token_steps.empty():
            return UNKNOWN
        noted = &self.token_steps[step_place(config, token) & (self.token_steps.size() - 1)]
        return noted.next if noted.config == config and noted.token == token else UNKNOWN

    cdef inline int32_t step(self, int32_t config, int32_t symbol) except -3:
        cdef Config* c = &self.configs[config]
        cdef int32_t next
        if c.row >= 0 and symbol < 256:
            next = self.rows[<size_t>c.row + self.terms.maps[c.map].of[symbol]]
            if next != -1:
                return next
        return self.compute_step(config, symbol)
