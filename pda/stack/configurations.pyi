from typing import final

from stackmask.pda.stack.configuration_table import ConfigTable

@final
class ConfigSpace(ConfigTable):
    """Frames and configurations of one family of matchers, or of the mask walks of one store.

    Raises: BudgetError where a limit is met.
    """

    def is_live(self, state: int, sem: int) -> bool:
        """Tell whether the text that starts in ``state`` can be completed."""
