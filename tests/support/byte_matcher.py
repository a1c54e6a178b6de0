"""Ask a grammar about whole strings: a matcher over the 256 single bytes."""

from __future__ import annotations

import stackmask as sm

VOCABULARY = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
_COMPILER = sm.Compiler(VOCABULARY)


class ByteMatcher:
    """Tells which byte strings are in the language of a grammar; one without any text holds none."""

    def __init__(self, grammar: sm.Grammar) -> None:
        self.matcher: sm.Matcher | None
        try:
            self.matcher = _COMPILER.compile(grammar).matcher()
        except sm.GrammarError as error:
            if "G103" not in {diagnostic.code for diagnostic in error.diagnostics}:
                raise
            self.matcher = None

    def matches(self, text: str | bytes) -> bool:
        """Tell whether the whole text is in the language."""
        if self.matcher is None:
            return False
        self.matcher.reset()
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return (not data or self.matcher.accept_string(data)) and self.matcher.is_accepting()
