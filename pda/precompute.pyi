from collections.abc import Sequence

from stackmask.pda.masks import MaskStore

def precompute(masks: MaskStore, rules: Sequence[int], budget: int) -> tuple[int, int, bool]:
    """Make the masks of every reachable local state of the rules, and of every (state, return state) pair.

    Stops after ``budget`` walks. Returns: (states seen, walks done, complete).
    """
