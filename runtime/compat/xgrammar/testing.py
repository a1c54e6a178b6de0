"""The functions of ``xgrammar.testing`` on texts and masks; those on rules and automata have no counterpart."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar.source.options import ArgumentError
from stackmask.runtime.compat.xgrammar.bitmasks import BITS
from stackmask.runtime.compat.xgrammar.compiler import GrammarCompiler
from stackmask.runtime.compat.xgrammar.grammar import Grammar
from stackmask.runtime.compat.xgrammar.matcher import GrammarMatcher
from stackmask.runtime.compat.xgrammar.tokenizer_info import TokenizerInfo
from stackmask.runtime.extras import require

if TYPE_CHECKING:
    import torch

BYTES: Final = [bytes([byte]) for byte in range(256)]


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Grammar | str, tokenizer_info: TokenizerInfo | None = None, **kwargs: Any
) -> GrammarMatcher:
    """Return a matcher of a grammar, or of EBNF text; ``kwargs`` go to ``GrammarMatcher``. The default
    vocabulary is the bytes.
    """
    info = TokenizerInfo(BYTES) if tokenizer_info is None else tokenizer_info
    compiler = GrammarCompiler(info, cache_enabled=False)
    return GrammarMatcher(compiler.compile_grammar(grammar), **kwargs)


def _get_matcher_from_grammar(grammar: Grammar | str, **kwargs: Any) -> GrammarMatcher:
    """Return a matcher for texts, which is terminated if the grammar may end."""
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, terminate_without_stop_token=True, **kwargs)


def _is_grammar_accept_string(
    grammar: Grammar | str,
    input_str: str,
    *,
    debug_print: bool = False,
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Return whether a grammar accepts a whole text, or without ``require_termination`` a prefix."""
    matcher = _get_matcher_from_grammar(grammar)
    start = time.monotonic_ns()
    accepted = matcher.accept_string(input_str, debug_print=debug_print)
    if print_time:
        took = (time.monotonic_ns() - start) / 1e3
        print(f"Accepting {input_str}, result: {accepted}, time: {took} us")
    return accepted and (not require_termination or matcher.is_terminated())


def bitmask_to_bool_mask(bit_mask: torch.Tensor, vocab_size: int | None = None) -> torch.Tensor:
    """Return a bitmask as a tensor of bools, True for allowed tokens.

    Shapes: (batch, ceil(vocab_size / 32)) int32 on the CPU to (batch, vocab_size).
    Raises: ValueError for another device or type, or a mask with fewer tokens.
    """
    with require("hf"):
        import torch
    width = bit_mask.shape[1] * BITS
    size = width if vocab_size is None else vocab_size
    if bit_mask.device.type != "cpu" or bit_mask.dtype != torch.int32:
        raise ArgumentError(f"a bitmask is int32 on the CPU, not {bit_mask.dtype} on {bit_mask.device.type}")
    if size > width:
        raise ArgumentError(f"the bitmask covers {width} tokens, fewer than vocab_size, {size}")
    bits = bit_mask.unsqueeze(-1) >> torch.arange(BITS, dtype=torch.int32) & 1
    return bits.reshape(bit_mask.shape[0], width)[:, :size].bool()


def bool_mask_to_bitmask(bool_mask: torch.Tensor) -> torch.Tensor:
    """Return a tensor of bools, True for allowed tokens, as a bitmask; bits past the last token are 1.

    Shapes: (batch, vocab) to (batch, ceil(vocab / 32)) int32.
    """
    with require("hf"):
        import torch
    padded = torch.nn.functional.pad(bool_mask.to(torch.int64), (0, -bool_mask.shape[1] % BITS), value=1)
    words = padded.view(bool_mask.shape[0], -1, BITS) << torch.arange(BITS, device=bool_mask.device)
    return words.sum(dim=2).to(torch.int32)


def _get_masked_tokens_from_bitmask(bitmask: torch.Tensor, vocab_size: int, index: int = 0) -> list[int]:
    """Return the ids of the forbidden tokens of a row. Raises: ValueError, as ``bitmask_to_bool_mask``."""
    found: list[int] = (~bitmask_to_bool_mask(bitmask, vocab_size)[index]).nonzero().flatten().tolist()
    return found


def _is_single_token_bitmask(bitmask: torch.Tensor, vocab_size: int, index: int = 0) -> tuple[bool, int]:
    """Return whether a row allows only one token, and its id, else -1. Raises: ValueError, as
    ``bitmask_to_bool_mask``.
    """
    allowed = bitmask_to_bool_mask(bitmask, vocab_size)[index].nonzero().flatten().tolist()
    return (True, allowed[0]) if len(allowed) == 1 else (False, -1)


def _traverse_draft_tree(
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    draft_tokens: torch.Tensor,
    matcher: GrammarMatcher,
    allocate_token_bitmask: torch.Tensor,
    time_threshold: float = -1.0,
) -> bool:
    """Call ``matcher.traverse_draft_tree``, of which this is the older interface."""
    return matcher.traverse_draft_tree(
        retrieve_next_token,
        retrieve_next_sibling,
        draft_tokens,
        allocate_token_bitmask,
        time_threshold,
    )
