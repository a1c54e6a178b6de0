"""Audit mask engines: compare their masks token by token, and show every difference with a text that validators judge.

``cases`` reads languages with texts, ``engines`` gives every engine the same four calls, ``closing`` walks to the end of a text
under an engine's own masks, ``workers`` and ``child`` run engines and judges in processes of their own, ``judges`` says
whether a text is right, ``auditor`` compares, ``run`` keeps the results, ``report`` lays them out as a page.
"""

from __future__ import annotations
