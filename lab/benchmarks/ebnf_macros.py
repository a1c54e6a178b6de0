"""Compare grammars with XGrammar's macros, read by both engines: whole texts, and masks along random walks.

    python lab/benchmarks/ebnf_macros.py --data PATH_TO_DATA_PACK --grammars 3000 --walks 200 --write

Random grammars hold ``TagDispatch``, ``Regex``, ``Substring`` and look-aheads, and their texts are made of the same strings.
Grammars that XGrammar prints for the structural tags of the data pack are read back, and judged by the recorded
verdicts. Token macros are compared by whole masks, on a real tokenizer. Grammars with triggers or excluded strings that
overlap are counted by themselves: there the engines differ, and what this one does is in ``docs/grammar.md``.
XGrammar has to be installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import lzma
import random
from importlib import metadata
from pathlib import Path
from typing import Any

from record import use_checkout, write_result
from structural_tags import CASES, tag_of

SEED = 20261123
WORDS = ("<a>", "<b>", "</a>", "ab", "abc", "bc", "b", "ca", "aa", "x", "<", "\u00e9", "cab")
SAFE_WORDS = ("<a>", "<b>", "[c]", "{d}", "\u00e9\u00e8")
PATTERNS = (
    "[0-9]{2}",
    "a|bc",
    "x*y",
    "(?:ab)+c?",
    "\\\\d+\\\\.\\\\d",
    "[^<]{1,3}",
    ".",
    "^a.$",
    "\\\\w+\\\\s?",
)
RULES = ('"1"', '"1" | "2"', '[a-c] "."', '"" | "1"', '("1" x)? "2"', 'Regex("[a-c]{1,2}") "."')
KINDS = ("dispatch", "overlapping", "regex", "substring", "look")


def _strings(rng: random.Random, words: tuple[str, ...], most: int) -> list[str]:
    return rng.sample(words, rng.randint(0 if most < 3 else 1, most))


def made(rng: random.Random, kind: str) -> tuple[str, list[str]]:
    """Return a random grammar, and the strings that its texts are made of."""
    quoted = json.dumps
    if kind in ("dispatch", "overlapping"):
        words = SAFE_WORDS if kind == "dispatch" else WORDS
        triggers = _strings(rng, words, 3)
        excludes = [word for word in _strings(rng, words, 2) if not any(t.startswith(word) for t in triggers)]
        pairs = ", ".join(f"({quoted(word, ensure_ascii=False)}, {rng.choice('xy')})" for word in triggers)
        loops = rng.random() < 0.6
        listed = "".join(f"{quoted(word, ensure_ascii=False)}," for word in excludes)
        call = f"TagDispatch({pairs}, loop_after_dispatch={str(loops).lower()}, excludes=({listed}))"
        body = rng.choice([call, f'"s" {call}', f'{call} "e"', f'({call} "e")+', f'{call} | "q"'])
        text = f"root ::= {body}\nx ::= {rng.choice(RULES[:4])}\ny ::= {rng.choice(RULES)}"
        return text, [*triggers, *excludes, *words[:2], "1", "2", "a.", "a", "e", "s", "q", "<", "\u00e9"]
    if kind == "regex":
        flag = rng.choice(("", ", json_string=true", ", json_string=false"))
        parts = [f'Regex("{rng.choice(PATTERNS)}"{flag})' for _ in range(rng.randint(1, 3))]
        return f"root ::= {rng.choice([' ', ' | ']).join(parts)}", [
            "1",
            "2.3",
            "a",
            "b",
            "c",
            "x",
            "y",
            "<",
            '"',
            " ",
        ]
    if kind == "substring":
        chunks = [rng.choice(("a", "b", "ab", "ba", "c ", "", "\u00e9")) for _ in range(rng.randint(0, 8))]
        call = f"Substring({', '.join(quoted(chunk, ensure_ascii=False) for chunk in chunks)})"
        body = rng.choice([call, f'{call} "."', f'({call} "."){{1,2}}'])
        return f"root ::= {body}", [*chunks, "a", "b", "."]
    look = rng.choice(('"b"', '[a-z] "c"*', "x", "x y"))
    text = f'root ::= x y (= {look})\nx ::= "a" | "b"{{1,2}} (="c")\ny ::= ([a-c] | x)* (= [^a])'
    return text, ["a", "b", "c", "bb"]


def texts_of(rng: random.Random, strings: list[str], count: int) -> list[str]:
    """Return random texts of these strings."""
    return ["".join(rng.choice(strings) for _ in range(rng.randint(0, 6))) for _ in range(count)]


def compare_texts(count: int, texts: int) -> dict[str, Any]:
    """Return how many texts both engines judge alike, by the kind of grammar."""
    import xgrammar
    from support.byte_matcher import ByteMatcher
    from xgrammar.testing import _is_grammar_accept_string

    import stackmask as sm

    rng = random.Random(SEED)
    found: dict[str, dict[str, Any]] = {
        kind: {"grammars": 0, "texts": 0, "accepted": 0, "different": 0, "refused_here": 0, "examples": []}
        for kind in KINDS
    }
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        source, strings = made(rng, kind)
        row = found[kind]
        try:
            peer = xgrammar.Grammar.from_ebnf(source)
        except RuntimeError:
            continue
        try:
            matcher = ByteMatcher(sm.Grammar.from_ebnf(source))
        except sm.GrammarError as error:
            row["refused_here"] += 1
            row["examples"] = [*row["examples"], [source, str(error)]][:3]
            continue
        row["grammars"] += 1
        for text in texts_of(rng, strings, texts):
            theirs = _is_grammar_accept_string(peer, text)
            row["texts"] += 1
            row["accepted"] += theirs
            if theirs != matcher.matches(text):
                row["different"] += 1
                row["examples"] = [*row["examples"], [source, text, theirs]][:3]
    return found


def compare_printed(data: Path) -> dict[str, Any]:
    """Return how many recorded verdicts hold for the grammars that XGrammar prints for structural tags."""
    import xgrammar
    from support.byte_matcher import ByteMatcher

    import stackmask as sm

    with lzma.open(data / CASES, "rt", encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    matchers: dict[str, Any] = {}
    verdicts = equal = 0
    examples: list[Any] = []
    for case in cases:
        key = json.dumps(tag_of(case))
        if key not in matchers:
            matchers[key] = None
            try:
                printed = str(xgrammar.Grammar.from_structural_tag(json.loads(key)))
            except (RuntimeError, ValueError, TypeError):
                continue
            try:
                matchers[key] = ByteMatcher(sm.Grammar.from_ebnf(printed))
            except sm.StackmaskError as error:
                matchers[key] = str(error)
                examples.append([printed[:300], str(error)[:300]])
        if matchers[key] is None:
            continue
        verdicts += 1
        if not isinstance(matchers[key], str) and matchers[key].matches(case["text"]) == case["accept"]:
            equal += 1
        elif not isinstance(matchers[key], str):
            examples.append([case["test"], case["text"], case["accept"]])
    read = sum(isinstance(matcher, ByteMatcher) for matcher in matchers.values())
    return {"grammars": read, "verdicts": verdicts, "equal": equal, "examples": examples[:6]}


def token_grammar(rng: random.Random, size: int, common: list[int]) -> str:
    """Return a random grammar of token macros."""

    def ids(least: int, most: int) -> list[int]:
        return [
            rng.choice(common) if rng.random() < 0.7 else rng.randrange(size)
            for _ in range(rng.randint(least, most))
        ]

    triggers = ids(0, 3)
    excludes = [number for number in ids(0, 4) if number not in triggers]
    pairs = "".join(f"({number}, {rng.choice('xy')}), " for number in triggers)
    loops = str(rng.random() < 0.6).lower()
    listed = "".join(f"{number}," for number in excludes)
    dispatch = f"TokenTagDispatch({pairs}loop_after_dispatch={loops}, excludes=({listed}))"
    one = f"Token({', '.join(map(str, ids(1, 3)))})"
    other = f"ExcludeToken({', '.join(map(str, ids(1, 3)))})"
    body = rng.choice([dispatch, f"{one} {dispatch}", f"{other}{{1,3}} {one}", f'({one} | "a" {other})* "."'])
    return f'root ::= {body}\nx ::= {one} | [a-z]+ {one}\ny ::= "a" {other}? "b"'


def compare_masks(data: Path, walks: int, steps: int) -> dict[str, Any]:
    """Return how many masks along random walks are equal; stop tokens and tokens without text are left out."""
    import numpy as np
    import xgrammar
    from json_grammar import load_tokenizer

    import stackmask as sm

    vocabulary = sm.Vocabulary.from_huggingface(load_tokenizer(data / "tokenizers" / "llama3-128k"))
    texts = [token or b"" for token in vocabulary.tokens]
    info = xgrammar.TokenizerInfo(
        texts, xgrammar.VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=list(vocabulary.stop_ids)
    )
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)
    ours = sm.Compiler(vocabulary)
    rng = random.Random(SEED)
    left_out = [number for number, text in enumerate(texts) if not text] + list(vocabulary.stop_ids)
    common = [
        number for number, text in enumerate(texts) if text in (b"a", b"ab", b".", b"b", b" the", b"\n")
    ]
    masks = different = contradicted = refused = 0
    examples: list[Any] = []
    mine = sm.allocate_token_bitmask(1, vocabulary.size)
    theirs = xgrammar.allocate_token_bitmask(1, vocabulary.size)
    for _ in range(walks):
        source = token_grammar(rng, 1000, common)
        try:
            compiled = compiler.compile_grammar(xgrammar.Grammar.from_ebnf(source))
        except RuntimeError:
            refused += 1
            continue
        peer = xgrammar.GrammarMatcher(compiled)
        matcher = ours.compile(sm.Grammar.from_ebnf(source)).matcher()
        walked: list[int] = []
        for _ in range(steps):
            matcher.fill_next_token_bitmask(mine, 0)
            peer.fill_next_token_bitmask(theirs)
            bits = [_bits(np.asarray(mask), vocabulary.size) for mask in (mine, theirs.numpy())]
            for row in bits:
                row[left_out] = 0
            masks += 1
            where = np.flatnonzero(bits[0] != bits[1]).tolist()
            if where:
                # does the peer's own matcher take what the masks disagree about?
                truths = [_accepts(peer, number) for number in where[:200]]
                own = truths == [bool(bits[0][number]) for number in where[:200]]
                contradicted += own
                different += not own
                examples += [[source, walked, where[:5], truths[:5]]] if not own else []
                break
            allowed = np.flatnonzero(bits[0])
            if not len(allowed):
                break
            liked = [number for number in common if bits[0][number]]
            token = rng.choice(liked) if liked and rng.random() < 0.7 else int(rng.choice(allowed))
            if not (matcher.accept_token(token) and peer.accept_token(token)):
                raise SystemExit(f"a token that a mask allows is refused: {source!r} {token}")
            walked.append(token)
    return {
        "walks": walks,
        "masks": masks,
        "different": different,
        "mask_of_xgrammar_against_its_own_matcher": contradicted,
        "refused": refused,
        "examples": examples[:3],
    }


def _accepts(peer: Any, token: int) -> bool:
    taken = bool(peer.accept_token(token))
    if taken:
        peer.rollback(1)
    return taken


def _bits(mask: Any, size: int) -> Any:
    import numpy as np

    return np.unpackbits(mask.reshape(-1).view(np.uint8), bitorder="little")[:size]


def main() -> None:
    """Compare and print; with ``--write`` keep the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--grammars", type=int, default=3000)
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--walks", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    if importlib.util.find_spec("xgrammar") is None:
        print("skipped: XGrammar is not installed")
        return
    result = {
        "texts": compare_texts(arguments.grammars, arguments.texts),
        "printed": compare_printed(arguments.data),
        "masks": compare_masks(arguments.data, arguments.walks, 12),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
    if arguments.write:
        command = (
            f"python lab/benchmarks/ebnf_macros.py --data PATH_TO_DATA_PACK --grammars {arguments.grammars} "
            f"--texts {arguments.texts} --walks {arguments.walks} --write"
        )
        write_result("ebnf_macros", command, result, xgrammar=metadata.version("xgrammar"))


if __name__ == "__main__":
    main()
