"""Draft trees in SGLang: the masks of a tree in one native call, and trees with drafts by the grammar.

SGLang walks a tree in Python, with one to three calls for each draft, and its backend interface has no other
method for trees. Its registry of hooks lets a plugin wrap functions of the server.

Its algorithm NGRAM looks drafts up on the host, in the texts of all requests, after the grammars have accepted the
tokens of the last step. There, drafts by the grammar replace those that are right less often. All trees have the same
size, and all their tokens are read: an unlikely draft costs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from stackmask.runtime.matching.draft_trees import parents_first
from stackmask.runtime.serving.follower import end_drafts
from stackmask.runtime.serving.sglang_backend import StackmaskGrammar, governing

WALK: Final = "sglang.srt.speculative.spec_utils.traverse_tree"
LEARNED: Final = 1 / 16  # how much of the tokens that came of drafts, by source, the last ones decide
LOOK_UP: Final = "sglang.srt.speculative.ngram_worker.NGRAMWorker._prepare_draft_tokens"


@cache  # once in a process
def wrap_trees(drafts: bool) -> None:
    """Wrap SGLang's walk through trees, and what makes those of NGRAM; both are unchanged for grammars of other backends."""
    HookRegistry.register(WALK, fill_tree, HookType.AROUND)
    if drafts:
        HookRegistry.register(LOOK_UP, draft_trees, HookType.AROUND)
    HookRegistry.apply_hooks()


def draft_trees(look_up: Callable[..., Any], worker: Any, batch: Any) -> tuple[Any, Any]:
    """Return the draft trees of a step; those of requests with a grammar may be chains with drafts by it.

    Returns: tokens (requests * nodes,), and (requests * nodes * nodes,): whether a node is an ancestor of another, or
    itself. An error ends the drafts of its request.
    """
    tokens, ancestors = look_up(worker, batch)
    nodes = worker.draft_token_num
    trees = zip(batch.reqs, tokens.reshape(-1, nodes), ancestors.reshape(-1, nodes, nodes), strict=True)
    for request, of_request, above in trees:
        ours = governing(request.grammar)
        if ours is None or not ours.is_drafted or ours.is_terminated():
            continue
        try:
            _draft_tree(ours, request, of_request, above)
        except Exception as error:  # noqa: BLE001 - the output does not depend on it
            end_drafts(request.rid, error, ours.counts.metrics)
            ours.is_drafted = False
    return tokens, ancestors


def _draft_tree(ours: StackmaskGrammar, request: Any, tokens: Any, ancestors: Any) -> None:
    """Replace a tree by a chain with the draft by the grammar, unless trees of n-grams were right more often of late.

    Nodes after the draft are connected to none, and so never accepted: samplers require that siblings differ.
    """
    rates, begin = ours.counts.of_trees, len(request.output_ids) - ours.guarded.matcher.accept_calls
    draft = ours.draft(request, begin, len(tokens) - 1)
    if ours.rival is not None and ours.follower is not None:
        came = request.output_ids[begin + ours.drafted_at :].tolist()
        for source, right in enumerate((ours.follower.right, tokens_of(ours.rival, came))):
            rates[source] += LEARNED * (right - rates[source])
    ours.rival, ours.drafted_at = None, ours.guarded.matcher.accept_calls
    if draft:
        ours.rival = tokens.copy(), ancestors.copy()
        if rates[0] >= rates[1]:
            end = len(draft) + 1
            tokens[1:] = 0
            tokens[1:end] = draft
            ancestors[:] = np.eye(len(tokens))
            ancestors[:end, :end] = np.tri(end)


def tokens_of(tree: tuple[Any, Any], came: list[int]) -> int:
    """Return how many of the tokens that came a draft tree has, from its root on."""
    tokens, ancestors = tree[0].tolist(), tree[1].tolist()
    node = depth = 0
    for token in came:
        for child in range(node + 1, len(tokens)):
            if tokens[child] == token and ancestors[child][node] and sum(ancestors[child]) == depth + 2:
                break
        else:
            break
        node, depth = child, depth + 1
    return depth


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

    Rows of refused drafts, of those after them, and after the end of the text are unchanged.
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
