from typing import Any

from stackmask.pda.masks.engine import MaskEngine
from stackmask.pda.stack.configurations import ConfigSpace

def explain_mask(engine: MaskEngine, family: ConfigSpace, config: int) -> dict[str, Any]:
    """Return the operands of a mask, what is left to trials, and what making all of it cost."""

def dump_configuration(family: ConfigSpace, config: int) -> list[str]:
    """Return the members of a configuration as text, sorted: the local state, then its return states."""
