# Calls of the engine that let go of the interpreter's lock when they take long. Hold the lock of the store.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from stackmask.pda.forced.forced_text cimport ForcedRuns
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.stack.configurations cimport ConfigSpace

cdef int fill_released(
    MaskEngine masks, ConfigSpace family, int32_t config, uint32_t* words
) except -1 nogil
cdef int32_t step_token_released(
    ConfigSpace family, int32_t config, int32_t token, const uint8_t* text, size_t length
) except -3 nogil
cdef Py_ssize_t step_bytes_released(
    ConfigSpace family, int32_t* config, const uint8_t* text, Py_ssize_t length
) except -1 nogil
cdef int32_t end_counted_released(ConfigSpace family, int32_t config) except -3 nogil
cdef int32_t step_released(ConfigSpace family, int32_t config, int32_t symbol) except -3 nogil
cdef int32_t union_released(ConfigSpace family, int32_t a, int32_t b) except -3 nogil
cdef int32_t start_released(ConfigSpace family, int32_t state, int32_t frame, int32_t sem) except -3 nogil
cdef tuple expected_released(ConfigSpace family, int32_t config, token_classes)


cdef inline int32_t end_token_released(ConfigSpace family, int32_t config) except -3 nogil:
    """Return the configuration where a token ends whose bytes led to this one."""
    return end_counted_released(family, config) if family.graph.counts else config
