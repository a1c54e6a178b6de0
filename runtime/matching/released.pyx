# distutils: language = c++
"""Calls of the engine that let go of the interpreter's lock when they take long.

A call begins with the interpreter's lock, since to let go of it and to take it again costs more than most
calls. The meter of the store lets go of it after about 200 microseconds of work: to take it
again may need 5 milliseconds where other threads run Python. Callers hold the lock of the
store, and change nothing of a matcher before the call is over.
"""

from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.terms.term_table cimport TOKENS

from stackmask.runtime.matching.mask_buffer import MatcherError


cdef int fill_released(
    MaskEngine masks, ConfigSpace family, int32_t config, uint32_t* words
) except -1 nogil:
    """Write the mask of a configuration. See ``MaskEngine.fill``."""
    family.terms.meter.let_release()
    try:
        masks.fill(family, config, words)
    finally:
        family.terms.meter.reclaim()
    return 0


cdef int32_t step_token_released(
    ConfigSpace family, int32_t config, int32_t token, const uint8_t* text, size_t length
) except -3 nogil:
    """Return the configuration after a token, or DEAD."""
    family.terms.meter.let_release()
    try:
        return family.step_token(config, token, text, length)
    finally:
        family.terms.meter.reclaim()


cdef int refuse_string() except -1 with gil:
    """Refuse text that has no tokens, where they are counted."""
    raise MatcherError(
        "the text may be part of one whose tokens are counted (`max_tokens`), and a string has none: "
        "give token ids to accept_token there"
    )


cdef Py_ssize_t step_bytes_released(
    ConfigSpace family, int32_t* config, const uint8_t* text, Py_ssize_t length
) except -1 nogil:
    """Step by a text as far as it is allowed. Return how many bytes that is.

    Raises: MatcherError where the next byte may be one of a text whose tokens are counted.
    """
    cdef int32_t next
    cdef Py_ssize_t taken = 0
    family.terms.meter.let_release()
    try:
        while taken < length:
            if family.counts_tokens(config[0]):
                refuse_string()
            next = family.step(config[0], text[taken])
            if next == DEAD:
                break
            config[0] = next
            taken += 1
    finally:
        family.terms.meter.reclaim()
    return taken


cdef int32_t end_counted_released(ConfigSpace family, int32_t config) except -3 nogil:
    """Do what ``end_token_released`` does where tokens are counted."""
    family.terms.meter.let_release()
    try:
        return family.end_token(config)
    finally:
        family.terms.meter.reclaim()


cdef int32_t step_released(ConfigSpace family, int32_t config, int32_t symbol) except -3 nogil:
    """Return the configuration after a byte or a class of special tokens, or DEAD."""
    family.terms.meter.let_release()
    try:
        return family.step(config, symbol)
    finally:
        family.terms.meter.reclaim()


cdef int32_t union_released(ConfigSpace family, int32_t a, int32_t b) except -3 nogil:
    """Return the configuration that is either of two."""
    family.terms.meter.let_release()
    try:
        return family.union_of(a, b)
    finally:
        family.terms.meter.reclaim()


cdef int32_t start_released(ConfigSpace family, int32_t state, int32_t frame, int32_t sem) except -3 nogil:
    """Return the configuration of a local state before the first byte."""
    family.terms.meter.let_release()
    try:
        return family.closed(state, frame, sem)
    finally:
        family.terms.meter.reclaim()


cdef tuple expected_released(ConfigSpace family, int32_t config, token_classes):
    """Return (bytes, token ids, whether the text may end) for what may come next at a configuration.

    ``token_classes``: the special tokens of the grammar, {ids: number of the class}.
    """
    cdef int byte
    cdef int32_t k
    allowed = set()
    tokens = set()
    for byte in range(TOKENS):
        if step_released(family, config, byte) != DEAD:
            allowed.add(byte)
    for ids, k in token_classes.items():
        if step_released(family, config, TOKENS + k) != DEAD:
            tokens.update(ids)
    return allowed, tokens, bool(family.configs[config].accepting)
