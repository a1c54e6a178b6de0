"""Masks by brute force: try every token of a vocabulary on the oracle.

A token that has text and that a token terminal names can be read in both ways, so a place in a text of
tokens is a list of Earley states.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oracle.earley import Column, Recognizer

Place = list[Column]


def advance_token(recognizer: Recognizer, place: Place, token: int, data: bytes | None) -> Place:
    """Return the place after a token, as text and as a token of its own; empty where it is neither."""
    after = [state for column in place if (state := recognizer.advance(column, ("token", token))).viable]
    if data:
        after += [state for column in place if (state := recognizer.run(data, column)).viable]
    return after


def brute_force_mask(
    recognizer: Recognizer,
    place: Place,
    tokens: Sequence[bytes | None],
    stop_ids: Collection[int] = (),
    only: Collection[int] | None = None,
) -> set[int]:
    """Return the ids of the tokens that may come next, each tried byte by byte.

    A stop token is allowed where the input may end. A token of no bytes is never allowed as text. ``only``
    limits the answer to some ids.
    """
    allowed = set()
    for column in place:
        reached: dict[bytes, Column] = {b"": column}  # tokens share their prefixes
        for token in range(len(tokens)) if only is None else only:
            if token in allowed:
                continue
            data = tokens[token]
            if data:
                for length in range(1, len(data) + 1):
                    if data[:length] not in reached:
                        before = reached[data[: length - 1]]
                        after = recognizer.advance(before, data[length - 1]) if before.viable else before
                        reached[data[:length]] = after
                if reached[data].viable:
                    allowed.add(token)
            if (token in stop_ids and column.accepting) or recognizer.advance(
                column, ("token", token)
            ).viable:
                allowed.add(token)
    return allowed
