"""The logits processor for ``model.generate`` of transformers."""

from stackmask.runtime.compat.xgrammar.processor import LogitsProcessor

__all__ = ["LogitsProcessor"]
