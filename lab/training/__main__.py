"""Make everything anew: ``PYTHONPATH=lab python -m training`` writes the database, the model, the held-out questions.

Steps can be left out: ``PYTHONPATH=lab python -m training database questions`` (the others: ``train``, ``evaluate``).
Reading and evaluation need stackmask itself installed; everything else needs torch, transformers, tokenizers, safetensors
and tqdm.
"""

from __future__ import annotations

import argparse

from training.make_database import content_digest, make_database
from training.make_questions import held_out_pairs, skeletons, write_held_out
from training.train import BATCH, STEPS, TARGET, train

DATABASE = TARGET / "shop.sqlite"
HELD_OUT_QUESTIONS = 200
ALL = ("database", "train", "questions", "evaluate")


def main() -> None:
    """Run the steps named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", choices=[*ALL, []], help=f"of {', '.join(ALL)}; all by default")
    steps = parser.parse_args().steps or ALL
    if "database" in steps:
        make_database(DATABASE)
        print(f"{DATABASE.name}: content {content_digest(DATABASE)}")
    if "train" in steps:
        print(train())
    if "questions" in steps:
        # every wording of the very stream that training draws is excluded
        seen = skeletons(STEPS * BATCH)
        pairs = held_out_pairs(HELD_OUT_QUESTIONS, DATABASE, seen)
        write_held_out(pairs)
        print(f"{len(pairs)} questions of unseen wording, {len(seen):,} wordings seen")
    if "evaluate" in steps:
        from stackmask.runtime.embedded import load_embedded
        from training.evaluate import answerer, report
        from training.make_questions import read_held_out

        model, tokenizer = load_embedded()
        for label, grammar in (("with the grammar", "sql"), ("without a grammar", None)):
            answer = answerer(model, tokenizer, grammar)
            numbers = report(read_held_out(), DATABASE, answer, label)
            print(f"{label}: {numbers['right']}/{numbers['questions']} right")


if __name__ == "__main__":
    main()
