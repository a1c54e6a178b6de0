"""The display of matchers in notebooks: whether the text may end, allowed and forced text, and the refusal."""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.notebook import code, table, words
from stackmask.runtime.jump_forward.jump_forward import allowed_ids

SHOWN: Final = 12  # tokens of those that are allowed


def matcher_html(matcher: Any) -> str:
    """Return a matcher as a table for a notebook. Cost: that of a mask, and of forced text."""
    if matcher.is_terminated():
        state = "the text has ended"
    else:
        state = "the text may end here" if matcher.is_accepting() else "more must come"
    rows = [("state", words(state))]
    try:
        if not matcher.is_terminated():
            rows.append(("allowed", _allowed(matcher)))
            forced = matcher.find_jump_forward_string()
            rows.append(("forced", code(forced) if forced else ""))
    except StackmaskError as error:  # a limit of the request, for one
        rows.append(("allowed", words(f"not known: {error}")))
    rows.append(("refused", words(matcher.refusal or "")))
    return table(type(matcher).__name__, rows)


def _allowed(matcher: Any) -> str:
    vocabulary = matcher.compiled.vocabulary
    ids = allowed_ids(matcher, vocabulary.size)
    names = {token: name for name, token in vocabulary.special_names.items()}
    texts = vocabulary.token_bytes
    shown = []
    for token in ids[:SHOWN].tolist():
        spelled = texts[token] if token < len(texts) else None
        named = spelled.decode(errors="backslashreplace") if spelled else f"token {token}"
        shown.append(code(names.get(token, named)))
    more = ", …" if len(ids) > SHOWN else ""
    return words(f"{len(ids):,} of {vocabulary.size:,} tokens: ") + ", ".join(shown) + more
