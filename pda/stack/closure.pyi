from typing import final

from typing_extensions import Self

from stackmask.pda.stack.configuration_table import ConfigTable
from stackmask.pda.stack.frames import FrameGraph

@final
class Closure:
    """Close the members of its draft, over the frames and configurations of one space; for Cython.

    Raises: BudgetError where a limit is met.
    """

    def __new__(cls, graph: FrameGraph, table: ConfigTable, max_members: int) -> Self: ...
