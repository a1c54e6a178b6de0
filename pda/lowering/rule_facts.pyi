from typing import final

@final
class RuleFacts:
    """Facts about the rules of one grammar, by name; used by the lowering only."""

    def __new__(cls) -> RuleFacts: ...
