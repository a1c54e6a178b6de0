from typing import final

@final
class RuleFacts:
    """What is known of the rules of one grammar, by name; made for the lowering alone."""

    def __new__(cls) -> RuleFacts: ...
