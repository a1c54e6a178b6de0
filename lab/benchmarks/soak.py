"""Use one compiler for long: thousands of grammars, millions of tokens, bounded memory and flat latency.

    python lab/benchmarks/soak.py --data PATH_TO_DATA_PACK --tokens 24000000 --write

Grammars are schemas of MaskBench, patterns of schemas, and those that come with the package, in random order over and over.
Each request compiles its grammar, and follows several texts: random tokens that its masks allow, or where a schema has valid
documents, every other time one of them. Each token takes a mask and an accept call. For a sample of requests the tokens of the
first text are followed on a fresh compiler, and each mask must be the same. Reports verdicts, memory (its plateau is the mean of
the last half; what the compiler itself counts stands beside it), and the processor time of masks in each tenth of the
run, with the grammars of the slowest. Exits with 1 if a verdict is wrong.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import json
import lzma
import os
import random
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from json_grammar import load_tokenizer
from record import DATA, use_checkout, write_result

LONGEST_WALK = 400  # tokens of one text
JUDGED_TOKENS = 60  # of a request that is followed on a fresh compiler
TENTHS = 10
SLOWEST = 20  # masks that are named
TRIES = 6  # random tokens that are looked at before a word of the mask is searched for
PERCENTILES = {"p50": 50, "p99": 99, "p99.9": 99.9, "worst": 100}
MB = 1e6


def resident() -> float:
    """Return the memory of the process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


class Sources:
    """The grammars of the run: a kind, what it is made from, and documents that must be accepted."""

    def __init__(self, data: Path, count: int, source: random.Random) -> None:
        import stackmask as sm
        from stackmask.grammar.source.files import bundled_names

        self.sm = sm
        with lzma.open(data / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        with lzma.open(data / "regex" / "jsonschemabench_patterns.jsonl.xz", "rt", encoding="utf-8") as lines:
            patterns = sorted({pattern for line in lines if (pattern := pattern_of(json.loads(line)))})
        self.items: list[tuple[str, Any, list[str]]] = []
        for record in records:
            documents = [
                json.dumps(test["data"], ensure_ascii=False) for test in record["tests"] if test["valid"]
            ]
            self.items.append(("schema", record["schema"], documents))
        self.items += [("regex", pattern, []) for pattern in patterns]
        source.shuffle(self.items)
        # each bundled grammar comes as often as any other
        bundled = [("bundled", name, []) for name in bundled_names()]
        self.items = [*bundled, *self.items[: max(0, count - len(bundled))]]
        source.shuffle(self.items)

    def grammar(self, kind: str, made_from: Any) -> Any:
        """Read a grammar."""
        if kind == "schema":
            return self.sm.Grammar.from_json_schema(made_from, property_order="any")
        if kind == "regex":
            return self.sm.Grammar.from_regex(made_from, search=False)
        return self.sm.Grammar.bundled(made_from)


def pattern_of(row: Any) -> str | None:
    """Return the pattern of a row of the corpus."""
    found = row if isinstance(row, str) else row.get("pattern", row.get("regex"))
    return found if isinstance(found, str) else None


class Soak:
    """One run: a compiler, what was asked of it, and what it took."""

    def __init__(self, options: argparse.Namespace) -> None:
        import stackmask as sm

        self.sm, self.options = sm, options
        self.random = random.Random(options.seed)
        self.tokenizer = load_tokenizer(options.data / "tokenizers" / options.tokenizer)
        self.vocabulary = sm.Vocabulary.from_huggingface(self.tokenizer)
        self.stops = set(self.vocabulary.stop_ids)
        self.compiler = sm.Compiler(self.vocabulary, cache_bytes=options.cache_mb << 20)
        self.sources = Sources(options.data, options.grammars, self.random)
        self.mask = sm.allocate_token_bitmask(1, self.vocabulary.size)
        self.other = sm.allocate_token_bitmask(1, self.vocabulary.size)
        gc.collect()
        self.before = resident()
        self.counts = dict.fromkeys(
            ("requests", "refused", "ended by a limit", "tokens", "judged masks", "wrong"), 0
        )
        self.used: set[int] = set()
        self.documents: dict[tuple[int, int], array[int]] = {}
        self.memory: list[tuple[float, float]] = []  # of the process, and what the compiler counts, in MB
        self.tenths: list[dict[str, float]] = []
        self.times = array("f")
        self.slowest: list[tuple[float, int, int]] = []  # seconds, the request, its grammar
        self.begun = self.shown = time.monotonic()

    def run(self) -> None:
        """Go through the grammars until all tokens were taken."""
        for number in self.order():
            if self.counts["tokens"] >= self.options.tokens:
                break
            self.request(number)
            self.close_tenth()
            if time.monotonic() - self.shown > 2:
                self.show("\r")
        self.close_tenth(last=True)
        self.show("\n")

    def order(self) -> Iterator[int]:
        """Yield numbers of grammars: all of them in random order, again and again."""
        while True:
            numbers = list(range(len(self.sources.items)))
            self.random.shuffle(numbers)
            yield from numbers

    def request(self, number: int) -> None:
        """Serve one request."""
        kind, made_from, documents = self.sources.items[number]
        self.counts["requests"] += 1
        try:
            grammar = self.sources.grammar(kind, made_from)
            matcher = self.compiler.compile(grammar).matcher()
        except self.sm.StackmaskError:
            self.counts["refused"] += 1
            return
        self.used.add(number)
        keep = JUDGED_TOKENS if self.random.random() < self.options.judged else 0
        compiled = matcher.compiled
        for k in range(self.options.texts):
            given = self.document(number, documents) if documents and self.random.random() < 0.5 else None
            try:
                matcher = compiled.matcher()
            except self.sm.BudgetError:  # what the texts before made is too much already
                self.counts["ended by a limit"] += 1
                return
            taken, masks = self.follow(matcher, given, keep if k == 0 else 0, number)
            if masks:
                self.judge(grammar, taken[:keep], masks)

    def document(self, number: int, documents: list[str]) -> array[int]:
        """Return the tokens of one of the documents of a grammar."""
        k = self.random.randrange(len(documents))
        if (number, k) not in self.documents:
            self.documents[number, k] = array(
                "i", self.tokenizer.encode(documents[k], add_special_tokens=False)
            )
        return self.documents[number, k]

    def follow(
        self, matcher: Any, given: array[int] | None, keep: int, number: int
    ) -> tuple[list[int], list[bytes]]:
        """Take tokens, given ones or random ones. Return them and the first masks."""
        taken: list[int] = []
        masks: list[bytes] = []
        clock, fill, mask, times = time.thread_time, matcher.fill_next_token_bitmask, self.mask, self.times
        words = memoryview(mask[0])
        least = self.slowest[0][0] if len(self.slowest) == SLOWEST else 0.0
        try:
            for step in range(LONGEST_WALK if given is None else len(given)):
                begun = clock()
                fill(mask)
                seconds = clock() - begun
                times.append(seconds)
                if seconds > least:
                    least = self.note_slow(seconds, number)
                if step < keep:
                    masks.append(mask.tobytes())
                token = self.choose(words) if given is None else given[step]
                if token is None:
                    break
                allowed = bool(words[token >> 5] >> (token & 31) & 1)
                if matcher.accept_token(token) != allowed:
                    self.fault(f"mask and accept disagree on token {token}")
                if not allowed:
                    break
                taken.append(token)
                if token in self.stops:
                    break
        except self.sm.BudgetError:
            self.counts["ended by a limit"] += 1
        self.counts["tokens"] += len(taken)
        return taken, masks

    def note_slow(self, seconds: float, number: int) -> float:
        """Keep the slowest masks; return how long the next one must take."""
        heapq.heappush(self.slowest, (seconds, self.counts["requests"], number))
        if len(self.slowest) > SLOWEST:
            heapq.heappop(self.slowest)
        return self.slowest[0][0] if len(self.slowest) == SLOWEST else 0.0

    def choose(self, words: memoryview) -> int | None:
        """Return a random token that the mask allows, rarely one that stops."""
        source, size = self.random.random, self.vocabulary.size
        for _ in range(TRIES):
            token = int(source() * size)
            if words[token >> 5] >> (token & 31) & 1 and token not in self.stops:
                return token
        token = None
        for _ in range(3):
            # the first word with a token, from a random place on
            begin = int(source() * len(words))
            found = self.mask[0, begin:]
            word = begin + int((found != 0).argmax())
            if not words[word]:
                word = int((self.mask[0] != 0).argmax())
                if not words[word]:
                    return None
            bits = words[word] & 0xFFFFFFFF
            for _ in range(int(source() * bits.bit_count())):
                bits &= bits - 1
            token = 32 * word + (bits & -bits).bit_length() - 1
            if token not in self.stops:
                return token
        return token

    def judge(self, grammar: Any, taken: list[int], masks: list[bytes]) -> None:
        """Follow the same tokens on a fresh compiler: masks must be the same."""
        try:
            matcher = self.sm.Compiler(self.vocabulary).compile(grammar).matcher()
            for step, mask in enumerate(masks):
                matcher.fill_next_token_bitmask(self.other)
                self.counts["judged masks"] += 1
                if self.other.tobytes() != mask:
                    self.fault(f"another mask after {taken[:step]} on a fresh compiler")
                if step < len(taken) and not matcher.accept_token(taken[step]):
                    self.fault("a token is refused on a fresh compiler")
        except self.sm.BudgetError:
            return

    def fault(self, what: str) -> None:
        """Count a wrong verdict."""
        self.counts["wrong"] += 1
        if self.counts["wrong"] <= 20:
            print(f"\nwrong: {what[:400]}", file=sys.stderr)

    def close_tenth(self, last: bool = False) -> None:
        """Note memory; put the times of a tenth of the run away when it is over."""
        tokens = self.counts["tokens"]
        if self.counts["requests"] % 50 == 0 or last:
            self.memory.append((resident(), self.compiler.stats()["bytes"] / MB))
        tenth = min(TENTHS - 1, tokens * TENTHS // self.options.tokens)
        if (tenth > len(self.tenths) or last) and self.times and len(self.tenths) < TENTHS:
            times = np.frombuffer(self.times, dtype=np.float32)
            self.tenths.append(
                {
                    name: round(float(np.percentile(times, share)) * 1e6, 2)
                    for name, share in PERCENTILES.items()
                }
            )
            self.times = array("f")

    def show(self, end: str) -> None:
        """Print how far the run is."""
        self.shown = time.monotonic()
        tokens, wanted = self.counts["tokens"], self.options.tokens
        rate = tokens / max(1e-9, self.shown - self.begun)
        print(
            f"{tokens:>12,} of {wanted:,} tokens {rate:8,.0f}/s {self.counts['requests']:>8,} requests "
            f"{len(self.used):,} grammars {resident():6.0f} MB, {self.counts['wrong']} wrong",
            end=end,
            flush=True,
        )

    def result(self) -> dict[str, Any]:
        """Return all figures."""
        sizes = np.array(self.memory)
        plateau = float(np.mean(sizes[len(sizes) // 2 :, 0]))
        bound = self.before + self.options.cache_mb * (1 << 20) / MB * 1.25
        tenths = [part.mean(axis=0) for part in np.array_split(sizes, min(TENTHS, len(sizes)))]
        return {
            **self.counts,
            "grammars": len(self.used),
            "seconds": round(time.monotonic() - self.begun),
            "cpu_seconds": round(time.process_time()),
            "cache_mb": self.options.cache_mb,
            "memory": {
                "before_mb": round(self.before),
                "plateau_mb": round(plateau),
                "peak_mb": round(float(sizes[:, 0].max())),
                "bound_mb": round(bound),
                "plateau within the bound": plateau <= bound,
                "tenths_mb": [round(float(part[0])) for part in tenths],
                "counted_tenths_mb": [round(float(part[1])) for part in tenths],
            },
            "mask_cpu_us": {name: [tenth[name] for tenth in self.tenths] for name in PERCENTILES},
            "slowest": [
                {"ms": round(seconds * 1e3, 1), "request": request, "grammar": self.name_of(number)}
                for seconds, request, number in sorted(self.slowest, reverse=True)
            ],
        }

    def name_of(self, number: int) -> str:
        """Return a short name of a grammar."""
        kind, made_from, _ = self.sources.items[number]
        text = made_from if isinstance(made_from, str) else json.dumps(made_from)
        return f"{kind} {number}: {text[:60]}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--tokens", type=int, default=24_000_000)
    parser.add_argument(
        "--grammars", type=int, default=4_000, help="how many different ones, refused ones counted"
    )
    parser.add_argument("--texts", type=int, default=6, help="of one request")
    parser.add_argument("--cache-mb", type=int, default=512)
    parser.add_argument(
        "--judged", type=float, default=0.01, help="share of requests compared with a fresh compiler"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    soak = Soak(options)
    soak.run()
    result = soak.result()
    print(json.dumps(result, indent=2))
    if options.write:
        command = (
            f"python lab/benchmarks/soak.py --data PATH --tokens {options.tokens} --texts {options.texts}"
        )
        command += f" --grammars {options.grammars} --cache-mb {options.cache_mb} --write"
        write_result("soak", command, result)
    return bool(result["wrong"])


if __name__ == "__main__":
    sys.exit(main())
