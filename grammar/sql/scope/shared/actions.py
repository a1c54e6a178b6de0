"""What an action of a place is, and how it is entered for the rules that it belongs to.

An action maps the state and the text that was read to the state after it, or to None where the text may not end
like this. It then can always go on another way: an expression with an operator, a name with a letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias

Action: TypeAlias = Callable[[Any, bytes], Hashable | None]  # of a Query, and to one
Places: TypeAlias = dict[str, Action]
KEPT: Final = (
    200  # bytes of an expression, without the names in it, that tell whether it is a name or a number
)
# what is left of an expression that is a name, which has had an action of its own
NAMED: Final = re.compile(r"[(\s]*\.?[)\s]*(?:collate\s*\w+[)\s]*)*(?:as\s*)?", re.IGNORECASE)


def entering(places: Places) -> Callable[..., Callable[[Action], Action]]:
    """Return the decorator that enters an action into ``places`` for the rules that it names."""

    def place(*names: str) -> Callable[[Action], Action]:
        def enter(action: Action) -> Action:
            for name in names:
                places[name] = action
            return action

        return enter

    return place
