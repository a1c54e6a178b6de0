"""Compare engines on one language: the pushdown engine, the finite-state mode, and other libraries that are installed.

``subject`` tells what is compared, ``tokenizer`` with which vocabulary, ``texts`` along which text; ``engines`` and ``peers``
give every engine the same face, ``measuring`` follows the text in a process per engine, ``result`` puts the answers
side by side, ``plot`` draws them.
"""

from __future__ import annotations

from stackmask.runtime.comparison.measuring import Limits
from stackmask.runtime.comparison.result import Comparison, compare
from stackmask.runtime.comparison.subject import ComparisonError, Subject, read_subject

__all__ = ["Comparison", "ComparisonError", "Limits", "Subject", "compare", "read_subject"]
