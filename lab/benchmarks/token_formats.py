"""Compare masks of structural tags with XGrammar's, token by token on a real tokenizer: token formats, and built-in styles.

    python lab/benchmarks/token_formats.py --data PATH_TO_DATA_PACK --write

Needs ``pip install xgrammar``. The verdicts recorded from XGrammar's tests hold no formats of tokens; here are cases of them, and the
tags that XGrammar itself makes for each of its models, with tools, choices and reasoning. A walk takes tokens that both
engines allow, often those of a literal of the tag; at each step the whole masks are compared. Printed: how many masks
are equal, and the first difference of each case, with the tokens that one engine alone allows.

Two kinds of tokens are set apart, and counted: XGrammar takes special tokens for their text, unless a tag excludes them, and
it takes bytes that are no UTF-8. Here special tokens are never text, and text is UTF-8.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from json_grammar import load_tokenizer
from record import use_checkout, write_result

STEPS: Final = 30  # of a walk
SHOWN: Final = 5  # tokens of a difference
Format = dict[str, Any]

ANY: Final[Format] = {"type": "any_text"}
TOKENS: Final[Format] = {"type": "any_tokens"}
CALL: Final = "<|box_start|>"
CALL_END: Final = "<|box_end|>"
THINK: Final = "<|quad_start|>"
THINK_END: Final = "<|quad_end|>"
OBJECT: Final[Format] = {
    "type": "json_schema",
    "json_schema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    },
}


def token(name: str) -> Format:
    return {"type": "token", "token": name}


def sequence(*elements: Format) -> Format:
    return {"type": "sequence", "elements": list(elements)}


def word(text: str) -> Format:
    return {"type": "const_string", "value": text}


def tag(begin: Any, content: Format, end: Any) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


CALL_TAG: Final = tag(token(CALL), OBJECT, token(CALL_END))
FREE_TAG: Final = tag(token(THINK), {"type": "any_tokens", "exclude_tokens": [THINK_END]}, token(THINK_END))
CASES: Final[dict[str, Format]] = {
    "token": token(CALL),
    "token by id": {"type": "token", "token": 1000},
    "token, then text": sequence(token(CALL), word("abc"), token(CALL_END)),
    "token or text": {"type": "or", "elements": [token(CALL), word("abc")]},
    "optional token": sequence({"type": "optional", "content": token(CALL)}, word("a")),
    "star of tokens": sequence({"type": "star", "content": token(CALL)}, word("a")),
    "repeated token": {"type": "repeat", "min": 1, "max": 3, "content": token(CALL)},
    "exclude_token": {"type": "exclude_token", "exclude_tokens": [CALL]},
    "exclude_token of none": {"type": "exclude_token", "exclude_tokens": []},
    "exclude_token of several": sequence(
        {"type": "exclude_token", "exclude_tokens": [CALL, CALL_END, 1000]}, token(CALL)
    ),
    "any_tokens": TOKENS,
    "any_tokens without some": {"type": "any_tokens", "exclude_tokens": [CALL, THINK]},
    "any_tokens, then token": sequence({"type": "any_tokens", "exclude_tokens": [CALL]}, token(CALL)),
    "at most 3 tokens": {"type": "any_tokens", "max_tokens": 3},
    "at most 3 tokens, then text": sequence({"type": "any_tokens", "max_tokens": 3}, word("abc")),
    "no tokens": sequence({"type": "any_tokens", "max_tokens": 0}, word("abc")),
    "tag between tokens": CALL_TAG,
    "tag of tokens between tokens": FREE_TAG,
    "tag of text between tokens": tag(token(THINK), ANY, token(THINK_END)),
    "tag of few tokens": tag(token(THINK), {"type": "any_tokens", "max_tokens": 4}, token(THINK_END)),
    "tag that ends with text": tag(token(THINK), ANY, "</t>"),
    "tag that begins with text": tag("<t>", ANY, token(THINK_END)),
    "token_triggered_tags": {"type": "token_triggered_tags", "trigger_tokens": [CALL], "tags": [CALL_TAG]},
    "token_triggered_tags of two": {
        "type": "token_triggered_tags",
        "trigger_tokens": [CALL, THINK],
        "tags": [CALL_TAG, FREE_TAG],
    },
    "token_triggered_tags, at least one": {
        "type": "token_triggered_tags",
        "trigger_tokens": [CALL],
        "tags": [CALL_TAG],
        "at_least_one": True,
    },
    "token_triggered_tags, only the first": {
        "type": "token_triggered_tags",
        "trigger_tokens": [CALL],
        "tags": [CALL_TAG],
        "stop_after_first": True,
    },
    "token_triggered_tags, exactly one": {
        "type": "token_triggered_tags",
        "trigger_tokens": [CALL],
        "tags": [CALL_TAG],
        "at_least_one": True,
        "stop_after_first": True,
    },
    "token_triggered_tags without some": {
        "type": "token_triggered_tags",
        "trigger_tokens": [CALL],
        "tags": [CALL_TAG],
        "exclude_tokens": [THINK, THINK_END, 1000],
    },
    "token_dispatch": {"type": "token_dispatch", "rules": [[CALL, sequence(OBJECT, token(CALL_END))]]},
    "token_dispatch of two": {
        "type": "token_dispatch",
        "rules": [[CALL, OBJECT], [THINK, sequence(word("a"), token(THINK_END))]],
    },
    "token_dispatch once": {"type": "token_dispatch", "rules": [[CALL, OBJECT]], "loop": False},
    "token_dispatch without some": {
        "type": "token_dispatch",
        "rules": [[CALL, OBJECT]],
        "exclude_tokens": [CALL_END, THINK],
    },
}
TOOLS: Final[list[dict[str, Any]]] = [
    {"type": "function", "function": {"name": name, "parameters": parameters}}
    for name, parameters in (
        (
            "find",
            {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        ),
        ("stop", {"type": "object", "properties": {}, "additionalProperties": False}),
    )
]
MODELS: Final = (
    *("llama", "kimi", "kimi_k3", "deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4", "deepseek_v4_1"),
    *("qwen_3", "qwen_3_5", "qwen_3_coder", "mimo", "harmony", "minimax", "minimax_m3", "glm_4_7", "cohere", "exaone"),
)  # fmt: skip
INTEGERS: Final = "ours: `-0`, `2.0` and `2e0` are integers of JSON Schema; XGrammar takes digits alone"
AS_TEXT: Final = (
    "theirs: special tokens that the tag names are text elsewhere, and their text is taken for them"
)
REASONS: Final[dict[str, str]] = {  # by how names of cases begin
    "repeated token": "theirs: a repeated token by name is refused, since it has no id yet",
    "at most 3 tokens, then text": "theirs: the limit gives way where the tag cannot end yet",
    "tag between tokens": INTEGERS,
    "token_triggered_tags": INTEGERS,
    "token_dispatch": INTEGERS,
    "tag of text between tokens": AS_TEXT,
    "tag that ends with text": AS_TEXT,
    "tag that begins with text": AS_TEXT,
    "minimax_m3": "ours: blanks may stand between the markers of a call without arguments",
}


def reason_of(name: str) -> str:
    """Return whose a difference is."""
    known = [reason for prefix, reason in REASONS.items() if name.startswith(prefix)]
    return known[0] if known else "not explained yet"


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the tags: their names, and what both engines are given."""
    import xgrammar

    for name, form in CASES.items():
        yield name, {"type": "structural_tag", "format": form}
    for model in MODELS:
        for choice in ("auto", "required"):
            for reasoning in ("enabled", "disabled"):
                made = xgrammar.get_model_structural_tag(
                    model, tools=TOOLS, tool_choice=choice, reasoning=reasoning
                )
                yield f"{model}, {choice}, reasoning {reasoning}", made.model_dump(exclude_none=True)


def literals(form: Any) -> list[str]:
    """Return the texts of a format that a walk may follow."""
    found: list[str] = []
    todo = [form]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            for key in ("value", "begin", "end", "separator", "token"):
                if isinstance(part.get(key), str):
                    found.append(part[key])
            todo += part.values()
        elif isinstance(part, list):
            found += [item for item in part if isinstance(item, str)]
            todo += part
    return sorted({text for text in found if text}) or ["a"]


class Engines:
    """Both engines on one tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        import numpy
        import xgrammar

        import stackmask as sm

        self.tokenizer = tokenizer
        self.size = len(tokenizer)
        stops = [tokenizer.eos_token_id]
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=self.size, stop_token_ids=stops)
        # with its cache, XGrammar gives a tag the tokens of an earlier tag of the same shape
        self.theirs = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.ours = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer, size=self.size, stop_ids=stops))
        self.their_matcher = xgrammar.GrammarMatcher
        self.their_mask = xgrammar.allocate_token_bitmask(1, self.size)
        self.our_mask = sm.allocate_token_bitmask(1, self.size)
        self.read = sm.Grammar.from_structural_tag
        self.numpy = numpy
        texts = [tokenizer.decode([number]) for number in range(self.size)]
        added = tokenizer.added_tokens_decoder.items()
        self.special = {token.content: number for number, token in added if token.special}
        self.is_plain = numpy.array(["\ufffd" not in text for text in texts])  # of whole characters
        self.is_plain[list(self.special.values())] = False

    def _tokens(self, mask: Any) -> Any:
        bits = self.numpy.unpackbits(self.numpy.asarray(mask).view("uint8"), bitorder="little")
        return bits[: self.size].astype(bool)

    def compare(self, form: dict[str, Any], walks: int, rng: random.Random) -> dict[str, Any]:
        """Return how many masks were compared, how many differ, and the first that does."""
        ours = self.ours.compile(self.read(form))
        theirs = self.theirs.compile_structural_tag(form)
        texts = [self.tokenizer.encode(text, add_special_tokens=False) for text in literals(form)]
        texts += [self.tokenizer.encode(text) for text in (' {"a": 1}', '"Rome"', "Hello there.", "2")]
        compared = self.is_plain.copy()
        compared[self.tokenizer.eos_token_id] = True
        compared[[number for name, number in self.special.items() if name in json.dumps(form)]] = True
        found: dict[str, Any] = {"masks": 0, "different": 0, "set_apart": 0}
        for _ in range(walks):
            one, other = ours.matcher(), self.their_matcher(theirs)
            written: list[int] = []
            planned: list[int] = []
            for _ in range(STEPS):
                one.fill_next_token_bitmask(self.our_mask)
                other.fill_next_token_bitmask(self.their_mask)
                here, there = self._tokens(self.our_mask), self._tokens(self.their_mask)
                found["masks"] += 1
                different = here != there
                is_cut = self.tokenizer.decode(written).endswith("\ufffd")  # inside of a character
                if different.any() and (is_cut or not (different & compared).any()):
                    found["set_apart"] += 1
                elif different.any():
                    found["different"] += 1
                    found.setdefault("first", self._difference(written, here & compared, there & compared))
                both = (here & there).nonzero()[0]
                both = both[both != self.tokenizer.eos_token_id]
                if not len(both):
                    break
                planned = planned or list(rng.choice(texts))
                chosen = planned.pop(0)
                if not (here[chosen] and there[chosen]):
                    planned = []
                    chosen = int(rng.choice(both))
                written.append(chosen)
                if not (one.accept_token(chosen) and other.accept_token(chosen)):
                    raise RuntimeError(f"a token of both masks was refused: {chosen}")
        return found

    def _difference(self, written: list[int], here: Any, there: Any) -> dict[str, Any]:
        def said(tokens: Any) -> list[str]:
            return [self.tokenizer.convert_ids_to_tokens(int(token)) for token in tokens[:SHOWN]]

        ours, theirs = (here & ~there).nonzero()[0], (there & ~here).nonzero()[0]
        return {
            "after": self.tokenizer.decode(written),
            "allowed": [int(here.sum()), int(there.sum())],
            "only_ours": [len(ours), said(ours)],
            "only_theirs": [len(theirs), said(theirs)],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", default="qwen3-151k")
    parser.add_argument("--walks", type=int, default=6)
    parser.add_argument("--only", default="", help="cases whose name begins so")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    engines = Engines(load_tokenizer(arguments.data / "tokenizers" / arguments.tokenizer))
    rows: dict[str, Any] = {}
    for name, form in cases():
        if not name.startswith(arguments.only):
            continue
        try:
            row = engines.compare(form, arguments.walks, random.Random(name))
        except Exception as error:  # noqa: BLE001 what an engine refuses is a difference too
            row = {
                "masks": 1,
                "different": 1,
                "set_apart": 0,
                "first": f"{type(error).__name__}: {error}"[:300],
            }
        if row["different"]:
            row["whose"] = reason_of(name)
            print(f"{name}: {json.dumps(row, ensure_ascii=False)}", flush=True)
        rows[name] = row
    total, different, inside = (
        sum(row[key] for row in rows.values()) for key in ("masks", "different", "set_apart")
    )
    same = sum(not row["different"] for row in rows.values())
    print(f"{same} of {len(rows)} tags have equal masks; {total - different} of {total} masks are equal,")
    print(
        f"{inside} of them but for special tokens that the tag does not name, and tokens of parts of characters"
    )
    if arguments.write:
        summary = {"tags": len(rows), "equal_tags": same, "masks": total, "equal_masks": total - different}
        summary["of_these_but_for_tokens_set_apart"] = inside
        result = {"tokenizer": arguments.tokenizer, **summary, "cases": rows}
        versions = {"xgrammar": metadata.version("xgrammar")}
        write_result(
            "token_formats", "python lab/benchmarks/token_formats.py --data PATH --write", result, **versions
        )


if __name__ == "__main__":
    main()
