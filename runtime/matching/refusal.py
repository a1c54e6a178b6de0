"""Explain in words why a token or a text was refused, and what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostics import Diagnostic, render_one
from stackmask.grammar.whole_strings import wider

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar
    from stackmask.grammar.ir import RuleSet
    from stackmask.pda.store import TokenInfo
    from stackmask.pda.vocabulary.token_bytes import TokenBytes
    from stackmask.runtime.matching.compiler import CompiledGrammar

_SHOWN = 12  # pieces of an expectation that are spelled out
_SHOWN_BYTES = 40  # of the end of a text


def describe_refusal(
    what: int | bytes,
    position: int,
    terminated: bool,
    info: TokenInfo,
    expected: set[int],
    tokens: set[int],
    may_end: bool,
    inside: str = "",
) -> str:
    """Return a sentence with the refused text, the allowed continuations, and the enclosing rules."""
    if isinstance(what, bytes):
        head = f"text refused at byte {position}: {_show(what[position : position + 1]) if position < len(what) else 'the end'}"
    elif not 0 <= what < info.size:
        return f"token {what} is out of range: the vocabulary has {info.size} ids"
    else:
        text = info.texts[what] if what < len(info.texts) else None
        name = next((n for n, i in info.names.items() if i == what), None)
        spelled = name or (_show(text) if text else "no text")
        head = f"token {what} ({spelled}) refused"
    if terminated:
        return f"{head}: the text has ended with a stop token"
    return f"{head}; expected {describe_expectation(expected, tokens, may_end, info)}{inside}"


def describe_wrong_origin(origin: object) -> str:
    """Return an explanation for an attempt to create a matcher from something other than a compiled grammar."""
    kind = type(origin).__name__
    return f"a matcher is of a CompiledGrammar, not {kind}: write Compiler(vocabulary).compile(grammar).matcher()"


def describe_matcher(matcher: Any, symbols: list[int | bytes], texts: TokenBytes) -> str:
    """Return a one-line description of a matcher: its accept calls, the end of its text, and whether the text
    is complete.
    """
    parts: list[bytes] = []
    size = 0
    for symbol in reversed(symbols):
        if not isinstance(symbol, bytes):
            symbol = (texts[symbol] if symbol < len(texts) else None) or b"<token %d>" % symbol
        parts.append(symbol)
        size += len(symbol)
        if size > _SHOWN_BYTES:
            break
    end = b"".join(reversed(parts))
    text = end[-_SHOWN_BYTES:].decode("utf-8", "replace")
    cut = "…" if size > _SHOWN_BYTES or len(parts) < len(symbols) else ""
    stopped = matcher.is_terminated()
    state = "stopped" if stopped else "complete" if matcher.is_accepting() else "not complete"
    calls = "1 accept call" if len(symbols) == 1 else f"{len(symbols)} accept calls"
    return f"<{type(matcher).__name__}: {calls}, text {cut}{text!r}, {state}>"


def describe_place(rules: RuleSet, symbols: list[int | bytes], info: TokenInfo) -> str:
    """Return ", inside …" with the names of the enclosing rules; empty if they cannot be determined.

    ``symbols``: token ids and text, as from ``TokenHistory.symbols``.
    """
    from stackmask.grammar.rule_paths import MAX_STEPS, rule_path, shown_path

    if len(symbols) > MAX_STEPS:
        return ""
    names = rule_path(rules, _as_text(symbols, info))
    return f", inside {shown_path(names)}" if names else ""


def describe_wider(grammar: Grammar, symbols: list[int | bytes], info: TokenInfo) -> str:
    """Return "; …" with the schema options that accept the text, if its grammar does not; otherwise empty.

    ``symbols``: the accepted and the refused symbols, as for ``describe_place``.
    """
    if grammar._asked is None:
        return ""
    read = _as_text(symbols, info)
    pieces = [piece for piece in read if isinstance(piece, bytes)]
    why = wider(grammar, b"".join(pieces), whole=False) if len(pieces) == len(read) else ""
    return f"; {why}" if why else ""


def _as_text(symbols: list[int | bytes], info: TokenInfo) -> list[int | bytes]:
    """Return the bytes of the tokens that have text."""
    read: list[int | bytes] = []
    for symbol in symbols:
        text = (
            symbol if isinstance(symbol, bytes) else info.texts[symbol] if symbol < len(info.texts) else None
        )
        read.append(symbol if text is None else text)
    if info.strip_first_space and read and isinstance(read[0], bytes):
        read[0] = read[0].removeprefix(b" ")
    return read


def describe_expectation(expected: set[int], tokens: set[int], may_end: bool, info: TokenInfo) -> str:
    """Describe what may come next: single characters, ranges, whitespace, special tokens, the end."""
    parts = [part for low, high in sorted(_runs(expected), key=_rank) for part in _range(low, high)]
    names = {i: n for n, i in info.names.items()}
    parts += [names.get(i, f"token {i}") for i in sorted(tokens)]
    parts = list(dict.fromkeys(parts))  # several runs of bytes are "a non-ASCII character"
    if len(parts) > _SHOWN:
        parts = [*parts[:_SHOWN], f"{len(parts) - _SHOWN} more"]
    if may_end:
        parts.append("the end of the text")
    if not parts:
        return "nothing"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


def _runs(members: set[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for b in sorted(members):
        # ASCII and the rest are never one run: they read differently
        if runs and runs[-1][1] == b - 1 and b != 0x80:
            runs[-1] = (runs[-1][0], b)
        else:
            runs.append((b, b))
    return runs


def _rank(run: tuple[int, int]) -> int:
    """Return the sort key of a run: first a grammar's literals, then classes of characters, then whitespace."""
    low, high = run
    return 2 if high <= 0x20 else 1 if high - low > 1 or low >= 0x80 else 0


def _range(low: int, high: int) -> list[str]:
    if low >= 0x80:
        return ["a non-ASCII character" if high > low else f"byte 0x{low:02X}"]
    if high - low < 2:
        return [_show(bytes([b])) for b in range(low, high + 1)]
    return [f"{_show(bytes([low]))}–{_show(bytes([high]))}"]


def _show(text: bytes) -> str:
    return repr(text.decode(errors="backslashreplace"))


# -- Whole texts: whether a grammar takes them, and where it does not ---------------------------------------

CHUNK: Final = 1 << 16  # bytes that are tried at once before looking closer


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a grammar on a text: accepted, or refused at a byte (the length, if the text is incomplete)."""

    accepted: bool
    position: int
    expected: str


def judge(compiled: CompiledGrammar, data: bytes) -> Verdict:
    """Run a text through the grammar. Cost: linear; a refusal takes a few more attempts to find the byte."""
    matcher = compiled.matcher()
    position, size = 0, CHUNK
    while position < len(data):
        part = data[position : position + size]
        if matcher.accept_string(part):
            position += len(part)
        elif len(part) == 1:
            break
        else:
            size = len(part) // 2
    if position == len(data) and matcher.is_accepting():  # mutant: early-end
        return Verdict(True, position, "")
    expected = describe_expectation(*matcher.expected(), compiled._automaton.store.info)
    expected += compiled._rules_around([data[:position]])
    return Verdict(False, position, expected)


def explain(verdict: Verdict, data: bytes, name: str) -> str:
    """Render a refusal: the place in the text, a caret, the expected text."""
    position = verdict.position
    while 0 < position < len(data) and data[position] & 0xC0 == 0x80 and position > verdict.position - 3:
        position -= 1  # to the beginning of a character
    text = data.decode("utf-8", "replace")
    offset = len(data[:position].decode("utf-8", "replace"))
    at_end = verdict.position == len(data)
    headline = "the text ends too early" if at_end else "the text is not in the language"
    label = f"expected {verdict.expected}"
    span = Span(offset, offset if at_end else offset + 1)
    rendered = render_one(Diagnostic("", headline, span, label), [SourceText(name, text)])
    return f"rejected: {headline}\n" + rendered.partition("\n")[2]
