"""``stackmask sql`` before a model is loaded, and the note beside an answer that the model was not sure of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackmask.runtime.cli import command_sql
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.command_sql import is_unsure, mean_log_probability
from stackmask.runtime.embedded import prompt_for

NOTE = "note: low confidence"


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["sql", *arguments])


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("question", "marked"),
    [
        ("Which five customers spent the most?", False),
        ("How many customers are there?", False),
        ("What is the meaning of life?", True),
        ("Delete all customers", True),
    ],
)
def test_answers_to_other_questions_are_marked(question: str, marked: bool) -> None:
    result = call(question)
    assert result.exit_code == 0
    assert (NOTE in result.stderr) == marked and NOTE not in result.stdout


def test_the_mean_is_that_of_the_models_own_tokens(model: Any, tokenizer: Any) -> None:
    import torch

    prompt, ids = prompt_for("How many orders are open?"), tokenizer("SELECT")["input_ids"]
    before = tokenizer(prompt)["input_ids"]
    wanted = 0.0
    for count, token in enumerate(ids):
        logits = model(torch.tensor([before + ids[:count]])).logits[0, -1]
        wanted += float(torch.log_softmax(logits.detach().float(), -1)[token]) / len(ids)
    found = mean_log_probability(model, tokenizer, prompt, ids)
    assert found == pytest.approx(wanted, abs=1e-4)
    assert mean_log_probability(model, tokenizer, prompt, []) is None
    assert not is_unsure(None, embedded=True)
    assert is_unsure(-0.5, embedded=True) and not is_unsure(-0.5, embedded=False)


def test_a_database_without_a_model_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command_sql, "load_model", None)  # nothing is loaded
    file = tmp_path / "pets.csv"
    file.write_text("name,age\nRex,3\n")
    result = call("how many?", "--db", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "1 table (pets)" in result.stderr and "--model" in result.stderr
    result = call("how many?", "--model", str(tmp_path / "none"))
    assert (result.exit_code, result.stdout) == (2, "") and "there is no such folder" in result.stderr
    assert "no config.json" in call("how many?", "--model", str(tmp_path)).stderr


def test_tables_are_shown_without_a_question(tmp_path: Path) -> None:
    result = call("--show-schema")
    assert result.exit_code == 0 and "CREATE TABLE customers (id INTEGER PRIMARY KEY," in result.stdout
    assert call("--show-schema", "--db", str(tmp_path / "none")).exit_code == 2
    assert "give a question, or --show-schema" in call().stderr
