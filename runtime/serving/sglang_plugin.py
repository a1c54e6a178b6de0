"""The SGLang plugin: adds ``stackmask`` to ``--grammar-backend`` through SGLang's own registry."""

from __future__ import annotations

import logging
from typing import Any, Final

from stackmask.runtime.serving.versions import ServerVersionError, check_version

NAME: Final = "stackmask"

logger = logging.getLogger("stackmask.serving")


def register() -> None:
    """Register the backend; the entry point of ``sglang.srt.plugins``. Repeated calls change nothing.

    For an unsupported version of SGLang, an error is logged, and the backend is not registered.
    """
    import sglang
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend
    from sglang.srt.server_args import add_grammar_backend_choices

    try:
        check_version("sglang", getattr(sglang, "__version__", ""))
    except ServerVersionError as error:
        logger.error("%s", error)
        return
    add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, make_backend)


def make_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Any:
    """Create the backend of a scheduler; each rank has one.

    SGLang wraps its own backends for reasoning models, but expects plugins to do this themselves.
    """
    from sglang.srt.runtime_context import get_serving

    from stackmask.runtime.serving.sglang_backend import StackmaskBackend

    serving = get_serving()
    algorithm = getattr(server_args, "speculative_algorithm", None)
    if algorithm:
        from stackmask.runtime.serving.sglang_drafts import wrap_trees

        # all ranks need the same trees, but an error may end the drafts of one rank alone
        ranks = getattr(server_args, "tp_size", 1) * getattr(server_args, "pp_size", 1)
        wrap_trees(algorithm.upper() == "NGRAM" and ranks == 1)
    compact = bool(serving.constrained_json_disable_any_whitespace)
    shown = bool(getattr(server_args, "enable_metrics", False))
    backend = StackmaskBackend(tokenizer, vocab_size, eos_token_ids, compact=compact, shows_counts=shown)
    if not serving.reasoning_parser:
        return backend
    from stackmask.runtime.serving.sglang_reasoning import with_reasoning

    return with_reasoning(backend, tokenizer, serving.reasoning_parser, serving.enable_strict_thinking)
