"""Ask the embedded model about a database that it never saw, with the schema in its prompt.

``python lab/benchmarks/embedded_museum.py`` writes results/embedded_museum.json: execution accuracy on the 60 questions of
lab/training/museum_questions.py, in the grammar that ``stackmask sql`` uses, in the small portable one, and without one; how
many answers do not parse or run; every answer.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import Any

from record import REPO, use_checkout, write_result

use_checkout()
sys.path.insert(0, str(REPO / "lab"))

import torch
import transformers

import stackmask
from stackmask.runtime.cli.command_sql import make_grammar
from stackmask.runtime.cli.prompts import make_embedded_prompt
from stackmask.runtime.cli.query_process import open_database
from stackmask.runtime.embedded import bundled_database, load_embedded
from training.evaluate import open_database as open_rows
from training.evaluate import parses, rows_of, same_rows
from training.museum_questions import museum_questions

MAX_NEW_TOKENS = 128


def main() -> None:
    """Ask every question in three ways."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load_embedded(reading=True)
    path = bundled_database("museum")
    questions = museum_questions()
    result: dict[str, Any] = {}
    with closing(open_database(path)) as database, closing(open_rows(path)) as rows:
        prompts = [
            make_embedded_prompt(question, database.schema, tokenizer, MAX_NEW_TOKENS).text
            for question, _ in questions
        ]
        for way, grammar in (
            ("stackmask_sql", make_grammar(database)),
            ("sql_ebnf", stackmask.Grammar.bundled("sql")),
            ("without_grammar", None),
        ):
            answers = []
            for prompt, (question, gold) in zip(prompts, questions, strict=True):
                (answer,) = stackmask.generate(
                    model, tokenizer, [prompt], grammar, max_new_tokens=MAX_NEW_TOKENS, do_sample=False
                )
                text = answer.text
                answers.append(
                    {
                        "question": question,
                        "answer": text,
                        "right": same_rows(rows, gold, text),
                        "parses": parses(text),
                        "runs": rows_of(rows, text) is not None,
                    }
                )
            right = sum(a["right"] for a in answers)
            result[way] = {
                "questions": len(answers),
                "right": right,
                "does_not_parse": sum(not a["parses"] for a in answers),
                "does_not_run": sum(not a["runs"] for a in answers),
                "answers": answers,
            }
            print(f"{way:16} {right}/{len(answers)} right, {result[way]['does_not_run']} do not run")
    written = write_result(
        "embedded_museum",
        "python lab/benchmarks/embedded_museum.py",
        result,
        torch=torch.__version__,
        transformers=transformers.__version__,
    )
    print(written.relative_to(REPO))


if __name__ == "__main__":
    main()
