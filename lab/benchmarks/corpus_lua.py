"""Compare ``grammars/lua.ebnf`` with Lua's own parser on real source files and on mutants of them.

    python lab/benchmarks/corpus_lua.py FOLDER... [--mutants N] [--write]

Every ``*.lua`` file below the folders is read once (equal files count once). Files that are not UTF-8 are
counted apart: grammars describe text. A mutant is a file with one token deleted, doubled or exchanged with
the next one. Refusals for meaning (labels, constants) and for limits are no syntax, see ``judges/lua.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from record import use_checkout, write_result

use_checkout()

from judges import lua
from recognizer import recognizer

from stackmask.grammar.grammar import Grammar

MUTANT_SIZE = 30_000  # bytes: larger files are not mutated


def source_files(folders: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the collection (the folder's child) and the content of every distinct file."""
    seen: set[bytes] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*.lua")):
            if path.is_file():
                data = path.read_bytes()
                digest = hashlib.sha1(data).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield path.relative_to(folder).parts[0], data


def mutants(data: bytes, count: int, rng: random.Random) -> Iterator[bytes]:
    """Yield mutants of one source file."""
    spans = lua.token_spans(data)
    for _ in range(count if len(spans) > 2 else 0):
        at = rng.randrange(len(spans) - 1)
        (a, b), (c, d) = spans[at], spans[at + 1]
        kind = rng.randrange(3)
        if kind == 0:
            yield data[:a] + b" " + data[b:]
        elif kind == 1:
            yield data[:b] + b" " + data[a:b] + data[b:]
        else:
            yield data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def main() -> None:
    """Run the comparison and print or write the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--mutants", type=int, default=3, help="mutants a file")
    parser.add_argument("--write", action="store_true", help="write build/results/corpus_lua.json")
    options = parser.parse_args()
    accepts = recognizer(Grammar.bundled("lua"))
    rng = random.Random(2)
    files: Counter[str] = Counter()
    mutated: Counter[str] = Counter()
    collections: Counter[str] = Counter()
    differences: list[str] = []
    size = 0
    seconds = 0.0

    def compare(data: bytes, counts: Counter[str], name: str) -> None:
        nonlocal size, seconds
        verdict = lua.judge(data)
        start = time.process_time()
        accepted = accepts(data)
        seconds += time.process_time() - start
        size += len(data)
        counts["judge accepts" if verdict.accepted else "judge rejects"] += 1
        if verdict.kind in ("semantic", "limit"):
            counts[f"of which {verdict.kind}"] += 1
        if accepted != verdict.accepted:
            counts["grammar accepts, judge rejects" if accepted else "grammar rejects, judge accepts"] += 1
            differences.append(f"{name}: {'accepted' if accepted else 'rejected'}; {verdict.note}"[:200])

    for collection, data in source_files(options.folders):
        collections[collection] += 1
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            files["not UTF-8"] += 1
            continue
        compare(data, files, collection)
        if len(data) <= MUTANT_SIZE:
            for mutant in mutants(data, options.mutants, rng):
                compare(mutant, mutated, f"mutant of {collection}")
    good = files["judge accepts"]
    result = {
        "files": dict(files),
        "accepted of real": f"{good - files['grammar rejects, judge accepts']} of {good}",
        "mutants": dict(mutated),
        "differences": differences[:40],
        "megabytes": round(size / 1e6, 1),
        "megabytes a second": round(size / 1e6 / seconds, 2),
        "collections": dict(collections.most_common()),
    }
    for key, value in result.items():
        print(f"{key}: {value}")
    if options.write:
        command = f"corpus_lua.py FOLDER --mutants {options.mutants}"
        print(write_result("corpus_lua", command, result, judge=lua.lua_version()))


if __name__ == "__main__":
    main()
