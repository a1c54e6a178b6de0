"""Masks by brute force: try every token of a vocabulary on the oracle."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oracle.earley import Column, Recognizer


def advance_token(recognizer: Recognizer, state: Column, data: bytes) -> Column | None:
    """Return the state after the bytes of a text token, None where they lead out of the language."""
    for byte in data:
        state = recognizer.advance(state, byte)
        if not state.viable:
            return None
    return state


def brute_force_mask(
    recognizer: Recognizer,
    state: Column,
    tokens: Sequence[bytes | None],
    special_ids: Collection[int] = (),
    stop_ids: Collection[int] = (),
    only: Collection[int] | None = None,
) -> set[int]:
    """Return the ids of the tokens that may come next, each tried on its own prefix by prefix.

    A stop token is allowed where the input may end, a special token where a token terminal reads it, a
    token of no bytes never. ``only`` limits the answer to some ids.
    """
    reached: dict[bytes, Column] = {b"": state}
    allowed = set()
    for token in range(len(tokens)) if only is None else only:
        data = tokens[token]
        if token in stop_ids:
            ok = state.accepting
        elif token in special_ids:
            ok = recognizer.advance(state, ("token", token)).viable
        elif not data:
            ok = False
        else:
            for length in range(1, len(data) + 1):
                if data[:length] not in reached:
                    before = reached[data[: length - 1]]
                    reached[data[:length]] = (
                        recognizer.advance(before, data[length - 1]) if before.viable else before
                    )
            ok = reached[data].viable
        if ok:
            allowed.add(token)
    return allowed
