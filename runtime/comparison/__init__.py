"""Compare engines: their figures on one language, or their masks token by token, with texts that validators judge.

``subject`` is a language, ``tokenizer`` the vocabulary and the text; ``engines`` gives every engine the same calls.
``stackmask compare``: ``measuring`` follows the text in a process per engine, ``result`` puts the answers side by side.
``stackmask audit``: ``cases`` reads languages with texts, ``audited`` adds engines of one's own, ``closing`` walks to the
end of a text under an engine's own masks, ``workers`` are engines and judges in processes of their own, ``judges`` says
whether a text is right, ``auditor`` compares, ``audit`` keeps the results, ``report`` lays them out as a page.
"""

from __future__ import annotations

from stackmask.runtime.comparison.measuring import Limits
from stackmask.runtime.comparison.result import Comparison, compare
from stackmask.runtime.comparison.subject import ComparisonError, Subject, read_subject

__all__ = ["Comparison", "ComparisonError", "Limits", "Subject", "compare", "read_subject"]
