from typing import final

from typing_extensions import Self

from stackmask.pda.stack.byte_steps import ByteSteps
from stackmask.pda.stack.closure import Closure
from stackmask.pda.stack.configuration_table import ConfigTable

@final
class TokenSteps:
    """Steps by the bytes of whole tokens, and what is remembered of them; for Cython."""

    def __new__(cls, table: ConfigTable, closure: Closure, byte_steps: ByteSteps) -> Self: ...
