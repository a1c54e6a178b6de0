"""The fewest tokens that complete a text of a small context-free grammar, by tables; no code of the engine.

The grammar is intersected with an automaton (Bar-Hillel, Perles and Shamir 1961): first the bytes of the text, then
tokens, spelled byte by byte, each of which costs one. ``cost[x][i][j]`` is the least cost of a string of x that leads
from state i to state j. Rounds over all rules find lower costs until there are none.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

FAR = 1 << 20
Rules = Mapping[str, Sequence[Sequence[str | bytes]]]
"""The alternatives of each rule: names of rules, and strings. The first rule is the start."""


def fewest_tokens(rules: Rules, tokens: Sequence[bytes], text: bytes) -> int | None:
    """Return how many tokens complete a text, at least; None if it is no prefix of a text of the grammar."""
    steps, end = _automaton(tokens, text)
    size = len(steps)
    spelled = {
        part: _spelled(part, steps)
        for alternatives in rules.values()
        for parts in alternatives
        for part in parts
        if isinstance(part, bytes)
    }
    cost = {name: [[FAR] * size for _ in range(size)] for name in rules}
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            for parts in alternatives:
                for i in range(size):
                    row = [FAR] * size
                    row[i] = 0
                    for part in parts:
                        table = spelled[part] if isinstance(part, bytes) else cost[part]
                        row = [
                            min((row[k] + table[k][j] for k in range(size) if row[k] < FAR), default=FAR)
                            for j in range(size)
                        ]
                    for j in range(size):
                        if row[j] < cost[name][i][j]:
                            cost[name][i][j] = row[j]
                            changed = True
    best = cost[next(iter(rules))][0][end]
    return None if best >= FAR else best


def _automaton(tokens: Sequence[bytes], text: bytes) -> tuple[list[dict[int, list[tuple[int, int]]]], int]:
    """Return {byte: [(state, cost)]} by state, and the state after the text, where tokens begin and end."""
    steps: list[dict[int, list[tuple[int, int]]]] = [{} for _ in range(len(text) + 1)]
    for i, byte in enumerate(text):
        steps[i][byte] = [(i + 1, 0)]
    boundary = len(text)
    places: dict[bytes, int] = {b"": boundary}
    for token in tokens:
        for length in range(1, len(token) + 1):
            path = token[:length]
            before = places[path[:-1]]
            if length == len(token):
                steps[before].setdefault(path[-1], []).append((boundary, 1))
            elif path not in places:
                places[path] = len(steps)
                steps.append({})
                steps[before].setdefault(path[-1], []).append((places[path], 0))
    return steps, boundary


def _spelled(part: bytes, steps: list[dict[int, list[tuple[int, int]]]]) -> list[list[int]]:
    table = []
    for start in range(len(steps)):
        here = {start: 0}
        for byte in part:
            after: dict[int, int] = {}
            for state, paid in here.items():
                for target, price in steps[state].get(byte, ()):
                    after[target] = min(after.get(target, FAR), paid + price)
            here = after
        table.append([here.get(j, FAR) for j in range(len(steps))])
    return table


def random_case(rng: random.Random) -> tuple[dict[str, list[list[str | bytes]]], list[bytes]]:
    """Return a random grammar of one to four rules over three letters, and three to eight tokens."""
    names = [f"r{i}" for i in range(rng.randint(1, 4))]
    letters = b"abc"

    def part() -> str | bytes:
        if rng.random() < 0.4:
            return rng.choice(names)
        return bytes(rng.choices(letters, k=rng.choice([1, 1, 1, 2, 3])))

    rules: dict[str, list[list[str | bytes]]] = {}
    for name in names:
        alternatives = [[part() for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 3))]
        ends: list[str | bytes] = [bytes(rng.choices(letters, k=rng.randint(1, 4)))]
        rules[name] = [*alternatives, ends]
        rng.shuffle(rules[name])
    tokens = [b"a", b"b", b"c"]
    while len(tokens) < rng.randint(3, 8):
        token = bytes(rng.choices(letters, k=rng.randint(2, 4)))
        if token not in tokens:
            tokens.append(token)
    return rules, tokens


def written(rules: Rules) -> str:
    """Return a grammar as EBNF."""
    return "\n".join(
        f"{name} ::= "
        + " | ".join(
            " ".join(f'"{p.decode()}"' if isinstance(p, bytes) else p for p in parts)
            for parts in alternatives
        )
        for name, alternatives in rules.items()
    )
