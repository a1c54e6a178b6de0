"""Trees of draft tokens in the format of servers and XGrammar: the first child and the next sibling of each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stackmask.runtime.matching.mask_buffer import MatcherError


def parents_and_mask(count: int, parents: Any, mask: Any) -> tuple[Sequence[int], Any]:
    """Return the parents of draft tokens and the mask, which is the second argument for a chain.

    Raises: MatcherError if a token has no parent.
    """
    if parents is None or mask is None:
        parents, mask = range(-1, count - 1), mask if parents is None else parents
    if len(parents) != count:
        raise MatcherError(f"{count} draft tokens, but {len(parents)} parents")
    return parents, mask


def parents_first(children: list[int], siblings: list[int]) -> tuple[list[int], list[int]]:
    """Return the nodes that node 0 reaches, each with the index of its parent's draft token.

    Node 0 has the index -1, as in ``Matcher.fill_draft_bitmask``. Raises: MatcherError for a number that is
    not a node, or a node that is reached twice.
    """
    order, parents = [0], [-1]
    seen = {0}
    at = 0
    while at < len(order):
        child = children[order[at]] if children else -1
        while child != -1:
            if not 0 <= child < len(children) or child in seen:
                raise MatcherError(f"node {child} is reached twice, or does not exist")
            seen.add(child)
            order.append(child)
            parents.append(at - 1)
            child = siblings[child]
        at += 1
    return order, parents
