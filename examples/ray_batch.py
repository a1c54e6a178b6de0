"""A batch over transformers on two Ray actors: each loads the model once, and takes compiled grammars with its work.

    pip install ".[hf]" ray          # from a clone of stackmask
    python examples/ray_batch.py

A compiled grammar travels by its source; an actor that gets many of one vocabulary makes one compiler for them. Here the
model is the embedded one, and the actors are on this machine; with a cluster, ``ray.init`` finds it.
"""

from __future__ import annotations

import json
from typing import Any

import stackmask as sm
from stackmask.runtime.embedded import load_embedded, prompt_for

ACTORS = 2
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Paris", "Rome"]},
        "rating": {"type": "integer", "minimum": 1, "maximum": 5},
    },
    "required": ["city", "rating"],
    "additionalProperties": False,
}


class Worker:
    """A process with the model, which writes texts of grammars that others have compiled."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)  # actors share the cores
        self.model, self.tokenizer = load_embedded()

    def write(self, questions: list[str], grammars: list[sm.CompiledGrammar]) -> list[str]:
        """Return a text of each grammar."""
        prompts = [prompt_for(question) for question in questions]
        results = sm.generate(self.model, self.tokenizer, prompts, grammars, max_new_tokens=60)
        return [result.text for result in results]


def main() -> list[str]:
    """Write eight texts on two actors, and print them in the order of their questions."""
    import ray

    _, tokenizer = load_embedded()
    compiler = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer))
    rating = compiler.compile(sm.Grammar.from_json_schema(SCHEMA, profile="model"))
    date = compiler.compile(sm.Grammar.from_regex(r"20\d{2}-\d{2}-\d{2}"))
    work = [(f"How good is customer {i}?", rating if i % 2 else date) for i in range(8)]

    ray.init(num_cpus=ACTORS, include_dashboard=False, log_to_driver=False)
    try:
        remote: Any = ray.remote(num_cpus=1)(Worker)
        actors = [remote.remote() for _ in range(ACTORS)]
        parts = [work[i::ACTORS] for i in range(ACTORS)]
        futures = [
            actor.write.remote([q for q, _ in part], [g for _, g in part])
            for actor, part in zip(actors, parts, strict=True)
        ]
        written = ray.get(futures)
    finally:
        ray.shutdown()
    texts = [written[i % ACTORS][i // ACTORS] for i in range(len(work))]
    for (question, _), text in zip(work, texts, strict=True):
        print(f"{question} {text}")
    for i, text in enumerate(texts):
        assert isinstance(json.loads(text), dict) if i % 2 else len(text) == 10
    return texts


if __name__ == "__main__":
    main()
