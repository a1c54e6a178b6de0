from typing import Any

from stackmask.runtime.matching.matcher import Matcher

def explain(matcher: Matcher) -> dict[str, Any]:
    """Return what the next mask of a matcher is made of: see ``pda.masks.explanation.explain_mask``.

    ``configuration``: the members of the configuration, as text.
    """
