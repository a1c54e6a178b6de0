"""Cold masks in one thread and in two, of one compiler: what a second core is worth.

Each request is a schema of MaskBench. All are compiled by a fresh compiler, which is not timed; then a mask is
made before every token of the tests. ``one``: all requests in one thread. ``two``: in two threads, which share the compiler. The rounds
take turns. ``processes``: the same halves in two processes, which share nothing: what the machine can give.
``released``: the share of one thread's processor time that its calls may spend without the interpreter's lock, which is what
of each call comes after its first 200 microseconds. Only that part can run beside another thread's Python.

The same is done with ``long`` requests: grammars of ambiguous rules, whose masks take milliseconds each.

    python lab/benchmarks/threads.py --data ../shared/data --requests 600 --rounds 5
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pack import load_tokenizer, maskbench
from record import DATA, write_result

import stackmask as sm

RELEASED_AFTER = 200e-6  # seconds of a call with the interpreter's lock
Request = tuple[sm.Grammar, list[list[int]]]
Compiled = tuple[sm.CompiledGrammar, list[list[int]]]


def load(data: Path, count: int) -> tuple[sm.Vocabulary, dict[str, list[Request]]]:
    """Return the vocabulary, and so many schemas with the tokens of their tests, and the long requests."""
    tokenizer = load_tokenizer(data / "tokenizers" / "llama3-128k")
    requests = []
    for row in maskbench(data, 7)[:count]:
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in row["tests"][:4]]
        try:
            grammar = sm.Grammar.from_json_schema(row["schema"])
        except sm.StackmaskError:
            continue
        requests.append((grammar, [tokenizer.encode(text, add_special_tokens=False) for text in texts]))
    workloads = {"maskbench": requests, "long": long_requests(tokenizer)}
    return sm.Vocabulary.from_huggingface(tokenizer), workloads


def long_requests(tokenizer: Any) -> list[Request]:
    """Return grammars of ambiguous rules, each with classes of its own, so that little is shared."""
    requests = []
    for number in range(24):
        rules = [f'root ::= r0\nr9 ::= "{number}" | ""']
        for k in range(9):
            rules.append(
                f'r{k} ::= r{k + 1} r{k + 1} | "b{number}" r{k + 1} | [a-{"cdefghij"[(number + k) % 8]}] r{k + 1}'
            )
        letters = [tokenizer.encode(letter, add_special_tokens=False)[0] for letter in "abcabc"]
        requests.append((sm.Grammar.from_ebnf("\n".join(rules)), [letters]))
    return requests


def compile_all(vocabulary: sm.Vocabulary, requests: list[Request]) -> list[Compiled]:
    """Compile all schemas with a fresh compiler."""
    compiler = sm.Compiler(vocabulary)
    return [(compiler.compile(grammar), texts) for grammar, texts in requests]


def work(requests: list[Compiled]) -> int:
    """Answer requests. Return how many masks were made."""
    masks = 0
    for compiled, texts in requests:
        mask = sm.allocate_token_bitmask(1, compiled.vocabulary.size)
        for tokens in texts:
            matcher = compiled.matcher()
            for token in tokens:
                matcher.fill_next_token_bitmask(mask)
                masks += 1
                if not matcher.accept_token(token):
                    break
    return masks


def share_released(vocabulary: sm.Vocabulary, requests: list[Request]) -> float:
    """Return the share of the work of all requests that needs no interpreter's lock, in one thread."""
    released = whole = 0.0
    for compiled, texts in compile_all(vocabulary, requests):
        mask = sm.allocate_token_bitmask(1, vocabulary.size)
        begin = time.thread_time()
        for tokens in texts:
            matcher = compiled.matcher()
            for token in tokens:
                before = time.thread_time()
                matcher.fill_next_token_bitmask(mask)
                filled = time.thread_time()
                accepted = matcher.accept_token(token)
                released += max(0.0, filled - before - RELEASED_AFTER)
                released += max(0.0, time.thread_time() - filled - RELEASED_AFTER)
                if not accepted:
                    break
        whole += time.thread_time() - begin
    return released / whole


def timed(workers: Sequence[Any]) -> float:
    """Return the seconds that threads or processes take."""
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - begin


def in_threads(vocabulary: sm.Vocabulary, requests: list[Request], count: int) -> float:
    """Return the seconds that so many threads take for all requests, with one fresh compiler."""
    compiled = compile_all(vocabulary, requests)
    threads = [
        threading.Thread(target=work, args=(compiled[k::count],), name=f"requests {k}") for k in range(count)
    ]
    return timed(threads)


def in_processes(vocabulary: sm.Vocabulary, requests: list[Request], count: int) -> float:
    """Return the seconds that so many forked processes take, each with a compiler of its own."""
    context = multiprocessing.get_context("fork")
    compiled = [compile_all(vocabulary, requests[k::count]) for k in range(count)]
    children = [context.Process(target=work, args=(half,)) for half in compiled]
    return timed(children)


def main() -> None:
    """Run the rounds and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    vocabulary, workloads = load(args.data, args.requests)
    result = {}
    for workload, requests in workloads.items():
        seconds: dict[str, list[float]] = {"one": [], "two": [], "processes": []}
        for number in range(args.rounds):
            seconds["one"].append(in_threads(vocabulary, requests, 1))
            seconds["two"].append(in_threads(vocabulary, requests, 2))
            seconds["processes"].append(in_processes(vocabulary, requests, 2))
            times = ", ".join(f"{name} {values[-1]:.2f} s" for name, values in seconds.items())
            print(f"{workload}, round {number + 1}: {times}", flush=True)
        median = {name: statistics.median(values) for name, values in seconds.items()}
        gains = {name: round(median["one"] / median[name], 2) for name in ("two", "processes")}
        print(
            f"{workload}: two threads are {gains['two']} times one; two processes {gains['processes']} times"
        )
        released = round(share_released(vocabulary, requests), 2)
        print(f"{workload}: {released:.0%} of the work of one thread needs no interpreter's lock")
        result[workload] = {
            "requests": len(requests),
            "released": released,
            "seconds": seconds,
            "times as fast as one thread": gains,
        }
    if args.write:
        command = f"python lab/benchmarks/threads.py --data PATH --requests {args.requests} --rounds {args.rounds} --write"
        write_result("threads", command, result)


if __name__ == "__main__":
    main()
