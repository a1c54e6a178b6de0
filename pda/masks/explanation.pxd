# Why a mask is what it is, and what it cost. See explanation.pyx.
from libc.stdint cimport int32_t

from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.stack.configurations cimport ConfigSpace


cpdef dict explain_mask(MaskEngine engine, ConfigSpace family, int32_t config)
cpdef list dump_configuration(ConfigSpace family, int32_t config)
