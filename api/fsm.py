"""The regex-FSM mode: a grammar as a finite automaton with an index of the allowed tokens, built ahead of time.

>>> import stackmask as sm
>>> vocab = sm.Vocabulary([b"a", b"b", b"ab", None], stop_ids=[3])
>>> compiled = sm.fsm.compile(sm.Grammar.from_regex("(ab)+"), vocab)
>>> compiled.stats()["states"]
3
>>> matcher = compiled.matcher()
>>> matcher.accept_token(0), matcher.accept_token(2), matcher.find_jump_forward_string()
(True, False, 'b')

``Compiler(vocab).compile(grammar)`` runs the same grammars on the pushdown engine, with the same matcher
interface.
"""

from __future__ import annotations

from stackmask.runtime.fsm.compiling import DEFAULT_MEMORY, CompiledFsm, compile, load
from stackmask.runtime.fsm.errors import FsmBudgetError, FsmError, FsmFileError
from stackmask.runtime.fsm.matcher import FsmMatcher

__all__ = [
    "DEFAULT_MEMORY",
    "CompiledFsm",
    "FsmBudgetError",
    "FsmError",
    "FsmFileError",
    "FsmMatcher",
    "compile",
    "load",
]
