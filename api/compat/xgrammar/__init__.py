"""XGrammar's interface (0.2), implemented by this engine: ``import stackmask.compat.xgrammar as xgr``
replaces ``import xgrammar``.

``docs/migrate/xgrammar.md`` lists the differences. Structural tags as classes need pydantic; bitmasks and the
logits processor need torch.
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
from stackmask.runtime.compat.xgrammar.errors import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from stackmask.runtime.compat.xgrammar.grammar import Grammar
from stackmask.runtime.compat.xgrammar.matcher import BatchGrammarMatcher, GrammarMatcher
from stackmask.runtime.compat.xgrammar.records import (
    get_max_recursion_depth,
    get_serialization_version,
    max_recursion_depth,
    set_max_recursion_depth,
)
from stackmask.runtime.compat.xgrammar.tokenizer_info import TokenizerInfo, VocabType

if TYPE_CHECKING:
    import torch

    from stackmask.compat.xgrammar import (
        contrib,
        exception,
        openai_tool_call_schema,
        structural_tag,
        testing,
    )
    from stackmask.compat.xgrammar.contrib import hf
    from stackmask.compat.xgrammar.structural_tag import StructuralTag, StructuralTagItem
    from stackmask.runtime.compat.xgrammar.model_tags import (
        get_model_structural_tag,
        normalize_tool_choice,
        register_model_structural_tag,
    )

    get_builtin_structural_tag = get_model_structural_tag

    bitmask_dtype: torch.dtype

__version__ = "0.2.8"  # of the XGrammar whose interface this is

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
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "hf",
    "max_recursion_depth",
    "normalize_tool_choice",
    "openai_tool_call_schema",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
]

# names that need pydantic or torch, and their modules; imported on demand
_MODULES = frozenset({"contrib", "exception", "openai_tool_call_schema", "structural_tag", "testing"})
_MODEL_TAGS = {
    "get_builtin_structural_tag": "get_model_structural_tag",
    "get_model_structural_tag": "get_model_structural_tag",
    "normalize_tool_choice": "normalize_tool_choice",
    "register_model_structural_tag": "register_model_structural_tag",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("StructuralTag", "StructuralTagItem"):
        return getattr(importlib.import_module(f"{__name__}.structural_tag"), name)
    if name in _MODEL_TAGS:
        tags = importlib.import_module("stackmask.runtime.compat.xgrammar.model_tags")
        return getattr(tags, _MODEL_TAGS[name])
    if name == "hf":
        return importlib.import_module(f"{__name__}.contrib.hf")
    if name == "bitmask_dtype":
        import torch

        return torch.int32
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
