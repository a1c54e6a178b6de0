"""Compare the engine of this working tree with that of an earlier commit, answer by answer, through the public API.

    ./dev equal REV [--new REV] [--full] [--all] [--share F] [--only CORPUS …] [--data PATH]

Both engines do the same work, each in a process of its own: masks along strings, reports and messages, forced text, completions,
masks under budgets. The first difference is shown with its grammar, its text and its place, and ends the comparison with status 1;
with ``--all`` the first one of each item is listed.
So does a corpus that is empty. Some ten minutes on two cores; ``--full`` takes all of each corpus, for hours.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from earlier import commit_of, view_of_commit
from record import DATA, REPO

SHOWN = 12  # tokens of a difference
SHORT = 160  # characters of an answer where all differences are listed


@dataclass(frozen=True)
class Engine:
    """A build: what to call it, and the folder that ``import stackmask`` finds it in."""

    name: str
    view: Path

    def start(self, arguments: list[str]) -> subprocess.Popen[str]:
        """Start asking it."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.view),
            "PYTHONHASHSEED": "0",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, str(FOLDER / "walk.py"), *arguments]
        return subprocess.Popen(
            command,
            env=environment,
            cwd=tempfile.gettempdir(),
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


@dataclass(frozen=True)
class Difference:
    """Where two streams part, and what stands there."""

    corpus: str
    item: int
    part: str
    place: int
    answers: tuple[Any, Any]

    def row(self) -> str:
        """Return a line that says where it is, and the beginnings of both answers."""
        old, new = (str(answer)[:SHORT] for answer in self.answers)
        return f"  {self.corpus}, item {self.item}, {self.part}, place {self.place}: {old} | {new}"


class Unequal(Exception):
    """The engines differ, or one of them has ended."""


def lines_of(process: subprocess.Popen[str], name: str) -> Iterator[Any]:
    """Yield what an engine writes. Raises: Unequal if it ends in another way than by itself."""
    assert process.stdout is not None
    last = None
    for line in process.stdout:
        last = json.loads(line)
        yield last
    if process.wait():
        where = "before anything" if last is None else f"after {str(last)[:300]}"
        raise Unequal(f"{name} ended with status {process.returncode}, {where}")


def by_item(lines: Iterator[Any]) -> Iterator[dict[str, Any] | list[Any]]:
    """Yield the notes on corpora, and the lines of each item together."""
    group: list[Any] = []
    for line in lines:
        if group and (isinstance(line, dict) or line[0] != group[0][0]):
            yield group
            group = []
        if isinstance(line, dict):
            yield line
        else:
            group.append(line)
    if group:
        yield group


def differences(old: Iterator[Any], new: Iterator[Any]) -> Iterator[dict[str, Any] | Difference]:
    """Yield the notes on corpora (dicts) that both write, and the first difference of each item that differs.

    Where one has a note and the other an item, or one has ended, that is the last difference.
    """
    corpus, equal = "", True
    for one, other in itertools.zip_longest(by_item(old), by_item(new)):
        if isinstance(one, dict) and isinstance(other, dict):
            # what it took may differ, and what it said of items that differ
            seconds = [note.pop("seconds", 0) for note in (one, other)]
            if one != other and (equal or "items" in one):
                yield _difference(corpus, one, other)
                return
            corpus, equal = one["corpus"], equal or "items" in one
            yield {**other, "seconds": seconds}
        elif one != other:
            equal = False
            pairs = itertools.zip_longest(
                *(side if isinstance(side, list) else [side] for side in (one, other))
            )
            first = next(pair for pair in pairs if pair[0] != pair[1])
            yield _difference(corpus, *first)
            if not isinstance(one, list) or not isinstance(other, list) or one[0][0] != other[0][0]:
                return


def _difference(corpus: str, one: Any, other: Any) -> Difference:
    if not isinstance(one, list) or not isinstance(other, list) or one[:2] != other[:2]:
        found = next((line for line in (one, other) if isinstance(line, list)), [-1, "end", []])
        return Difference(corpus, found[0], found[1], 0, (one, other))
    pairs = itertools.zip_longest(one[2], other[2])
    place = next(i for i, (a, b) in enumerate(pairs) if a != b)
    return Difference(corpus, one[0], one[1], place, (one[2][place:][:1], other[2][place:][:1]))


def compare(
    old: Engine, new: Engine, arguments: list[str], take_all: bool = False
) -> tuple[list[dict[str, Any]], list[Difference]]:
    """Ask both, print a line for each corpus, and return the counts and the first difference.

    ``take_all``: continue after it, and print a line for each item that differs.

    Raises: Unequal if an engine has crashed, or a corpus is empty.
    """
    processes = [engine.start(arguments) for engine in (old, new)]
    counts: list[dict[str, Any]] = []
    found: list[Difference] = []
    items = 0
    try:
        streams = [lines_of(p, e.name) for p, e in zip(processes, (old, new), strict=True)]
        for note in differences(*streams):
            if isinstance(note, Difference):
                found.append(note)
                if not take_all:
                    return counts, found
                print(note.row(), flush=True)
                continue
            if "items" in note:
                items = note["items"]
                continue
            counts.append({**note, "items": items})
            print(row_of(counts[-1]), flush=True)
            check_not_empty(counts[-1])
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    if not counts:
        raise Unequal("no corpus was compared")
    return counts, found


def row_of(count: dict[str, Any]) -> str:
    """Return the line of a corpus; the last column is the processor time of both engines."""
    numbers = (f"{count[key]:>9,} {key}" for key in ("items", "strings", "masks", "answers", "refused"))
    raw = f"  {count['raw']:,} errors of Python" if count["raw"] else ""
    old, new = count["seconds"]
    return f"{count['corpus']:30}{'  '.join(numbers)}  {old:7.0f} / {new:.0f} s{raw}"


def check_not_empty(count: dict[str, Any]) -> None:
    """Refuse a corpus of which nothing was compared. Raises: Unequal."""
    if not count["items"] or not count["masks" if count["needs_masks"] else "answers"]:
        raise Unequal(f"the corpus {count['corpus']!r} is empty: {count}")


def describe(difference: Difference, old: Engine, new: Engine, arguments: list[str]) -> str:
    """Ask both engines for the answer that differs once more, and return it as text."""
    target = [difference.corpus, str(difference.item), difference.part, str(difference.place)]
    wanted = [*arguments, "--target", *target]
    answers = []
    for engine in (old, new):
        output, _ = engine.start(wanted).communicate()
        answers.append([json.loads(line) for line in output.splitlines()])
    lines = [
        f"DIFFERENT: {difference.corpus}, item {difference.item}, {difference.part}, place {difference.place}"
    ]
    if answers[0]:
        lines += [f"item:    {answers[0][0]['item']}", f"grammar: {answers[0][0]['made'][:3000]}"]
    said = [found[1] if len(found) > 1 else {} for found in answers]
    names = (old.name, new.name)
    if all("mask" in one for one in said):
        lines.append(f"text:    {said[0]['before']}")
        lines += _tokens(*said, names, answers[0][0]["role"], arguments)
    else:
        for name, one, answer in zip(names, said, difference.answers, strict=True):
            lines.append(f"{name}: {one.get('value', answer)}")
    return "\n".join(lines)


def _tokens(one: Any, other: Any, names: tuple[str, str], role: str, arguments: list[str]) -> list[str]:
    """Return the tokens that one mask allows and the other does not."""
    bits = [int.from_bytes(bytes.fromhex(found["mask"]), "little") for found in (one, other)]
    if bits[0] == bits[1] and one["needed"] == other["needed"]:
        return [
            "the masks are equal when they are asked for again: the difference depends on what was asked before"
        ]
    lines = []
    for i, name in enumerate(names):
        alone = bits[i] & ~bits[1 - i]
        ids = [k for k in range(alone.bit_length()) if alone >> k & 1]
        shown = ", ".join(f"{k} {one['tokens'][k]}" for k in ids[:SHOWN]) + (" …" if len(ids) > SHOWN else "")
        lines.append(f"{name} alone allows {len(ids):,} tokens of the tokenizer {role!r}: {shown}")
    if one["needed"] != other["needed"]:
        lines.append(f"the mask has to be applied: {one['needed']}, {other['needed']}")
    return lines


def engine_of(rev: str) -> Engine:
    """Return the build of a commit, or of the folder from which one is imported."""
    if Path(rev, "stackmask").is_dir():
        return Engine(rev, Path(rev).resolve())
    commit = commit_of(rev)
    return Engine(commit[:8], view_of_commit(commit))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev equal", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "rev", help="a commit, or the folder from which `import stackmask` finds another build"
    )
    parser.add_argument(
        "--new",
        metavar="REV",
        help="another commit in place of this tree, which may then be changed meanwhile",
    )
    parser.add_argument("--full", action="store_true", help="all of each corpus")
    parser.add_argument("--all", action="store_true", help="continue after a difference, and list them")
    parser.add_argument(
        "--share", type=float, default=1.0, help="so much of the usual work: 0.2 takes two minutes"
    )
    parser.add_argument("--only", nargs="+", metavar="CORPUS", help="these corpora alone, by name")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    old = engine_of(given.rev)
    new = engine_of(given.new) if given.new else Engine("this tree", REPO / "build" / "view")
    arguments = [str(REPO)]
    if Path(given.data).is_dir():
        arguments += ["--data", str(Path(given.data).resolve())]
    else:
        print(f"no data pack at {given.data}: what the repository ships alone", flush=True)
    arguments += ["--full"] if given.full else ["--share", str(given.share)]
    asked = [*arguments, *(["--only", *given.only] if given.only else [])]
    begin = time.monotonic()
    try:
        counts, found = compare(old, new, asked, given.all)
    except Unequal as error:
        print(f"FAILED: {error}")
        return 1
    total = sum(count["masks"] + count["answers"] for count in counts)
    if found:
        print(describe(found[0], old, new, arguments))
        if given.all:
            print(f"{len(found)} items differ from {old.name}: {total:,} masks and answers")
        return 1
    print(f"no difference from {old.name}: {total:,} masks and answers, {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
