# Masks named by rows.
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ID_FAILED
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.runtime.matching.matcher cimport fill_released


cdef object name_rows(
    MaskEngine store,
    ConfigSpace family,
    int32_t config,
    const vector[int32_t]& stops,
    Py_ssize_t max_rows,
    Py_ssize_t max_tokens,
)


cdef inline int fill_with_stops(
    MaskEngine store, ConfigSpace family, int32_t config, const vector[int32_t]& stops, uint32_t* words
) except ID_FAILED:
    # write the mask of a configuration, and the stop tokens where the text may end
    cdef size_t i
    fill_released(store, family, config, words)
    if family.configs[config].accepting:
        for i in range(stops.size()):
            words[stops[i] >> 5] |= <uint32_t>1 << (stops[i] & 31)
    return 0
