# The undeclared keys of the object that was asked for last, spelled out. See used_keys.pyx.
from libc.stdint cimport uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.capture_texts cimport CaptureTexts
from stackmask.pda.context.text_sets cimport TextSets
from stackmask.pda.ids cimport TextNodeId


cdef class UsedKeys:
    cdef TextSets sets
    cdef CaptureTexts texts
    cdef TextNodeId spelled_set             # the set that `spelled` lists
    cdef vector[vector[uint8_t]] spelled
    cdef uint64_t generation                # how often the list was begun anew; else it only grows

    cdef int spell(self, TextNodeId used) except -3 nogil
