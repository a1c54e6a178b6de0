from typing import final

from stackmask.pda.lowering.entry import Tables
from stackmask.pda.lowering.expressions_to_terms import TermMaker
from stackmask.pda.lowering.rule_facts import RuleFacts

ALL_BYTES: int

@final
class RuleScan:
    """References between the rules of one grammar; used by the lowering only."""

    def __new__(cls, tables: Tables, rules: RuleFacts, maker: TermMaker) -> RuleScan: ...

@final
class KnownRules:
    """What lowering found out about rules, by their bodies: see ``RuleScan.remember``."""

    def __len__(self) -> int: ...
