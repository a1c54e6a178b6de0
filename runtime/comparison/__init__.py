"""Compare engines: figures on one language, or masks token by token, with texts that validators judge.

``subject`` is a language, ``tokenizer`` the vocabulary and the text; ``engines`` is the common interface of
engines. ``stackmask compare``: ``measuring`` follows the text in one process per engine, ``result`` compares
the answers. ``stackmask audit``: ``cases`` reads languages with texts, ``audited`` adds custom engines,
``closing`` walks to the end of a text under an engine's own masks, ``workers`` run engines and judges in
separate processes, ``judges`` decide whether a text is valid, ``auditor`` compares, ``audit`` stores the
results, ``report`` renders them as a page.
"""

from __future__ import annotations

from stackmask.runtime.comparison.measuring import Limits
from stackmask.runtime.comparison.result import Comparison, compare
from stackmask.runtime.comparison.subject import ComparisonError, Subject, read_subject

__all__ = ["Comparison", "ComparisonError", "Limits", "Subject", "compare", "read_subject"]
