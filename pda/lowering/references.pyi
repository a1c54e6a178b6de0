from typing import Any

from typing_extensions import Self

from stackmask.pda.lowering.entry import Tables

class RuleScan:
    """What the rules of one grammar refer to; made for the lowering alone."""

    def __new__(cls, tables: Tables) -> Self: ...
    @property
    def numbers(self) -> dict[Any, int]:
        """The numbers of the rules, by name."""

    @property
    def token_classes(self) -> dict[tuple[int, ...], int]:
        """The sets of special tokens that the grammar has, and their numbers."""

    @property
    def stacked(self) -> bool:
        """Whether it uses the built-in stack of texts."""

class KnownRules:
    """What lowering found out about rules, by their bodies: see ``Lowering.remember``."""

    def __len__(self) -> int: ...
