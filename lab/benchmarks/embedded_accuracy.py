"""Measure the embedded model: execution accuracy on unseen wordings, with two SQL grammars and without.

``python lab/benchmarks/embedded_accuracy.py`` writes results/embedded_accuracy.json. The 200 questions are those of
lab/training/held_out.json: frames that training never used, over the same database. The handwritten questions are in
no frame at all. The grammars: the bundled `sql`, and that of the schema in the profile `model`, which ``stackmask sql`` uses. The sampled run shows what the grammar is worth when the model does not take its best guess.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from record import REPO, use_checkout, write_result

use_checkout()
sys.path.insert(0, str(REPO / "lab"))

import torch
import transformers

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.embedded import bundled_database, load_embedded
from training.evaluate import answerer, report
from training.make_questions import handwritten_pairs, read_held_out

TEMPERATURE = 1.5  # of the sampled run: the model is unsure, the grammar is not


def main() -> None:
    """Judge both sets twice and write the numbers, with every wrong answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model, tokenizer = load_embedded()
    result: dict[str, Any] = {}
    schema = Grammar.from_sql("sqlite", schema=bundled_database(), profile="model")
    first, second = handwritten_pairs()
    for name, pairs, temperature in (
        ("held_out", read_held_out(), 0.0),
        ("handwritten_first", first, 0.0),
        ("handwritten_second", second, 0.0),
        ("held_out_sampled", read_held_out(), TEMPERATURE),
    ):
        result[name] = {"temperature": temperature}
        for way, grammar in (("with_grammar", "sql"), ("with_schema", schema), ("without_grammar", None)):
            answer = answerer(model, tokenizer, grammar, temperature)
            numbers = report(pairs, bundled_database(), answer, f"{name} {way}")
            result[name][way] = numbers
            print(f"{name:19} {way:16} {numbers['right']}/{numbers['questions']} right")
    path = write_result(
        "embedded_accuracy",
        "python lab/benchmarks/embedded_accuracy.py",
        result,
        torch=torch.__version__,
        transformers=transformers.__version__,
    )
    print(path.relative_to(REPO))


if __name__ == "__main__":
    main()
