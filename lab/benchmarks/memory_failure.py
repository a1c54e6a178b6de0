"""Let memory run out at many places of mixed requests: errors by name only, and right answers afterwards.

    python lab/benchmarks/memory_failure.py --write

For each level a child process sets its limit of addresses (RLIMIT_AS) so far above what it has, and serves mixed requests: schemas,
patterns, grammars, SQL over a schema, batches, drafts, precomputation, with walks of random tokens. Allowed are answers,
StackmaskError and MemoryError. Then the limit is raised again, and the same compiler must make the masks that a
fresh one makes. At fault are other errors, wrong masks, and children that end by a signal or hang. Exits with 1 then.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import random
import re
import resource
import select
import signal
import sys
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from record import use_checkout, write_result

LEVELS_MB = (1, 2, 3, 4, 6, 8, 11, 14, 18, 23, 29, 36, 45, 56, 70, 88, 110, 140, 180, 240)
REQUESTS = 1000
HANG_SECONDS = 900
CHECKED = 12  # grammars that are compared with a fresh compiler afterwards
TOKENS = 20_000
STEPS = 40
STACK_BYTES = 32 << 20
M_ARENA_MAX = -8
FRAME_LOST = re.compile(
    r"^error return without exception set$|^<function .*> returned NULL without setting an exception$"
)


def make_vocabulary() -> Any:
    """Return a vocabulary of some thousand random tokens, so that masks take memory."""
    import stackmask as sm

    source = random.Random(1)
    pieces = {
        "".join(source.choices('abcdefghijklmnopqrstuvwxyz "{}[]:,01-_.', k=source.randint(2, 9)))
        for _ in range(TOKENS)
    }
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [piece.encode() for piece in sorted(pieces)]
    return sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)])


def requests(count: int) -> list[tuple[str, Any]]:
    """Return mixed requests, the same each time."""
    from oracle.random_regexes import python_pattern
    from support.random_schemas import SchemaMaker

    source = random.Random(2)
    maker = SchemaMaker(source)
    found: list[tuple[str, Any]] = []
    grammars = (
        "root ::= root root | '(' root ')' | [a-z]*",
        "root ::= e\ne ::= e '+' e | e '*' e | '(' e ')' | [0-9]+ | name\nname ::= [a-z]+ !>> [a-z]",
        'root ::= "<" @push([a-z]+) ">" root* "</" @top ">" | "-"',
        "root ::= (.{3,200} & !(.* 'x' .*)) [a-z]{1,90}",
    )
    for number in range(count):
        way = number % 8
        if way < 3:
            found.append(("schema", maker.schema(3)))
        elif way < 5:
            found.append(("regex", python_pattern(source)))
        elif way == 5:
            found.append(("ebnf", f"{grammars[number // 8 % 4]}\nx{number} ::= 'a{number}'"))
        elif way == 6:
            found.append(
                (
                    "schema",
                    {
                        "type": "array",
                        "items": {"type": "integer"},
                        "uniqueItems": True,
                        "minItems": number % 50,
                    },
                )
            )
        elif number % 80 == 7:
            found.append(("sql", f"CREATE TABLE t{number} (a INTEGER, b TEXT, c{number} REAL)"))
        else:
            found.append(("large", {"properties": {f"k{i}": {"maxLength": i + number} for i in range(30)}}))
    return found


def grammar_of(kind: str, made_from: Any) -> Any:
    """Read a grammar."""
    import stackmask as sm

    if kind == "regex":
        return sm.Grammar.from_regex(made_from, flavor="python")
    if kind == "ebnf":
        return sm.Grammar.from_ebnf(made_from)
    if kind == "sql":
        return sm.Grammar.from_sql("sqlite", schema=made_from)
    return sm.Grammar.from_json_schema(made_from, property_order="any")


def serve(compiler: Any, request: tuple[str, Any], source: random.Random) -> None:
    """Serve one request in one of several ways."""
    import stackmask as sm

    compiled = compiler.compile(grammar_of(*request))
    matcher = compiled.matcher()
    size = compiler.vocabulary.size
    masks = sm.allocate_token_bitmask(4, size)
    if source.random() < 0.05:
        compiled.precompute(2_000)
    kept = [matcher]
    for _ in range(STEPS):
        matcher.fill_next_token_bitmask(masks)
        allowed = np.flatnonzero(np.unpackbits(masks[0].view(np.uint8), bitorder="little"))
        if not len(allowed):
            return
        token = int(allowed[source.randrange(len(allowed))])
        if not matcher.accept_token(token):
            raise AssertionError(f"an allowed token is refused: {token} of {request!r:.200}")
        way = source.random()
        if way < 0.1:
            kept.append(matcher.fork())
        elif way < 0.15:
            matcher.rollback(1)
        elif way < 0.2:
            matcher.fill_draft_bitmask([token, int(allowed[0])], [-1, 0], masks)
        elif way < 0.25:
            sm.fill_next_token_bitmask(kept[-4:], masks, threads=2)
        elif way < 0.27:
            matcher.reset()
        elif way < 0.3:
            matcher.find_jump_forward_tokens()


def masks_of(compiler: Any, request: tuple[str, Any]) -> list[bytes]:
    """Return the masks along a walk that is the same each time."""
    import stackmask as sm

    matcher = compiler.compile(grammar_of(*request)).matcher()
    mask = sm.allocate_token_bitmask(1, compiler.vocabulary.size)
    found = []
    for _ in range(6):
        matcher.fill_next_token_bitmask(mask)
        found.append(mask.tobytes())
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        if not len(allowed) or not matcher.accept_token(int(allowed[len(allowed) // 2])):
            break
    return found


def addresses() -> int:
    """Return the bytes of addresses that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


class Level:
    """One child: requests under a limit, then without."""

    def __init__(self, megabytes: int, count: int, vocabulary: Any) -> None:
        self.megabytes, self.vocabulary = megabytes, vocabulary
        self.all = requests(count)
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []

    def run(self) -> dict[str, Any]:
        """Serve all requests. What Python itself needs to report is there before memory is short."""
        import stackmask as sm

        compiler = sm.Compiler(self.vocabulary, cache_bytes=32 << 20)
        self.import_all(compiler)
        gc.collect()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (addresses() + (self.megabytes << 20), hard))
        for number, request in enumerate(self.all):
            self.serve(compiler, number, request)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        self.compare(compiler)
        return {"mb": self.megabytes, "outcomes": dict(self.outcomes), "faults": self.faults[:5]}

    def import_all(self, compiler: Any) -> None:
        """Serve a request of each kind: what is imported on first use would fail with errors of the interpreter."""
        import stackmask as sm

        for number, request in enumerate(self.all[:96]):
            with contextlib.suppress(sm.StackmaskError):
                if number < 16 or request[0] == "sql":
                    serve(compiler, request, random.Random(number))

    def serve(self, compiler: Any, number: int, request: tuple[str, Any]) -> None:
        """Serve a request, and count how it ended."""
        import stackmask as sm

        try:
            serve(compiler, request, random.Random(number))
            outcome = "answer"
        except sm.StackmaskError as error:
            outcome = type(error).__name__
        except MemoryError:
            outcome = "MemoryError"
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a fault)
            # a report takes memory
            limit, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            outcome = self.named(number, request, error)
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        self.outcomes[outcome] += 1

    def named(self, number: int, request: tuple[str, Any], error: Exception) -> str:
        """Return the name of an error that has none of ours; note it as a fault, unless it is the interpreter's own.

        CPython 3.11 forgets to set MemoryError where it has no memory for a frame, and then says this.
        """
        place = traceback.extract_tb(error.__traceback__)[-1]
        if isinstance(error, SystemError) and FRAME_LOST.search(str(error)):
            return "SystemError of the interpreter"
        what = f"request {number} {request!r:.150}: {error!r:.200} at {place.filename[-60:]}:{place.lineno}"
        self.faults.append(what)
        return f"raw {type(error).__name__}"

    def compare(self, compiler: Any) -> None:
        """Compare masks with those of a fresh compiler, now that there is memory."""
        import stackmask as sm

        fresh = sm.Compiler(self.vocabulary)
        step = max(1, len(self.all) // CHECKED)
        for number, request in list(enumerate(self.all))[::step]:
            try:
                wanted = masks_of(fresh, request)
            except sm.StackmaskError:
                continue
            try:
                made = masks_of(compiler, request)
            except BaseException as error:  # noqa: BLE001
                self.faults.append(f"request {number} afterwards: {error!r:.300}")
                continue
            self.outcomes["right afterwards" if made == wanted else "wrong afterwards"] += 1
            if made != wanted:
                self.faults.append(f"request {number} has other masks afterwards")


def on_own_stack(level: Level) -> dict[str, Any]:
    """Run a level in a thread, whose stack is there before memory is short.

    The stack of a process grows on demand, and where it cannot, the system ends the process.
    """
    results: list[dict[str, Any]] = []
    with contextlib.suppress(
        OSError, AttributeError
    ):  # glibc gives a thread 64 MB of addresses, which would not be counted
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=lambda: results.append(level.run()))
    thread.start()
    thread.join()
    return results[0]


def in_child(level: Level) -> dict[str, Any]:
    """Run a level in a child process, and tell how that ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        faulthandler.enable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            result = on_own_stack(level)
        except BaseException as error:  # noqa: BLE001
            traceback.print_exc()
            result = {
                "mb": level.megabytes,
                "outcomes": {},
                "faults": [f"outside of requests: {error!r:.300}"],
            }
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    process = os.pidfd_open(pid)
    ended = select.select([process], [], [], HANG_SECONDS)[0]
    if not ended:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(process)
    data = os.read(reader, 1 << 20)
    os.close(reader)
    if data:
        result = json.loads(data)
        return dict(result)
    code = os.waitstatus_to_exitcode(status)
    why = "did not end" if not ended else signal.Signals(-code).name if code < 0 else f"status {code}"
    return {"mb": level.megabytes, "outcomes": {}, "faults": [why]}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--levels", type=int, nargs="*", default=list(LEVELS_MB), help="megabytes above the start"
    )
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    vocabulary = make_vocabulary()
    rows = []
    for megabytes in options.levels:
        rows.append(in_child(Level(megabytes, options.requests, vocabulary)))
        outcomes = ", ".join(f"{name} {count}" for name, count in sorted(rows[-1]["outcomes"].items()))
        print(f"{megabytes:4} MB {outcomes} {'; '.join(rows[-1]['faults'])}", flush=True)
    bad = sum(bool(row["faults"]) for row in rows)
    print(f"{len(rows)} levels of {options.requests} requests, {bad} at fault")
    if options.write:
        result = {"levels": len(rows), "requests": options.requests, "levels at fault": bad, "rows": rows}
        write_result("memory_failure", "python lab/benchmarks/memory_failure.py --write", result)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
