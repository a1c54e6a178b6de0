"""``./dev equal``: a planted difference is found and named, and nothing compared is no success."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stackmask

REPO = Path(__file__).resolve().parent.parent.parent
VIEW = Path(stackmask.__file__).parent
PLANTED = """
_read = Grammar.from_ebnf
def _changed(text, *given, **options):
    return _read(text.replace('"d', '"c'), *given, **options)
Grammar.from_ebnf = _changed
"""


def load(path: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of ``benchmarks``, and forget the folders that it looks in."""
    monkeypatch.syspath_prepend(str((REPO / path).parent))
    monkeypatch.syspath_prepend(str(REPO / "lab" / "benchmarks"))
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), REPO / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Any:
    return load("lab/benchmarks/equal/compare.py", monkeypatch)


def run(other: Path) -> subprocess.CompletedProcess[str]:
    """Compare this build with another one on a few random grammars, without the data pack."""
    script = str(REPO / "lab" / "benchmarks" / "equal" / "compare.py")
    given = [str(other), "--new", str(VIEW.parent), "--only", "random grammars", "--share", "0.02"]
    environment = {**os.environ, "STACKMASK_DATA": "/there is none"}
    return subprocess.run(
        [sys.executable, script, *given], check=False, capture_output=True, text=True, env=environment
    )


@pytest.mark.campaign
def test_a_build_equals_itself() -> None:
    done = run(VIEW.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "what the repository ships alone" in done.stdout
    assert "10 items" in done.stdout and "no difference" in done.stdout


@pytest.mark.campaign
def test_a_planted_difference_is_found(tmp_path: Path) -> None:
    package = tmp_path / "stackmask"
    package.mkdir()
    for part in VIEW.iterdir():
        if part.name not in ("__init__.py", "__pycache__"):
            (package / part.name).symlink_to(part)
    (package / "__init__.py").write_text((VIEW / "__init__.py").read_text("utf-8") + PLANTED, "utf-8")
    done = run(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "DIFFERENT: random grammars, item " in done.stdout
    assert "grammar: ebnf(root ::= " in done.stdout and "text: " in done.stdout
    assert "alone allows" in done.stdout and "tokens of the tokenizer 'letters': " in done.stdout


OLD = [{"corpus": "c", "items": 2}, [0, "string 0", [11, 12, "accepting: True"]], [1, "string 0", [5]]]


@pytest.mark.parametrize(
    "line, changed, found",
    [
        (1, [0, "string 0", [11, 13, "accepting: True"]], (0, "string 0", 1)),
        (1, [0, "string 0", [11]], (0, "string 0", 1)),
        (2, [1, "string 1", [5]], (1, "string 0", 0)),
        (2, None, (1, "string 0", 0)),
        (0, {"corpus": "c", "items": 3}, (-1, "end", 0)),
    ],
)
def test_the_first_difference(compare: Any, line: int, changed: Any, found: tuple[int, str, int]) -> None:
    new = [*OLD[:line], *([] if changed is None else [changed]), *OLD[line + 1 :]]
    *notes, difference = compare.differences(iter(OLD), iter(new))
    assert (difference.item, difference.part, difference.place) == found
    assert len(notes) == (line > 0)


def test_each_item_that_differs_has_one_difference(compare: Any) -> None:
    old = [
        *OLD,
        [2, "grammar", ["x"]],
        {"corpus": "c", "masks": 3},
        {"corpus": "d", "items": 1},
        [0, "a", [1]],
    ]
    new = [
        OLD[0],
        [0, "string 0", [11, 13]],
        [0, "string 1", [14]],
        [1, "string 0", [5]],
        [2, "grammar", ["y"]],
        {"corpus": "c", "masks": 4},
        {"corpus": "d", "items": 1},
        [0, "a", [2]],
    ]
    notes = list(compare.differences(iter(old), iter(new)))
    found = [
        (note.corpus, note.item, note.part, note.place)
        for note in notes
        if isinstance(note, compare.Difference)
    ]
    assert found == [("c", 0, "string 0", 1), ("c", 2, "grammar", 0), ("d", 0, "a", 0)]
    assert [note["corpus"] for note in notes if isinstance(note, dict)] == ["c", "c", "d"]


def test_equal_streams_differ_in_time_alone(compare: Any) -> None:
    streams = [iter([*OLD, {"corpus": "c", "masks": 3, "seconds": s}]) for s in (1.5, 2.5)]
    notes = list(compare.differences(*streams))
    assert notes[-1] == {"corpus": "c", "masks": 3, "seconds": [1.5, 2.5]}


@pytest.mark.parametrize("items, masks, answers, needs", [(0, 1, 1, True), (3, 0, 3, True), (3, 0, 0, False)])
def test_an_empty_corpus_fails(compare: Any, items: int, masks: int, answers: int, needs: bool) -> None:
    count = {"corpus": "c", "items": items, "masks": masks, "answers": answers, "needs_masks": needs}
    with pytest.raises(compare.Unequal, match="the corpus 'c' is empty"):
        compare.check_not_empty(count)


def test_a_crash_fails(compare: Any) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "print([1]); exit(3)"], stdout=subprocess.PIPE, text=True
    )
    with process, pytest.raises(compare.Unequal, match=r"this tree ended with status 3, after \[1\]"):
        list(compare.lines_of(process, "this tree"))


def test_an_earlier_engine_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = load("lab/benchmarks/earlier.py", monkeypatch)
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setattr(earlier, "REPO", tree)
    monkeypatch.setenv("STACKMASK_ENGINES", str(tmp_path / "engines"))
    builds: list[Path] = []
    monkeypatch.setattr(earlier, "_build", lambda path: (builds.append(path), (path / "build").mkdir()))

    def git(*arguments: str) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *names, *arguments], cwd=tree, check=True, capture_output=True)

    for name in ("setup.py", "same.pyx", "changed.pyx"):
        (tree / name).write_text("old")
        os.utime(tree / name, (1000, 1000))
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    (tree / "changed.pyx").write_text("new")
    commit = earlier.commit_of("HEAD")
    view = earlier.view_of_commit(commit)
    assert earlier.view_of_commit(commit) == view and len(builds) == 1
    copy = view.parent.parent
    assert (copy / "changed.pyx").read_text() == "old"
    # what Cython made of the file here is older than this, and so made anew
    assert (copy / "same.pyx").stat().st_mtime == 1000 < (copy / "changed.pyx").stat().st_mtime
    with pytest.raises(SystemExit, match="git knows no commit"):
        earlier.commit_of("no-such-commit")
