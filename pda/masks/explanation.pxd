# Why a mask is what it is, and what it cost. See explanation.pyx.
from libc.stdint cimport int32_t

from stackmask.pda.ids cimport ConfigId
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.stack.configurations cimport ConfigSpace


cpdef dict explain_mask(MaskEngine engine, ConfigSpace family, ConfigId config)
cpdef list dump_configuration(ConfigSpace family, ConfigId config)
