"""A tool loop: the embedded model calls a function with a query of its database, and answers from what comes back."""

import sqlite3
import sys

import stackmask as sm
from stackmask.runtime.embedded import bundled_database, load_embedded, prompt_for

MOST_TURNS = 3
# the embedded model knows no chat template, so its calls have a style of their own: `query`, the SQL, and its stop token
STYLE = sm.tools.ToolStyle((("\n{name}\n", "<|endoftext|>"),), arguments="text", trigger="\n")

database = sqlite3.connect(f"file:{bundled_database()}?mode=ro", uri=True)


def query(sql: str) -> list[tuple[object, ...]]:
    """Return the first rows of a query."""
    return database.execute(sql).fetchmany(5)


question = sys.argv[1] if len(sys.argv) > 1 else "Which city has the most customers?"
model, tokenizer = load_embedded()
# calls can hold nothing but queries of this database, with names that it has
tool = sm.tools.Tool.from_function(
    query, grammar=sm.Grammar.from_sql("sqlite", schema=database, blanks="single")
)
prompt = prompt_for(question)
choice: str = "required"
answers: list[str] | None = None
for _ in range(MOST_TURNS):
    [turn] = sm.generate(
        model, tokenizer, prompt, answers and sm.Grammar.of(answers),
        tools=[tool], tool_choice=choice, reasoning="off", style=STYLE, max_new_tokens=200,
    )  # fmt: skip
    if not turn.calls:
        print("answer:", turn.parsed)
        break
    for call in turn.calls:
        print("call:", call.name, call.arguments)
        rows = call.run()
        print("rows:", rows)
        prompt += f"{turn.text}\n{rows}\n"
    # it has what it asked for: the answer is one of the values that came back, and nothing else
    choice, answers = "none", sorted({str(value) for row in rows for value in row}) or ["nothing"]
