"""Time generation with and without jump-forward, and in the ways of two peers, in one loop on one model.

    python lab/benchmarks/jump_generation.py --data PATH_TO_DATA_PACK

Documents are replayed: the model is called and its scores are masked as in greedy search, but the next token is that
of the document. So every way writes the same text, and differs in how often the model is called. Ways: "free" (no
grammar), "off" (a mask for every token), "canonical" (jump-forward), "xgrammar" (its forced string, encoded by
itself), "llguidance" (its forced tokens). Tasks: a character sheet, facts of a city, JSON schemas of MaskBench, and SQL
of the held-out questions. Models: the embedded one, and a random Llama of about 100 million parameters. Times are of
the processor, in turn, the best of several rounds. The embedded model answers its held-out questions both ways as well.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from json_grammar import load_tokenizer
from jump_forward import instances
from record import REPO, RESULTS, use_checkout, write_result

use_checkout()
sys.path.insert(0, str(REPO / "lab"))

import numpy as np
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

import stackmask as sm
from stackmask.runtime.embedded import bundled_database, load_embedded
from stackmask.runtime.generation.jumping import cache_keyword

TEXT = {"type": "string", "maxLength": 40}
SHEET = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "home": {"enum": ["The Marshes", "Upper Town", "Lower Town", "The Isles"]},
        "ancestry": {"enum": ["Human", "Half-elf", "Dwarf"]},
        "occupation": {"enum": ["Student", "Teacher", "Smith", "Courier"]},
        "staff": {
            "type": "object",
            "properties": {"wood": TEXT, "core": TEXT, "length in inches": {"type": "number"}},
            "required": ["wood", "core", "length in inches"],
            "additionalProperties": False,
        },
        "alive": {"enum": ["Alive", "Deceased"]},
        "companion animal": TEXT,
        "greatest fear": TEXT,
    },
    "additionalProperties": False,
}
SHEET["required"] = list(SHEET["properties"])
SHEETS = [
    {"name": n, "home": h, "ancestry": a, "occupation": o, "staff": {"wood": w, "core": c, "length in inches": i},
     "alive": "Alive", "companion animal": p, "greatest fear": f}
    for n, h, a, o, w, c, i, p, f in [
        ("Ada Fenn", "The Marshes", "Human", "Student", "Ash", "Owl feather", 11.5, "Heron", "Deep water"),
        ("Orla Brandt", "Upper Town", "Dwarf", "Smith", "Oak", "Copper thread", 9, "Badger", "Silence"),
    ]
]  # fmt: skip
CITY = {
    "type": "object",
    "properties": {
        "city": TEXT,
        "country": TEXT,
        "latitude": {"type": "number"},
        "population": {"type": "integer"},
        "largest landmarks": {"type": "array", "items": TEXT, "minItems": 3, "maxItems": 3},
    },
    "additionalProperties": False,
}
CITY["required"] = list(CITY["properties"])
CITIES = [
    {"city": "Lisbon", "country": "Portugal", "latitude": 38.72, "population": 545923,
     "largest landmarks": ["Belém Tower", "Jerónimos Monastery", "São Jorge Castle"]},
    {"city": "Osaka", "country": "Japan", "latitude": 34.69, "population": 2691185,
     "largest landmarks": ["Osaka Castle", "Tsutenkaku", "Shitennoji"]},
]  # fmt: skip
SHORT, LONG, SCHEMAS = 15, 60, 20  # tokens of a document, and how many schemas
PARTS = ("held_out_questions", "embedded", "random_100m")
LARGEST = 1200  # characters of a schema
QUERIES = 20
Document = tuple[str, Any, str]  # task, grammar (a schema, or the name of a bundled grammar), text


class Free:
    """No grammar."""

    def __init__(self, tokenizer: Any, width: int) -> None:
        self.tokenizer = tokenizer

    def begin(self, grammar: Any) -> None:
        """Start a document."""

    def jump(self, ids: list[int]) -> tuple[int, list[int]]:
        return 0, []

    def mask(self, logits: torch.Tensor) -> None:
        """Mask the scores of the next token."""

    def accept(self, token: int) -> None:
        """Take the next token."""


class Off(Free):
    """Masks only."""

    def __init__(self, tokenizer: Any, width: int) -> None:
        self.compiler = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer, size=width))
        self.row = sm.allocate_token_bitmask(1, width, like="torch")
        self.width = width
        self.compiled: dict[str, sm.CompiledGrammar] = {}

    def begin(self, grammar: Any) -> None:
        key = grammar if isinstance(grammar, str) else json.dumps(grammar)
        if key not in self.compiled:
            if isinstance(grammar, str):
                made = sm.Grammar.bundled(grammar)
            else:
                made = sm.Grammar.from_json_schema(grammar, whitespace="compact", spelling="plain")
            self.compiled[key] = self.compiler.compile(made)
        self.matcher = self.compiled[key].matcher()

    def mask(self, logits: torch.Tensor) -> None:
        if self.matcher.fill_next_token_bitmask(self.row):
            sm.apply_token_bitmask_inplace(logits, self.row, vocab_size=self.width)

    def accept(self, token: int) -> None:
        if not self.matcher.accept_token(token):
            raise AssertionError(self.matcher.refusal)


class Canonical(Off):
    """Jump-forward."""

    def jump(self, ids: list[int]) -> tuple[int, list[int]]:
        back, tokens = self.matcher.find_jump_forward_tokens(ids)
        if tokens:
            self.matcher.rollback(back)
            for token in tokens:
                self.accept(token)
        return back, tokens


class XGrammar(Free):
    """XGrammar: the forced string, encoded by itself and appended."""

    def __init__(self, tokenizer: Any, width: int) -> None:
        import xgrammar

        self.x, self.tokenizer = xgrammar, tokenizer
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width)
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.row = xgrammar.allocate_token_bitmask(1, width)

    def begin(self, grammar: Any) -> None:
        if isinstance(grammar, str):
            raise NotSupported(grammar)
        compiled = self.compiler.compile_json_schema(
            json.dumps(grammar), any_whitespace=False, separators=(",", ":")
        )
        self.matcher = self.x.GrammarMatcher(compiled)

    def jump(self, ids: list[int]) -> tuple[int, list[int]]:
        text = self.matcher.find_jump_forward_string()
        tokens = self.tokenizer.encode(text, add_special_tokens=False) if text else []
        for token in tokens:
            self.accept(token)
        return 0, tokens

    def mask(self, logits: torch.Tensor) -> None:
        self.matcher.fill_next_token_bitmask(self.row)
        self.x.apply_token_bitmask_inplace(logits, self.row)

    def accept(self, token: int) -> None:
        if not self.matcher.accept_token(token):
            raise NotSupported("a document")


class LLGuidance(Free):
    """llguidance: its forced tokens."""

    def __init__(self, tokenizer: Any, width: int) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.torch

        self.l = llguidance
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=width)
        self.row = llguidance.torch.allocate_token_bitmask(1, width)

    def begin(self, grammar: Any) -> None:
        if isinstance(grammar, str):
            raise NotSupported(grammar)
        options = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
        text = self.l.LLMatcher.grammar_from_json_schema(grammar, defaults=options)
        self.matcher = self.l.LLMatcher(self.tokenizer, text)
        if self.matcher.is_error():
            raise NotSupported("a schema")

    def jump(self, ids: list[int]) -> tuple[int, list[int]]:
        tokens = self.matcher.compute_ff_tokens()
        if tokens:
            self.matcher.consume_tokens(tokens)
        return 0, tokens

    def mask(self, logits: torch.Tensor) -> None:
        self.l.torch.fill_next_token_bitmask(self.matcher, self.row, 0)
        self.l.torch.apply_token_bitmask_inplace(logits, self.row)

    def accept(self, token: int) -> None:
        if not self.matcher.consume_token(token):
            raise NotSupported("a document")


class NotSupported(Exception):
    """An engine that cannot take part with a document."""


WAYS: dict[str, Callable[[Any, int], Free]] = {
    "free": Free,
    "off": Off,
    "canonical": Canonical,
    "xgrammar": XGrammar,
    "llguidance": LLGuidance,
}


class Replay:
    """One model and its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.width = int(model.config.vocab_size)
        self.prompt = tokenizer.encode("Fill in the form: ", add_special_tokens=False)

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def run(self, way: Free, document: Document) -> dict[str, float]:
        """Write a document; return calls, tokens, forced tokens, and the processor time in seconds."""
        _, grammar, text = document
        canonical = self.encode(text)
        lengths = [len(self.tokenizer.decode([token]).encode()) for token in canonical]
        starts = dict(zip(np.cumsum([0, *lengths]).tolist(), canonical, strict=False))
        data = text.encode()
        way.begin(grammar)
        ids: list[int] = []
        spelled: list[int] = []  # where each token ends
        cache = DynamicCache(config=self.model.config)
        read = calls = forced = 0
        began = time.process_time()
        with torch.no_grad():
            while True:
                back, tokens = way.jump([*self.prompt, *ids])
                if tokens:
                    keep = len(ids) - back
                    if read > len(self.prompt) + keep:
                        cache.crop(len(self.prompt) + keep - read)
                        read = len(self.prompt) + keep
                    del ids[keep:], spelled[keep:]
                    for token in tokens:
                        self._push(token, ids, spelled)
                    forced += len(tokens)
                place = spelled[-1] if spelled else 0
                if place >= len(data):
                    break
                pending = [*self.prompt, *ids][read:]
                logits = self.model(
                    torch.tensor([pending]), logits_to_keep=1, **{cache_keyword(self.model): cache}
                ).logits[:, -1]
                read += len(pending)
                calls += 1
                way.mask(logits)
                int(logits.argmax())
                token = starts[place] if place in starts else self.encode(data[place:].decode())[0]
                way.accept(token)
                self._push(token, ids, spelled)
        took = time.process_time() - began
        if self.tokenizer.decode(ids) != text:
            raise AssertionError(f"{self.tokenizer.decode(ids)!r} is not {text!r}")
        return {
            "calls": calls,
            "tokens": len(ids),
            "forced": forced,
            "seconds": took,
            "as_encoded": ids == canonical,
        }

    def _push(self, token: int, ids: list[int], spelled: list[int]) -> None:
        ids.append(token)
        spelled.append((spelled[-1] if spelled else 0) + len(self.tokenizer.decode([token]).encode()))


def documents(data: Path, tokenizer: Any) -> list[Document]:
    """Return what all ways can write: pure ASCII, so that every token is text by itself."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))

    found: list[Document] = [("character sheet", SHEET, compact(value)) for value in SHEETS]
    found += [("city", CITY, json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("é", "e").replace("ó", "o").replace("ã", "a")) for value in CITIES]  # fmt: skip
    schemas = 0
    for _, schema, value in instances(data, 600, 11):
        text = compact(value)
        size = len(tokenizer.encode(text, add_special_tokens=False))
        if not (isinstance(value, dict) and SHORT <= size <= LONG and "\\" not in text):
            continue
        if len(json.dumps(schema)) > LARGEST:  # XGrammar needs minutes for some
            continue
        try:
            for way in CHECKS:
                way.begin(schema)
                for token in tokenizer.encode(text, add_special_tokens=False):
                    way.accept(token)
        except (NotSupported, AssertionError, RuntimeError, sm.StackmaskError):
            continue
        found.append(("20 schemas", schema, text))
        schemas += 1
        if schemas == SCHEMAS:
            break
    return found


CHECKS: list[Free] = []


def queries() -> list[Document]:
    from training.make_questions import read_held_out

    return [("SQL", "sql", pair.sql) for pair in read_held_out()[:: 200 // QUERIES]]


def measure(replay: Replay, found: list[Document], rounds: int) -> dict[str, Any]:
    """Run every way over every document in turn; keep the best time of each."""
    ways = {name: make(replay.tokenizer, replay.width) for name, make in WAYS.items()}
    best: dict[tuple[str, int], dict[str, float]] = {}
    for way in ways.values():  # what is made when an engine is first used
        with suppress(NotSupported):
            replay.run(way, found[0])
    for _ in range(rounds):
        for i, document in enumerate(found):
            for name, way in ways.items():
                try:
                    result = replay.run(way, document)
                except NotSupported:
                    continue
                known = best.get((name, i))
                if known is None or result["seconds"] < known["seconds"]:
                    best[name, i] = result
    tasks: dict[str, Any] = {}
    for task in dict.fromkeys(document[0] for document in found):
        members = [i for i, document in enumerate(found) if document[0] == task]
        rows: dict[str, Any] = {}
        for name in ways:
            done = [best[name, i] for i in members if (name, i) in best]
            if len(done) == len(members):
                total = {key: sum(result[key] for result in done) for key in done[0]}
                rows[name] = {
                    "model_calls": int(total["calls"]),
                    "tokens": int(total["tokens"]),
                    "forced_percent": round(100 * total["forced"] / total["tokens"], 1),
                    "seconds": round(total["seconds"], 4),
                    "texts_as_encoded": f"{int(total['as_encoded'])} of {len(done)}",
                }
        off, free = rows["off"]["seconds"], rows["free"]["seconds"]
        for row in rows.values():
            row["times_as_fast_as_off"] = round(off / row["seconds"], 2)
        share = rows["canonical"]["forced_percent"] / 100
        tasks[task] = {
            "ways": rows,
            "bound": round(0.9 / (1 - share), 2),
            "mask_overhead_percent": round(100 * (off / free - 1), 1),
        }
        print(task, json.dumps(tasks[task]), flush=True)
    return tasks


def random_llama(tokenizer: Any) -> Any:
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=640, intermediate_size=1728, num_hidden_layers=12,
        num_attention_heads=10, num_key_value_heads=10, tie_word_embeddings=True, max_position_embeddings=1024,
        bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    return LlamaForCausalLM(config).eval()


def accuracy() -> dict[str, Any]:
    """Let the embedded model answer the held-out questions with and without jumps."""
    from stackmask.runtime.embedded import prompt_for
    from training.evaluate import judge
    from training.make_questions import read_held_out

    model, tokenizer = load_embedded()
    grammar = sm.Grammar.bundled("sql")
    found: dict[str, Any] = {}
    for jump in ("canonical", "off"):
        totals = {"model_calls": 0, "avoided_calls": 0, "forced_tokens": 0, "taken_back": 0}
        texts = []

        def answer(question: str, jump: str = jump, totals: dict[str, int] = totals, texts: list[str] = texts) -> tuple[str, bool]:  # fmt: skip
            (result,) = sm.generate(
                model,
                tokenizer,
                [prompt_for(question)],
                grammar,
                max_new_tokens=200,
                do_sample=False,
                jump=jump,
            )
            texts.append(result.text)
            for name in totals:
                totals[name] += getattr(result.jumps, name, 0)
            return result.text, result.finished

        began = time.process_time()
        outcomes = judge(read_held_out(), bundled_database(), answer, jump)
        found[jump] = {
            "right": sum(outcome.right for outcome in outcomes),
            "questions": len(outcomes),
            "seconds": round(time.process_time() - began, 2),
            **totals,
            "texts": texts,
        }
    found["same_texts"] = sum(a == b for a, b in zip(found["canonical"].pop("texts"), found["off"].pop("texts"), strict=True))  # fmt: skip
    print("accuracy", found, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--models", nargs="*", default=["embedded", "random"])
    parser.add_argument("--no-accuracy", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = load_tokenizer(options.data / "tokenizers" / "gpt2-50k")
    CHECKS.extend(make(tokenizer, len(tokenizer)) for name, make in WAYS.items() if name != "free")
    found = documents(options.data, tokenizer)
    # parts that are not measured now stay as they were
    result: dict[str, Any] = {}
    if (RESULTS / "jump_generation.json").exists():
        result = {
            k: v for k, v in json.loads((RESULTS / "jump_generation.json").read_text()).items() if k in PARTS
        }
    if not options.no_accuracy:
        result["held_out_questions"] = accuracy()
    if "embedded" in options.models:
        model, own = load_embedded()
        result["embedded"] = measure(Replay(model, own), [*found, *queries()], options.rounds)
    if "random" in options.models:
        few = [found[0], found[len(SHEETS)], *found[len(SHEETS) + len(CITIES) :]]  # it is slow
        result["random_100m"] = measure(Replay(random_llama(tokenizer), tokenizer), few, options.rounds)
    versions = {name: metadata.version(name) for name in ("torch", "transformers", "xgrammar", "llguidance")}
    print(
        write_result(
            "jump_generation", "python lab/benchmarks/jump_generation.py --data DATA", result, **versions
        )
    )


if __name__ == "__main__":
    main()
