"""The process that fuzzes one target; ``lab/fuzz/run.py`` starts it and reads the lines that it writes.

    python lab/fuzz/worker.py TARGET STATUS_FILE ENGINE COMPANY_FILE [libFuzzer options] CORPUS_FOLDER

ENGINE is the folder of a copy of the tree that was compiled with STACKMASK_CHECK=edges. COMPANY_FILE gets the inputs that must
run before the one that found something, on the same compilers, as a list in JSON.

Python is instrumented by atheris, the extensions by the compiler (see ``edges.cc``).
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
STATUS_SECONDS = 1.0
SITES_SECONDS = 15.0
PLAIN_MUTATIONS = 0.15  # share of the inputs of texts whose bytes are mutated


def use_sources(engine: Path) -> None:
    """Make the engine, the helpers of its tests and this package importable."""
    sys.path[:0] = [str(engine / "build" / "view"), str(REPO / "tests")]
    sys.path.append(str(REPO / "lab"))


def modules_of(engine: Path, packages: Iterable[str]) -> list[str]:
    """Return the names of all modules of some packages of the engine."""
    view = engine / "build" / "view"
    found = []
    for package in packages:
        for path in sorted((view / package.replace(".", "/")).resolve().rglob("*.py")):
            inner = path.relative_to((view / package.replace(".", "/")).resolve()).with_suffix("")
            found.append(".".join((package, *inner.parts)).removesuffix(".__init__"))
    return found


class Edges:
    """The basic blocks of the extensions that have run: a library that must be loaded before they are."""

    def __init__(self) -> None:
        library = REPO / "build" / "edges.so"
        source = Path(__file__).with_name("edges.cc")
        if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
            library.parent.mkdir(exist_ok=True)
            made = library.with_suffix(f".{os.getpid()}")
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
            made.rename(library)
        self.library = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        self.library.edges_place.restype = ctypes.c_size_t
        self.looked_at = 0
        self.modules: list[tuple[int, int, str]] = []

    def attach(self, fuzzer: ctypes.CDLL) -> None:
        """Hand the counters to libFuzzer."""
        names = ("__sanitizer_cov_8bit_counters_init", "__sanitizer_cov_pcs_init")
        functions = [getattr(fuzzer, name) for name in names]
        self.library.edges_attach(*(ctypes.cast(function, ctypes.c_void_p) for function in functions))

    def reached(self) -> int:
        """Return how many basic blocks have run."""
        return int(self.library.edges_reached())

    def new_sites(self) -> list[str]:
        """Return the blocks that were reached since the last call, as extension and place in it."""
        end = self.reached()
        found = []
        for number in range(self.looked_at, end):
            place = int(self.library.edges_place(number))
            found.append(self._named(place))
        self.looked_at = end
        return found

    def _named(self, place: int) -> str:
        for attempt in range(2):
            for low, high, name in self.modules:
                if low <= place < high:
                    return f"{name} {place - low:x}"
            if attempt == 0:
                self._read_modules()
        return f"unknown {place:x}"

    def _read_modules(self) -> None:
        spans: dict[str, tuple[int, int]] = {}
        for line in Path("/proc/self/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].endswith(".so"):
                low, high = (int(value, 16) for value in fields[0].split("-"))
                known = spans.get(fields[5], (low, high))
                spans[fields[5]] = (min(known[0], low), max(known[1], high))
        self.modules = [
            (*span, path.rpartition("/build/edges/")[2].partition(".")[0]) for path, span in spans.items()
        ]


class Status:
    """Counts executions and writes how far they are to a file, one line of JSON at a time."""

    def __init__(self, path: Path, edges: Edges) -> None:
        self.file = path.open("a")
        self.sites = path.with_suffix(".sites").open("a")
        self.edges = edges
        self.executions = 0
        self.next = self.next_sites = 0.0

    def count(self) -> None:
        """Count an execution."""
        self.executions += 1
        now = time.monotonic()
        if now >= self.next:
            self.next = now + STATUS_SECONDS
            self.write()
            if now >= self.next_sites:
                self.next_sites = now + SITES_SECONDS
                for site in self.edges.new_sites():
                    self.sites.write(site + "\n")
                self.sites.flush()

    def write(self) -> None:
        """Write the line."""
        processor = round(time.process_time(), 1)
        line = {"executions": self.executions, "native": self.edges.reached(), "processor": processor}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def lay_out(name: str, target: Any, folder: Path) -> None:
    """Write the corpus that the tree has, and the seeds, beside what earlier runs left."""
    from fuzz.inputs import corpus_of

    inputs = [*corpus_of(name), *target.seeds()]
    for number, data in enumerate(inputs):
        (folder / f"kept-{number}").write_bytes(data)


def main() -> None:
    name, status_path, engine, company_path, *options = sys.argv[1:]
    use_sources(Path(engine))
    edges = Edges()
    import atheris

    from fuzz import targets

    with atheris.instrument_imports(
        include=["stackmask"], exclude=modules_of(Path(engine), targets.uninstrumented(name))
    ):
        target = targets.load(name)
    from fuzz.company import needed_before, run_input

    lay_out(name, target, Path(options[-1]))
    status = Status(Path(status_path), edges)

    def one_input(data: bytes) -> None:
        status.count()
        try:
            run_input(target.run, data)
        except Exception:
            after = needed_before(target.run, data)
            line = None if after is None else [other.decode("latin-1") for other in after]
            Path(company_path).write_text(json.dumps(line))
            raise

    mutate: Any = getattr(target, "mutate", None)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        source = random.Random(seed)
        if source.random() < PLAIN_MUTATIONS:
            return atheris.Mutate(data, most)
        return bytes(mutate(data, source)[:most])

    arguments = [sys.argv[0], f"-max_len={target.MAX_LENGTH}", *options]
    if mutate is None:
        atheris.Setup(arguments, one_input)
    else:
        atheris.Setup(arguments, one_input, custom_mutator=mutated)
    spec = importlib.util.find_spec("atheris.core_with_libfuzzer")
    assert spec and spec.origin
    edges.attach(ctypes.CDLL(spec.origin))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
