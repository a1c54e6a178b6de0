from typing import final

from typing_extensions import Self

@final
class ConfigDraft:
    """The members and returns of a configuration that has no id yet; for Cython.

    Raises: BudgetError where a member is one too many.
    """

    def __new__(cls, max_members: int) -> Self: ...
