"""Helpers for tests: check whether a grammar accepts a text; masks as lists and tensors of bools."""

from stackmask.runtime.compat.xgrammar.testing import (
    _get_masked_tokens_from_bitmask,
    _get_matcher_from_grammar,
    _get_matcher_from_grammar_and_tokenizer_info,
    _is_grammar_accept_string,
    _is_single_token_bitmask,
    _traverse_draft_tree,
    bitmask_to_bool_mask,
    bool_mask_to_bitmask,
)

__all__ = [
    "_get_masked_tokens_from_bitmask",
    "_get_matcher_from_grammar",
    "_get_matcher_from_grammar_and_tokenizer_info",
    "_is_grammar_accept_string",
    "_is_single_token_bitmask",
    "_traverse_draft_tree",
    "bitmask_to_bool_mask",
    "bool_mask_to_bitmask",
]
