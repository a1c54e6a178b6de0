"""Draft windows through turns with tags: accept some tokens, roll back, go on, and compare with a fresh matcher.

    python lab/benchmarks/draft_windows.py --windows 1000000 --seed 1 --write

Turns are those of tool styles, structural tags, macros and markers, on vocabularies of bytes and of pieces of such turns,
with and without special tokens. A draft follows a sampled turn or goes astray. Along it each mask says whether the next
token is accepted; then a part is rolled back, or a fork goes on in its place. After each window the mask must be that of
a matcher that has read the remaining tokens alone, made by another compiler.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from record import use_checkout, write_result

TOOLS = [
    {
        "name": "find",
        "input_schema": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "units": {"enum": ["C", "F"]},
            },
            "required": ["city"],
        },
    },
    {"name": "list_all", "input_schema": {"type": "object", "properties": {}, "additionalProperties": False}},
    {
        "name": "note",
        "input_schema": {
            "type": "object",
            "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
        },
    },
]
ANSWER = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
STYLES = (
    "hermes",
    "qwen_3_coder",
    "kimi",
    "deepseek_v3_2",
    "harmony",
    "mistral",
    "glm_4_7",
    "llama",
    "cohere",
    "pythonic",
)
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f", "<g>"],
        "tags": [
            {
                "begin": "<f1>",
                "content": {"type": "json_schema", "json_schema": ANSWER},
                "end": ["</f1>", "</f>"],
            },
            {"begin": "<f2>", "content": {"type": "any_text"}, "end": "</f2>"},
            {"begin": "<g>", "content": {"type": "regex", "pattern": "[a-c]{1,4}"}, "end": "</g>"},
        ],
        "excludes": ["<no>"],
    },
}
MACROS = """root ::= TagDispatch(("<a>", x), ("<ab>", y), ("b>c", x), excludes=("<x>",)) "."
x ::= Regex("[0-9]{1,3}") "</a>"
y ::= TagDispatch(("<in>", x), loop_after_dispatch=false) "</ab>"
"""
KEPT = 70  # tokens of a turn, then a new one begins
MOST_DRAFTED = 8


def grammars() -> list[tuple[str, Any]]:
    """Return the turns that windows go through."""
    import stackmask as sm

    found: list[tuple[str, Any]] = []
    for style in STYLES:
        found.append((style, sm.tools.grammar(style, TOOLS)))
        found.append(
            (f"{style}, answer", sm.tools.grammar(style, TOOLS, response_format=ANSWER, profile="model"))
        )
    found.append(("structural tag", sm.Grammar.from_structural_tag(TAG)))
    found.append(("macros", sm.Grammar.from_ebnf(MACROS)))
    found.append(
        (
            "thought",
            sm.tag("<think>", sm.text(max_chars=60), "</think>") + sm.Grammar.from_json_schema(ANSWER),
        )
    )
    return found


def vocabulary_of(rng: random.Random, texts: list[str], specials: bool) -> Any:
    """Return all bytes, pieces of the texts, and the markers as special tokens."""
    import stackmask as sm

    pieces: set[bytes] = set()
    for text in texts:
        data = text.encode()
        for _ in range(40):
            start = rng.randrange(max(1, len(data)))
            pieces.add(data[start : start + rng.randint(2, 12)])
    tokens: list[bytes | None] = [
        *(bytes([byte]) for byte in range(256)),
        *sorted(piece for piece in pieces if piece),
    ]
    markers = [
        "<think>",
        "</think>",
        "<tool_call>",
        "<|channel|>",
        "<|message|>",
        "<|call|>",
        "[TOOL_CALLS]",
        "<g>",
    ]
    names = {marker: len(tokens) + index for index, marker in enumerate(markers)} if specials else {}
    tokens += [None] * (len(names) + 1)
    return sm.Vocabulary(tokens, stop_ids=[len(tokens) - 1], special_names=names)


class Walk:
    """One turn, with the matcher that goes through windows."""

    def __init__(self, rng: random.Random, grammar: Any, vocabulary: Any, texts: list[str]) -> None:
        import stackmask as sm

        self.rng = rng
        self.size = vocabulary.size
        self.by_first: dict[int, list[int]] = {}
        for number, token in enumerate(vocabulary.tokens):
            if token:
                self.by_first.setdefault(token[0], []).append(number)
        self.tokens = vocabulary.tokens
        self.names = {name.encode(): number for name, number in vocabulary.special_names.items()}
        self.texts = [text.encode() for text in texts]
        self.warm = sm.Compiler(vocabulary).compile(grammar)
        self.fresh = sm.Compiler(vocabulary).compile(grammar).matcher()
        self.mask = sm.allocate_token_bitmask(1, self.size)
        self.other = sm.allocate_token_bitmask(1, self.size)
        self.begin()

    def begin(self) -> None:
        """Begin a turn anew."""
        self.matcher = self.warm.matcher()
        self.history: list[int] = []
        self.wanted = self.rng.choice(self.texts)
        self.at = 0

    def window(self) -> bool:
        """Go through one window; return whether masks and verdicts were those of the fresh matcher."""
        rng, matcher = self.rng, self.matcher
        drafted = 0
        places: list[int] = []
        for _ in range(rng.randint(1, MOST_DRAFTED)):
            matcher.fill_next_token_bitmask(self.mask, 0)
            token = self.next_token()
            allowed = bool(int(self.mask[0, token >> 5]) >> (token & 31) & 1)
            places.append(self.at)
            if matcher.accept_token(token) != allowed:
                return False
            if not allowed:
                places.pop()
                break
            self.history.append(token)
            drafted += 1
            self.at = self.at + len(self.written(token)) if self.at >= 0 else -1
            if matcher.is_terminated():
                break
        back = rng.randint(0, drafted)
        if back and rng.random() < 0.3:  # a fork takes the place of the one that is rolled back
            matcher = self.matcher = matcher.fork()
        if back:
            matcher.rollback(back)
            del self.history[len(self.history) - back :]
            self.at = places[len(places) - back]
        fresh = self.fresh
        fresh.reset()
        if not all(map(fresh.accept_token, self.history)):
            return False
        matcher.fill_next_token_bitmask(self.mask, 0)
        fresh.fill_next_token_bitmask(self.other, 0)
        same = bool((self.mask == self.other).all()) and matcher.is_accepting() == fresh.is_accepting()
        astray = self.at < 0 and rng.random() < 0.15
        if matcher.is_terminated() or len(self.history) > KEPT or astray or not self.mask.any():
            self.begin()
        return same

    def written(self, token: int) -> bytes:
        """Return the text of a token."""
        text = self.tokens[token]
        if text:
            return bytes(text)
        return next((name for name, number in self.names.items() if number == token), b"")

    def next_token(self) -> int:
        """Return a token of the draft: of the sampled turn, or any, more often one that is allowed."""
        rng = self.rng
        if 0 <= self.at < len(self.wanted) and rng.random() < 0.93:
            for name, number in self.names.items():
                if self.wanted.startswith(name, self.at):
                    return number
            fitting = [
                number
                for number in self.by_first.get(self.wanted[self.at], ())
                if self.wanted.startswith(self.tokens[number], self.at)
            ]
            if fitting:
                return rng.choice(fitting)
        self.at = -1
        for _ in range(30):
            token = rng.randrange(self.size)
            if int(self.mask[0, token >> 5]) >> (token & 31) & 1:
                return token
        return rng.randrange(self.size)


def main() -> None:
    """Go through windows until there were enough, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--windows", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    begin = time.monotonic()
    rng = random.Random(arguments.seed)
    walks: list[tuple[str, Walk]] = []
    for name, grammar in grammars():
        texts = grammar.sample(12, seed=arguments.seed)
        for specials in (False, True):
            walks.append((name, Walk(rng, grammar, vocabulary_of(rng, texts, specials), texts)))
    windows = tokens = 0
    differences: list[str] = []
    while windows < arguments.windows and time.monotonic() - begin < arguments.seconds:
        name, walk = walks[windows % len(walks)]
        windows += 1
        before = len(walk.history)
        if not walk.window():
            differences.append(f"{name}, window {windows}: {walk.history}")
            walk.begin()
        tokens += max(0, len(walk.history) - before)
    result = {
        "seed": arguments.seed,
        "turns": len(walks),
        "windows": windows,
        "tokens_kept": tokens,
        "differences": len(differences),
        "examples": differences[:5],
    }
    print(result, f"{time.monotonic() - begin:.0f} s")
    if arguments.write:
        command = f"python lab/benchmarks/draft_windows.py --windows {arguments.windows} --seed {arguments.seed} --write"
        write_result("draft_windows", command, result)


if __name__ == "__main__":
    main()
