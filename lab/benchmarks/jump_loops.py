"""Time generation itself, from the call to the text: without a grammar, with one, and with jumps.

    python lab/benchmarks/jump_loops.py --data PATH_TO_DATA_PACK

A processor prefers the next token of a document, so that every way writes the same text through its own loop: "free" is
``model.generate`` without a grammar, "off" is ``stackmask.generate(jump="off")``, "canonical" is
``stackmask.generate``. Tasks: a character sheet, facts of a city, JSON schemas of MaskBench, and SQL of the held-out
questions. Times are of the processor, in turn, the best of several rounds; the first round, in which masks and proposals are made, is given as well. What masks cost is
told in two ways: "off" beside "free", and what the logits processor took in "off" beside the rest of the same run, which
does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from json_grammar import load_tokenizer
from jump_forward import instances
from record import DATA, REPO, use_checkout, write_result

use_checkout()
sys.path.insert(0, str(REPO / "lab"))

import torch
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor

import stackmask as sm
from stackmask.runtime.embedded import load_embedded
from stackmask.runtime.generation import run as generation
from stackmask.runtime.generation.processor import GrammarLogitsProcessor

WAYS = ("free", "off", "canonical")
PROMPT = "Fill in the form: "
SHORT, LONG = 15, 60  # tokens of a schema's document
LARGEST = 1200  # characters of a schema
QUERIES = 20
Document = tuple[str, Any, str]  # task, grammar (a schema, or the name of a bundled grammar), text
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


def queries() -> list[Document]:
    from training.make_questions import read_held_out

    return [("SQL", "sql", pair.sql) for pair in read_held_out()[:: 200 // QUERIES]]


def random_llama(tokenizer: Any) -> Any:
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=640, intermediate_size=1728, num_hidden_layers=12,
        num_attention_heads=10, num_key_value_heads=10, tie_word_embeddings=True, max_position_embeddings=1024,
        bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    return LlamaForCausalLM(config).eval()


class Follow(LogitsProcessor):  # type: ignore[misc]
    """Prefer the next token of a document, wherever its text has got to, and then a stop token."""

    def __init__(self, tokenizer: Any, ids: list[int], prompt: int, stop: int) -> None:
        self.prompt = prompt
        self.lengths = [len(tokenizer.decode([i]).encode()) for i in range(len(tokenizer))]
        self.at: dict[int, int] = {}
        place = 0
        for token in ids:
            self.at[place] = token
            place += self.lengths[token]
        self.at[place] = stop

    def __call__(self, input_ids: Any, scores: torch.Tensor) -> torch.Tensor:
        place = sum(map(self.lengths.__getitem__, input_ids[0, self.prompt :].tolist()))
        scores[:, self.at[place]] += 1e6
        return scores


class Timed(GrammarLogitsProcessor):
    """The processor of "off", with a clock."""

    seconds = 0.0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        began = time.thread_time()
        result = super().__call__(input_ids, scores)
        Timed.seconds += time.thread_time() - began
        return result


setattr(Timed.__call__, "__signature__", inspect.signature(GrammarLogitsProcessor.__call__))  # noqa: B010


def schemas(data: Path, tokenizer: Any, count: int) -> list[Document]:
    """Return real schemas with a document each, such as jumps are made for: some keys are forced."""
    found: list[Document] = []
    for _, schema, value in instances(data, 600, 11):
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
        size = len(tokenizer.encode(text, add_special_tokens=False))
        if not (isinstance(value, dict) and SHORT <= size <= LONG and "\\" not in text):
            continue
        if len(json.dumps(schema)) > LARGEST:
            continue
        try:
            made = sm.Grammar.from_json_schema(schema, whitespace="compact", spelling="plain")
        except sm.StackmaskError:
            continue
        matcher = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer)).compile(made).matcher()
        if matcher.accept_string(text) and matcher.is_accepting():
            found.append((f"{count} schemas", schema, text))
        if len(found) == count:
            break
    return found


@cache
def compile_for(compiler: sm.Compiler, grammar: str) -> sm.CompiledGrammar:
    """Compile a schema, or the bundled grammar of a name, once."""
    if grammar.startswith("{"):
        made = sm.Grammar.from_json_schema(json.loads(grammar), whitespace="compact", spelling="plain")
    else:
        made = sm.Grammar.bundled(grammar)
    return compiler.compile(made)


def run(model: Any, tokenizer: Any, compiler: sm.Compiler, way: str, document: Document) -> dict[str, float]:
    """Write a document in one way; return the processor time in seconds, tokens, and calls of the model."""
    _, grammar, text = document
    ids = tokenizer.encode(text, add_special_tokens=False)
    prompt = tokenizer(PROMPT, return_tensors="pt")
    start = prompt["input_ids"].shape[1]
    follow = Follow(tokenizer, ids, start, compiler.vocabulary.stop_ids[0])
    room = 2 * len(ids) + 100  # far from the end: near it a budget leaves out tokens in captures
    compiled = None
    if way != "free":
        compiled = compile_for(compiler, grammar if isinstance(grammar, str) else json.dumps(grammar))
    Timed.seconds = 0.0
    began = time.process_time()
    if compiled is None:
        output = model.generate(
            **prompt, max_new_tokens=room, do_sample=False, logits_processor=[follow], pad_token_id=0,
            eos_token_id=list(compiler.vocabulary.stop_ids),
        )  # fmt: skip
        took = time.process_time() - began
        written = output[0, start:-1].tolist()
        calls = len(written) + 1
    else:
        (result,) = sm.generate(
            model, tokenizer, PROMPT, compiled, max_new_tokens=room, do_sample=False, logits_processor=[follow],
            compiler=compiler, jump=way,
        )  # fmt: skip
        took = time.process_time() - began
        written = list(result.token_ids)
        calls = len(written) + 1 if result.jumps is None else result.jumps.model_calls
    if tokenizer.decode(written) != text:
        raise AssertionError(f"{way}: {tokenizer.decode(written)!r} is not {text!r}")
    return {"seconds": took, "tokens": len(written) + 1, "calls": calls, "masks": Timed.seconds}


def measure(model: Any, tokenizer: Any, found: list[Document], rounds: int) -> dict[str, Any]:
    width = int(model.config.vocab_size)
    compiler = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer, size=width))
    for way in WAYS:
        run(model, tokenizer, compiler, way, found[0])  # imports, and whatever is made once
    first: dict[tuple[str, int], dict[str, float]] = {}
    best: dict[tuple[str, int], dict[str, float]] = {}
    for number in range(rounds):
        for i, document in enumerate(found):
            for way in WAYS[number % 3 :] + WAYS[: number % 3]:
                result = run(model, tokenizer, compiler, way, document)
                first.setdefault((way, i), result)
                if result["seconds"] < best.setdefault((way, i), result)["seconds"]:
                    best[way, i] = result
    tasks: dict[str, Any] = {}
    for task in dict.fromkeys(document[0] for document in found):
        members = [i for i, document in enumerate(found) if document[0] == task]
        total = {
            (name, way, key): sum(table[way, i][key] for i in members)
            for name, table in (("first", first), ("best", best))
            for way in WAYS
            for key in ("seconds", "tokens", "calls", "masks")
        }
        calls, tokens = total["best", "canonical", "calls"], total["best", "canonical", "tokens"]
        off = total["best", "off", "seconds"]
        masks = total["best", "off", "masks"]
        tasks[task] = {
            "documents": len(members),
            "tokens": int(tokens),
            "model_calls": int(calls),
            "avoided_percent": round(100 * (1 - calls / tokens), 1),
            "seconds": {way: round(total["best", way, "seconds"], 4) for way in WAYS},
            "first_seconds": {way: round(total["first", way, "seconds"], 4) for way in WAYS},
            "times_as_fast_as_off": round(off / total["best", "canonical", "seconds"], 2),
            "bound": round(0.9 * tokens / calls, 2),
            "mask_overhead_percent": round(100 * (off / total["best", "free", "seconds"] - 1), 1),
            "masks_beside_the_rest_percent": round(100 * masks / (off - masks), 2),
            "mask_us": round(1e6 * masks / total["best", "off", "calls"], 1),
        }
        print(task, json.dumps(tasks[task]), flush=True)
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rounds-random", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    generation.GrammarLogitsProcessor = Timed
    tokenizer = load_tokenizer(options.data / "tokenizers" / "gpt2-50k")

    def compact(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    found: list[Document] = [("character sheet", SHEET, compact(value)) for value in SHEETS]
    found += [("city", CITY, compact(value).encode().decode("ascii")) for value in CITIES[1:]]
    real = schemas(options.data, tokenizer, 20)
    model, own = load_embedded()
    result = {
        "embedded": measure(model, own, [*found, *real, *queries()], options.rounds),
        "random_100m": measure(
            random_llama(tokenizer), tokenizer, [found[0], found[-1], *real[:3]], options.rounds_random
        ),
    }
    versions = {name: metadata.version(name) for name in ("torch", "transformers")}
    print(write_result("jump_loops", "python lab/benchmarks/jump_loops.py --data DATA", result, **versions))


if __name__ == "__main__":
    main()
