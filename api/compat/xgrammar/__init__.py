"""XGrammar's interface (0.2) over this engine: ``import stackmask.compat.xgrammar as xgr`` in place of ``import xgrammar``.

``docs/migrate/xgrammar.md`` says what differs. Structural tags as classes need pydantic, bitmasks and the logits processor torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stackmask.runtime.compat.xgrammar.bitmasks import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from stackmask.runtime.compat.xgrammar.compiler import CompiledGrammar, GrammarCompiler
from stackmask.runtime.compat.xgrammar.config import (
    get_max_recursion_depth,
    max_recursion_depth,
    set_max_recursion_depth,
)
from stackmask.runtime.compat.xgrammar.errors import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from stackmask.runtime.compat.xgrammar.grammar import Grammar
from stackmask.runtime.compat.xgrammar.matcher import BatchGrammarMatcher, GrammarMatcher
from stackmask.runtime.compat.xgrammar.records import get_serialization_version
from stackmask.runtime.compat.xgrammar.tokenizer_info import TokenizerInfo, VocabType

if TYPE_CHECKING:
    import torch

    from stackmask.compat.xgrammar import contrib, exception, structural_tag
    from stackmask.compat.xgrammar.structural_tag import StructuralTag, StructuralTagItem

    bitmask_dtype: torch.dtype

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "contrib",
    "exception",
    "get_bitmask_shape",
    "get_max_recursion_depth",
    "get_serialization_version",
    "max_recursion_depth",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
]


def __getattr__(name: str) -> Any:
    if name in ("contrib", "exception", "structural_tag"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("StructuralTag", "StructuralTagItem"):
        return getattr(importlib.import_module(f"{__name__}.structural_tag"), name)
    if name == "hf":
        return importlib.import_module(f"{__name__}.contrib.hf")
    if name == "bitmask_dtype":
        import torch

        return torch.int32
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
