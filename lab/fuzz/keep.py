"""Choose a small corpus: the shortest inputs that together run the same lines and basic blocks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fuzz.inputs import corpus_of, write_corpus

MOST_INPUTS = 150  # of a target in the tree
MOST_LENGTH = 400
MOST_SECONDS = 75  # tracing lines is slow: after that no more inputs are looked at
LAB = Path(__file__).resolve().parents[1]


def keep_smallest(name: str, folder: Path, engine: Path) -> int:
    """Write the corpus of a target anew from a folder, in a process of its own; return how many inputs it has."""
    subprocess.run([sys.executable, "-c", (f"import sys; sys.path.append({str(LAB)!r})\n"
                    f"from fuzz.keep import choose; choose({name!r}, {str(folder)!r}, {str(engine)!r})")], check=True)  # fmt: skip
    return len(corpus_of(name))


class Lines:
    """The lines of the engine's Python that have run."""

    def __init__(self) -> None:
        self.seen: set[tuple[CodeType, int]] = set()
        self.fresh = False

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Note a line; code of others is not followed."""
        if event == "call" and "/stackmask/" not in frame.f_code.co_filename:
            return None
        line = (frame.f_code, frame.f_lineno)
        if line not in self.seen:
            self.seen.add(line)
            self.fresh = True
        return self.trace


def choose(name: str, folder: str, engine: str) -> None:
    """Run all inputs of a folder, the shortest first, and keep those that run something new."""
    from fuzz.worker import Edges, use_sources

    use_sources(Path(engine))
    edges = Edges()
    from fuzz import targets
    from fuzz.company import run_input

    target = targets.load(name)
    inputs = {path.read_bytes() for path in Path(folder).iterdir()}
    lines, kept = Lines(), []
    end = time.monotonic() + MOST_SECONDS
    for data in sorted(inputs, key=lambda data: (len(data), data)):
        if len(data) > MOST_LENGTH or time.monotonic() > end:
            continue
        before, lines.fresh = edges.reached(), False
        sys.settrace(lines.trace)
        try:
            run_input(target.run, data)
        except Exception as error:  # noqa: BLE001 (it is kept where faults are)
            print(f"{name}: {data!r:.80}: {error!r:.200}", file=sys.stderr)
            continue
        finally:
            sys.settrace(None)
        if lines.fresh or edges.reached() > before:
            kept.append((edges.reached() - before, data))
    if len(kept) > MOST_INPUTS:  # those that brought most
        kept = sorted(kept, key=lambda pair: -pair[0])[:MOST_INPUTS]
    write_corpus(name, sorted((data for _, data in kept), key=lambda data: (len(data), data)))
