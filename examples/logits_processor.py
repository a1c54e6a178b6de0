"""Hold ``model.generate`` of transformers to a grammar; every row of the batch may have its own. Needs the extra ``hf``.

The model is the small one that comes with stackmask, which turns questions about a shop into SQL; any other
causal language model is used in the same way.
"""

from __future__ import annotations

import stackmask as sm
from stackmask.runtime.embedded import load_embedded, prompt_for

QUESTIONS = ["How many customers are there?", "Which five customers spent the most?"]


def main() -> None:
    model, tokenizer = load_embedded()
    vocab = sm.Vocabulary.from_huggingface(tokenizer, size=model.config.vocab_size)
    compiler = sm.Compiler(vocab)
    any_query = compiler.compile(sm.Grammar.bundled("sql"))
    only_counts = compiler.compile(sm.Grammar.from_ebnf('root ::= "SELECT COUNT(*) FROM " [a-z_]+'))

    inputs = tokenizer([prompt_for(q) for q in QUESTIONS], return_tensors="pt", padding=True)
    inputs.pop("token_type_ids", None)
    output = model.generate(
        **inputs,
        max_new_tokens=200,
        do_sample=False,
        logits_processor=[sm.GrammarLogitsProcessor([only_counts, any_query])],
        pad_token_id=tokenizer.pad_token_id,
    )
    width = inputs["input_ids"].shape[1]
    for question, row in zip(QUESTIONS, output, strict=True):
        print(question)
        print("   ", tokenizer.decode(row[width:], skip_special_tokens=True).strip())


if __name__ == "__main__":
    main()
