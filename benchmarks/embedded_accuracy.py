"""Measure the embedded model: execution accuracy on unseen wordings, with the SQL grammar and without.

``python benchmarks/embedded_accuracy.py`` writes results/embedded_accuracy.json. The 200 questions are those of
training/held_out.json: frames that training never used, over the same database. The handwritten questions are in
no frame at all.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from record import REPO, use_checkout, write_result

use_checkout()
sys.path.insert(0, str(REPO))

import torch
import transformers

from stackmask.runtime.embedded import bundled_database, load_embedded
from training.evaluate import report, with_grammar, without_grammar
from training.make_questions import handwritten_pairs, read_held_out


def main() -> None:
    """Judge both sets twice and write the numbers, with every wrong answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model, tokenizer = load_embedded()
    ways = {
        "with_grammar": with_grammar(model, tokenizer),
        "without_grammar": without_grammar(model, tokenizer),
    }
    result: dict[str, Any] = {}
    for name, pairs in (("held_out", read_held_out()), ("handwritten", handwritten_pairs())):
        result[name] = {
            way: report(pairs, bundled_database(), answer, f"{name}, {way.replace('_', ' ')}")
            for way, answer in ways.items()
        }
        for way, numbers in result[name].items():
            print(f"{name:12} {way:16} {numbers['right']}/{numbers['questions']} right")
    path = write_result(
        "embedded_accuracy",
        "python benchmarks/embedded_accuracy.py",
        result,
        torch=torch.__version__,
        transformers=transformers.__version__,
    )
    print(path.relative_to(REPO))


if __name__ == "__main__":
    main()
