# What C functions return after an exception.
cdef enum:
    FAILED = -1                     # a status, a flag or a number
    ID_FAILED = -3                  # an id or a number, which may be -1 or -2 without an exception
