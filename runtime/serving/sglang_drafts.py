"""Draft trees in SGLang: the masks of a tree in one native call.

SGLang walks a tree in Python, with one to three calls for each draft, and its backend interface has no other
method for trees. Its registry of hooks lets a plugin wrap functions of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from stackmask.runtime.matching.draft_trees import parents_first
from stackmask.runtime.serving.sglang_backend import StackmaskGrammar, governing

WALK: Final = "sglang.srt.speculative.spec_utils.traverse_tree"


@cache  # once in a process
def fill_trees_natively() -> None:
    """Wrap SGLang's walk through trees, which is unchanged for grammars of other backends."""
    HookRegistry.register(WALK, fill_tree, HookType.AROUND)
    HookRegistry.apply_hooks()


def fill_tree(
    walk: Callable[..., None],
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    draft_tokens: torch.Tensor,
    grammar: Any,
    mask: torch.Tensor,
    vocab_size: int | None = None,
) -> None:
    """Write the masks along a draft tree, whose node 0 is the current state.

    Rows of refused drafts, of later drafts, and after the end of the text are unchanged.
    Shapes: (nodes,) int64, with the first child and the next sibling of each node, or -1; mask (nodes, words) int32.
    """
    ours = governing(grammar)
    if ours is None:
        inner = getattr(grammar, "grammar", None)
        if type(inner) is StackmaskGrammar:  # the thoughts may end within the tree
            inner.is_looking_ahead = True
        try:
            walk(retrieve_next_token, retrieve_next_sibling, draft_tokens, grammar, mask, vocab_size)
        finally:
            if type(inner) is StackmaskGrammar:
                inner.is_looking_ahead = False
        return
    if ours.is_terminated():
        return
    tokens = draft_tokens.tolist()
    order, parents = parents_first(retrieve_next_token.tolist(), retrieve_next_sibling.tolist())
    width = mask.shape[1]
    drafts = [tokens[node] if tokens[node] < (vocab_size or 32 * width) else -1 for node in order[1:]]
    rows = np.zeros((len(order), width), np.int32)
    if not ours.guarded.fill_tree(drafts, parents[1:], rows):
        ours.guarded.fill_stops(mask, 0)
        return
    is_reached = torch.from_numpy(rows.any(axis=1))  # the row of a draft that may not come is empty
    mask[torch.tensor(order)[is_reached]] = torch.from_numpy(rows)[is_reached]
