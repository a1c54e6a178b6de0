"""From ranges of code points to UTF-8 byte sequences, and from these to terms."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmask.pda.terms.term_store import TermBuilder

Ranges = tuple[tuple[int, int], ...]
ByteRanges = tuple[tuple[int, int], ...]
Tree = tuple[tuple[int, "Tree"], ...]
"""Sets of first bytes, each with its continuations."""

# the last code point of each encoded length
_LENGTH_ENDS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)


@lru_cache(1 << 15)
def byte_sequences(low: int, high: int) -> tuple[ByteRanges, ...]:
    """Return the UTF-8 encodings of ``low..high`` as sequences of byte ranges, in order.

    Each sequence is a product: any choice of bytes in its ranges encodes a code point of the range, and every
    code point is in exactly one sequence. Source: R. Cox, "Regular Expression Matching in the Wild" (2010).
    """
    out: list[ByteRanges] = []
    todo = [(low, high)]
    while todo:
        low, high = todo.pop()
        split = next((end for end in _LENGTH_ENDS if low <= end < high), None)
        if split is None and high > 0x7F:
            # all continuation bytes but the ones that both ends share must run over their full range
            for shift in (6, 12, 18):
                mask = (1 << shift) - 1
                if low & ~mask == high & ~mask:
                    continue
                if low & mask:
                    split = low | mask
                    break
                if high & mask != mask:
                    split = (high & ~mask) - 1
                    break
        if split is not None and low <= split < high:
            todo.append((split + 1, high))
            todo.append((low, split))
            continue
        first, last = chr(low).encode(), chr(high).encode()
        out.append(tuple(zip(first, last, strict=True)))
    return tuple(out)


def class_term(build: TermBuilder, ranges: Ranges, known: dict[Tree, int]) -> int:
    """Return the term of one character in the ranges.

    ``known``: the terms of parts of classes already built in this store, to which new terms are added.
    Cost: linear in the ranges, except for known parts.
    """
    return _term(build, _tree(ranges), known)


@lru_cache(4096)
def _tree(ranges: Ranges) -> Tree:
    """Return the byte sequences of the ranges by their first bytes, cached for all stores."""
    return _join(tuple([sequence for low, high in ranges for sequence in byte_sequences(low, high)]))


# classes that differ in few characters have nearly all continuations in common
@lru_cache(1 << 15)
def _join(sequences: tuple[ByteRanges, ...]) -> Tree:
    """Merge sequences by their first byte range; lead bytes with one continuation become one set."""
    groups: dict[tuple[int, int], list[ByteRanges]] = {}
    leads: dict[Tree, int] = {}
    for sequence in sequences:
        groups.setdefault(sequence[0], []).append(sequence[1:])
    for (low, high), rests in groups.items():
        continuation = _join(tuple(rests)) if rests[0] else ()
        leads[continuation] = leads.get(continuation, 0) | ((1 << (high + 1)) - (1 << low))
    return tuple((mask, continuation) for continuation, mask in leads.items())


def _term(build: TermBuilder, tree: Tree, known: dict[Tree, int]) -> int:
    found = known.get(tree)
    if found is None:
        items = []
        for mask, continuation in tree:
            after = _term(build, continuation, known) if continuation else build.sequence([])
            items.append(build.sequence([build.byte_set(mask), after]))
        found = known[tree] = build.alternatives(items)
    return found
