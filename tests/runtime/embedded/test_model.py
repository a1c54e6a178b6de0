"""The embedded model loads quickly, spells everything, and answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stackmask
from stackmask.runtime import embedded
from stackmask.runtime.embedded import EmbeddedModelError, bundled_database, load_embedded, prompt_for

REPO = Path(__file__).resolve().parents[3]
RESULTS = REPO / "lab" / "benchmarks" / "results" / "embedded_accuracy.json"
SLICE = 40  # of the held-out questions are asked here
LEAST = 0.6  # execution accuracy


@pytest.fixture(scope="module")
def loaded() -> tuple[Any, Any]:
    return load_embedded()


def test_files_are_small() -> None:
    folder = Path(embedded.__file__).parent
    for weights in folder.glob("*.safetensors"):
        assert weights.stat().st_size <= 12_000_000
    assert (folder / "tokenizer.json").stat().st_size <= 1_000_000


def test_loads_a_small_model(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = load_embedded()
    assert not model.training
    assert str(model.dtype) == "torch.float32"
    assert model.config.vocab_size == len(tokenizer)
    assert sum(p.numel() for p in model.parameters()) < 6_000_000


@pytest.mark.campaign
def test_importing_does_not_import_torch() -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; import stackmask.runtime.embedded as e; e.prompt_for('x'); "
        "e.bundled_database(); assert not {'torch', 'transformers'} & set(sys.modules); "
        "e.load_embedded_tokenizer(); assert 'torch' not in sys.modules"
    )
    folders = [p for p in sys.path if p]
    subprocess.run([sys.executable, "-c", code, *folders], check=True, timeout=600)


def test_tokenizer_spells_every_byte(loaded: tuple[Any, Any]) -> None:
    _, tokenizer = loaded
    vocabulary = stackmask.Vocabulary.from_huggingface(tokenizer)
    spelled = set(vocabulary.tokens)
    assert {bytes([i]) for i in range(256)} <= spelled
    for text in ("SELECT 'Zoë''s 10% — 日本 🙂' AS x", "a\tb\r\n  c", "  two  blanks "):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_prompt_is_one_line() -> None:
    assert prompt_for("  How many\n customers? ") == "How many customers?\n"
    for question in ("", " \n", "x" * 1000):
        with pytest.raises(EmbeddedModelError):
            prompt_for(question)


def test_missing_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(embedded, "FOLDER", tmp_path)
    with pytest.raises(EmbeddedModelError, match=r"shop\.sqlite"):
        bundled_database()
    with pytest.raises(EmbeddedModelError, match=r"model\.safetensors"):
        load_embedded()


def test_first_question_of_the_readme(loaded: tuple[Any, Any]) -> None:
    from training.evaluate import answerer, open_database, rows_of
    from training.handwritten import TOP_SPENDERS

    sql, finished = answerer(*loaded)("Which five customers spent the most?")
    assert finished
    connection = open_database(bundled_database())
    try:
        rows = rows_of(connection, sql)
        assert rows == rows_of(connection, TOP_SPENDERS + "5")
        assert rows is not None and len(rows) == 5
    finally:
        connection.close()


@pytest.mark.campaign
def test_answers_unseen_wordings(loaded: tuple[Any, Any]) -> None:
    from training.evaluate import answerer, judge
    from training.make_questions import read_held_out

    outcomes = judge(read_held_out()[:SLICE], bundled_database(), answerer(*loaded))
    assert all(outcome.parses for outcome in outcomes if outcome.finished)
    assert sum(outcome.right for outcome in outcomes) >= LEAST * SLICE


def test_reported_accuracy() -> None:
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    held_out = result["held_out"]
    assert held_out["with_grammar"]["questions"] == held_out["without_grammar"]["questions"] == 200
    assert held_out["with_grammar"]["accuracy"] >= LEAST
    assert held_out["with_grammar"]["does_not_parse"] <= held_out["with_grammar"]["cut_off"]


def test_a_call_takes_one_thread_and_sets_back_what_was_set(loaded: tuple[Any, Any]) -> None:
    torch = pytest.importorskip("torch")
    model, before = loaded[0], torch.get_num_threads()
    seen: list[int] = []
    hook = model.model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    try:
        torch.set_num_threads(2)
        model(torch.tensor([[1, 2]]))
        assert (seen, torch.get_num_threads()) == ([1], 2)
        with pytest.raises(IndexError):
            model(torch.tensor([[1_000_000]]))
        assert torch.get_num_threads() == 2
    finally:
        hook.remove()
        torch.set_num_threads(before)
