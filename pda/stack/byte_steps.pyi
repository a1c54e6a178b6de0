from typing import final

from typing_extensions import Self

from stackmask.pda.stack.closure import Closure
from stackmask.pda.stack.configuration_table import ConfigTable

@final
class ByteSteps:
    """Compute steps by bytes, and remember them in transition rows; for Cython."""

    def __new__(cls, table: ConfigTable, closure: Closure) -> Self: ...
