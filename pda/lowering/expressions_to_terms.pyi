from typing import final

from stackmask.pda.lowering.entry import Tables
from stackmask.pda.lowering.rule_facts import RuleFacts

TEST_KINDS: tuple[str, ...]

@final
class TermMaker:
    """Makes the terms of the expressions of one grammar; made for the lowering alone."""

    def __new__(cls, tables: Tables, rules: RuleFacts) -> TermMaker: ...
