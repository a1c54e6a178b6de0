"""Free text, and grammars between markers."""

from __future__ import annotations

from collections.abc import Iterable

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.options import explains_options
from stackmask.grammar.turns.formats.fields import MAX_COUNT


@explains_options({"stop": "`excludes`", "exclude": "`excludes`"})
def text(
    *, excludes: Iterable[str] = (), max_chars: int | None = None, max_tokens: int | None = None
) -> Grammar:
    """Return the grammar of any text that contains none of the ``excludes``, of at most ``max_chars`` characters.

    Between markers (``tag``) the text ends at the first end marker. Special tokens are never part of a text.
    ``max_tokens``: the maximum number of tokens. A token counts if it contains a byte of the text, even if it
    begins before the text or ends after it. If the last one ends inside a character, further tokens may
    complete it. Only ``accept_token`` counts tokens: inside such a text, ``accept_string`` is refused.
    Raises: StackmaskError for invalid arguments.
    """
    if isinstance(excludes, str) or not isinstance(excludes, Iterable):
        raise StackmaskError(f"`excludes` is a list of strings, not {type(excludes).__name__}")
    for name, count in (("max_chars", max_chars), ("max_tokens", max_tokens)):
        is_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_COUNT
        if count is not None and not is_count:
            raise StackmaskError(f"`{name}` is a whole number from 0 to {MAX_COUNT:,}, not {count!r:.60}")
    free = {"type": "any_text", "excludes": list(excludes), "max_chars": max_chars, "max_tokens": max_tokens}
    grammar = Grammar.from_structural_tag({"type": "structural_tag", "format": free})
    grammar._free_text = free
    return grammar


def tag(begin: str, content: Grammar, end: str | Iterable[str]) -> Grammar:
    """Return the grammar of ``content`` between ``begin`` and ``end``, where several ends may be given.

    When the grammar is compiled, markers that are special tokens of the vocabulary become these tokens. Free
    text (``text``) ends at the first end marker. Raises: StackmaskError for invalid arguments; as ``union``.
    """
    ends = [end] if isinstance(end, str) else list(end) if isinstance(end, Iterable) else []
    if not isinstance(begin, str) or not ends or not all(isinstance(each, str) for each in ends):
        raise StackmaskError("`begin` and `end` are strings, or `end` a list of them")
    if not isinstance(content, Grammar):
        raise StackmaskError(f"`content` is a Grammar, not {type(content).__name__}")
    if content._free_text is not None:  # mutant: free-text
        shape = {"type": "tag", "begin": begin, "content": content._free_text, "end": ends}
        return Grammar.from_structural_tag({"type": "structural_tag", "format": shape})
    from stackmask.grammar.turns.formats.frontend import tag_rules

    def read(names: frozenset[str]) -> Grammar:
        inner = content.for_vocabulary(names) if names else content
        return Grammar._merged(tag_rules(begin, inner.normalize(), ends, names))

    return Grammar._read(content.limits, lambda: Grammar._with_markers(read))
