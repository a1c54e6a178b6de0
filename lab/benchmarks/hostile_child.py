"""One hostile request in a process of its own, beside a neighbour's honest request and a thread that only sleeps."""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hostile_requests import Request

TOOL_CALL = {
    "type": "object",
    "properties": {
        "tool": {"enum": ["search", "weather", "mail"]},
        "arguments": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        "reason": {"type": "string", "maxLength": 200},
    },
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
CALL = '{"tool": "search", "arguments": {"query": "ferry to Oslo", "limit": 5, "exact": true}, "reason": "asked"}'
BEAT = 0.005  # seconds between two beats
BUDGET = 200  # tokens that a text may take, or as many as it needs
PAUSE = 0.002  # seconds between two fills of the neighbour
# places in the counters that the judge reads even if the process is killed
STAGE, STEPS, BEAT_WALL, BEAT_CPU, FILL_WALL, FILL_CPU, LAST_BEAT, FILLS, FILL_SINCE, BROKEN = range(10)
COUNTERS = 10
STAGES = ("read", "compile", "mask", "accept", "end")


@dataclass
class Setting:
    """What is there before the request: the vocabulary, a compiler, and the neighbour's masks on a fresh one."""

    vocabulary: Any
    spellings: dict[bytes, int]
    longest: int
    neighbour: list[int] = field(default_factory=list)
    masks: list[bytes] = field(default_factory=list)

    def split(self, text: str) -> list[int]:
        """Return tokens of a text, each as long as possible."""
        data = text.encode()
        found: list[int] = []
        at = 0
        while at < len(data):
            for length in range(min(self.longest, len(data) - at), 0, -1):
                token = self.spellings.get(data[at : at + length])
                if token is not None:
                    found.append(token)
                    at += length
                    break
            else:
                raise ValueError("the vocabulary cannot spell the text")
        return found


def make_setting(vocabulary: Any) -> Setting:
    """Prepare what all requests need; the neighbour's masks come from a compiler of their own."""
    import stackmask as sm

    spellings = {
        text: i for i, text in enumerate(vocabulary.tokens) if text and i not in vocabulary.special_ids
    }
    setting = Setting(vocabulary, spellings, 24)
    setting.neighbour = setting.split(CALL)
    setting.masks = honest_masks(setting, sm.Compiler(vocabulary))
    return setting


def honest_masks(setting: Setting, compiler: Any) -> list[bytes]:
    """Return the masks along the neighbour's text."""
    import stackmask as sm

    matcher = compiler.compile(sm.Grammar.from_json_schema(TOOL_CALL)).matcher()
    mask = sm.allocate_token_bitmask(1, setting.vocabulary.size)
    found = []
    for token in setting.neighbour:
        matcher.fill_next_token_bitmask(mask)
        found.append(mask.tobytes())
        if not matcher.accept_token(token):
            raise RuntimeError("the honest text is refused")
    if not matcher.is_accepting():
        raise RuntimeError("the honest text does not end")
    return found


class Neighbour(threading.Thread):
    """Streams an honest request on the same compiler again and again; all its masks have been made before."""

    def __init__(self, setting: Setting, compiler: Any, counters: Any) -> None:
        super().__init__(daemon=True)
        import stackmask as sm

        self.setting, self.counters = setting, counters
        honest_masks(setting, compiler)
        self.matcher = compiler.compile(sm.Grammar.from_json_schema(TOOL_CALL)).matcher()
        self.mask = sm.allocate_token_bitmask(1, setting.vocabulary.size)
        self.stopped = threading.Event()
        self.problem = ""
        self.cpu = 0.0

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                self.stream()
        except Exception as error:  # noqa: BLE001
            self.fail(f"{type(error).__name__}: {error}"[:200])

    def fail(self, problem: str) -> None:
        """Note that the request does not go on as it should, and stop."""
        self.problem = problem
        self.counters[BROKEN] = 1
        self.stopped.set()

    def stream(self) -> None:
        """Follow the text once."""
        for number, token in enumerate(self.setting.neighbour):
            cpu, begun = time.process_time(), time.monotonic()
            self.counters[FILL_SINCE] = begun
            self.matcher.fill_next_token_bitmask(self.mask)
            self.counters[FILL_SINCE] = 0
            wall, cpu = time.monotonic() - begun, time.process_time() - cpu
            self.counters[FILL_CPU] = max(self.counters[FILL_CPU], min(wall, cpu))
            self.counters[FILL_WALL] = max(self.counters[FILL_WALL], wall)
            self.counters[FILLS] += 1
            if self.mask.tobytes() != self.setting.masks[number]:
                self.fail(f"mask {number} is not that of a fresh compiler")
                return
            if not self.matcher.accept_token(token):
                raise RuntimeError("the honest text is refused")
            self.cpu = time.thread_time()
            time.sleep(PAUSE)
        if not self.matcher.is_accepting():
            raise RuntimeError("the honest text does not end")
        self.matcher.rollback(len(self.setting.neighbour))


class Heartbeat(threading.Thread):
    """Sleeps, and notes by how much a sleep was too long: what any other Python thread would have waited."""

    def __init__(self, counters: Any) -> None:
        super().__init__(daemon=True)
        self.counters = counters
        self.stopped = threading.Event()
        self.cpu = 0.0

    def run(self) -> None:
        cpu, begun = time.process_time(), time.monotonic()
        while not self.stopped.is_set():
            time.sleep(BEAT)
            now, used = time.monotonic(), time.process_time()
            wall = now - begun - BEAT
            self.counters[BEAT_WALL] = max(self.counters[BEAT_WALL], wall)
            self.counters[BEAT_CPU] = max(self.counters[BEAT_CPU], min(wall, used - cpu))
            self.counters[LAST_BEAT] = now
            self.cpu = time.thread_time()
            cpu, begun = used, now


def grammar_of(request: Request) -> Any:
    """Read the grammar of a request."""
    import stackmask as sm

    if request.kind == "ebnf":
        return sm.Grammar.from_ebnf(request.source, **request.options)
    if request.kind == "lark":
        return sm.Grammar.from_lark(request.source, **request.options)
    if request.kind == "json_schema":
        return sm.Grammar.from_json_schema(request.source, **request.options)
    if request.kind == "regex":
        return sm.Grammar.from_regex(request.source, **request.options)
    if request.kind == "choices":
        return sm.Grammar.from_choices(json.loads(request.source))
    if request.kind == "sql_schema":
        return sm.Grammar.from_sql("sqlite", schema=json.loads(request.source), **request.options)
    if request.kind == "structural_tag":
        tag = {"type": "structural_tag", "format": json.loads(request.source)}
        return sm.Grammar.from_structural_tag(tag)
    if request.kind == "tools":
        return sm.tools.grammar(**json.loads(request.source))
    return sm.Grammar.from_sql(request.source, **request.options)


class Drive:
    """Uses a matcher as the request says."""

    def __init__(self, request: Request, setting: Setting, counters: Any) -> None:
        import stackmask as sm

        self.request, self.setting, self.counters = request, setting, counters
        self.mask = sm.allocate_token_bitmask(
            65 if request.driver in ("draft", "storm") else 1, setting.vocabulary.size
        )
        self.random = random.Random(f"{request.name} {request.seed}")
        self.tokens = setting.split(request.text)
        self.kept: list[Any] = []

    def run(self, compiler: Any) -> None:
        """Compile the grammar, then follow the text or walk."""
        self.counters[STAGE] = 0
        grammar = grammar_of(self.request)
        self.counters[STAGE] = 1
        matcher = compiler.compile(grammar).matcher()
        if self.request.driver == "explain":
            self.kept += [grammar.warnings, grammar.report]
        if self.request.driver == "strings":
            self.kept += [grammar.accepts(text) for text in grammar.sample(4, seed=1)]
        for number in range(self.request.steps):
            self.counters[STAGE] = 2
            if self.request.driver == "budget":
                matcher.fill_next_token_bitmask(
                    self.mask, budget=max(BUDGET - number, matcher.needs_at_least())
                )
            else:
                matcher.fill_next_token_bitmask(self.mask)
            token = self.next_token(number)
            if token is None:
                break
            self.counters[STAGE] = 3
            self.before(matcher, number)
            if not matcher.accept_token(token):
                break
            self.counters[STEPS] = number + 1
        if self.request.driver == "explain" and not matcher.accept_string("\0"):
            self.kept += [matcher.refusal, grammar.sample(1)]
        self.counters[STAGE] = 4

    def next_token(self, number: int) -> int | None:
        """Return the text's next token, or a random one that the mask allows; None at the end."""
        if self.request.text:
            return self.tokens[number] if number < len(self.tokens) else None
        words = np.flatnonzero(self.mask[0])
        best, length = None, -1
        for _ in range(12 if self.request.driver == "long" else 3):
            if not len(words):
                return None
            word = int(words[self.random.randrange(len(words))])
            bits = int(self.mask[0, word]) & 0xFFFFFFFF
            token = 32 * word + self.random.choice([i for i in range(32) if bits >> i & 1])
            if token in self.setting.vocabulary.stop_ids:
                continue
            size = len(self.setting.vocabulary.tokens[token] or b"")
            if self.request.driver != "long":
                return token
            if size > length:
                best, length = token, size
        return best

    def before(self, matcher: Any, number: int) -> None:
        """Do what the driver does besides one mask and one accept for each token."""
        driver = self.request.driver
        ahead = self.tokens[number : number + 64]
        if driver == "rollback" and number % 16 == 0:
            count = 0
            while count < len(ahead) and matcher.accept_token(ahead[count]):
                count += 1
            matcher.rollback(count)
        elif driver == "draft" and number % 8 == 0:
            parents = [max(-1, i - 1 - self.random.randrange(3)) for i in range(len(ahead))]
            matcher.fill_draft_bitmask(ahead, parents, self.mask)
        elif driver == "storm":
            ahead = [self.random.randrange(self.setting.vocabulary.size) for _ in range(64)]
            branch = matcher.fork()
            branch.rollback(self.random.randrange(1 + matcher.accept_calls))
            branch.fill_draft_bitmask(ahead, [-1] * 32 + list(range(32)), self.mask)
        elif driver == "complete":
            matcher.shortest_completion()
            matcher.needs_at_least()
        elif driver == "fork":
            self.kept.append(matcher.fork())
        elif driver == "jump":
            matcher.find_jump_forward_bytes()
            matcher.expected()
        elif driver == "reset" and number % 200 == 199:
            matcher.reset()
            for token in self.tokens[:number]:
                matcher.accept_token(token)


def memory_peak() -> float:
    """Return the greatest resident set so far, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def attempt(request: Request, setting: Setting, counters: Any) -> dict[str, Any]:
    """Run the request with its neighbour, and return how it ended."""
    import stackmask as sm

    compiler = sm.Compiler(setting.vocabulary)
    neighbour, heart = Neighbour(setting, compiler, counters), Heartbeat(counters)
    drive = Drive(request, setting, counters)
    gc.freeze()
    before, begun = memory_peak(), time.process_time()
    neighbour.start()
    heart.start()
    outcome, message = "answer", ""
    try:
        drive.run(compiler)
    except sm.StackmaskError as error:
        outcome, message = type(error).__name__, str(error)
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is the request's fault)
        outcome, message = f"raw {type(error).__name__}", str(error)
    used = time.process_time() - begun - neighbour.cpu - heart.cpu
    time.sleep(0.05)  # both threads note what they waited for
    neighbour.stopped.set()
    heart.stopped.set()
    neighbour.join(60)
    heart.join(60)
    if neighbour.is_alive():
        neighbour.fail("the neighbour never came back")
    return {
        "outcome": outcome,
        "message": message[:300],
        "message_bytes": len(message),
        "cpu_s": round(max(0.0, used), 3),
        "peak_mb": round(memory_peak(), 1),
        "growth_mb": round(memory_peak() - before, 1),
        "neighbour": neighbour.problem,
    }


def child(request: Request, setting: Setting, counters: Any, answer: int, limits: tuple[int, int]) -> None:
    """Be the child: run the request under limits of the system and write how it ended to the pipe ``answer``."""
    seconds, memory = limits
    spent = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, spent + seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        result = attempt(request, setting, counters)
    except BaseException as error:  # noqa: BLE001
        result = {
            "outcome": f"raw {type(error).__name__}",
            "message": f"outside of the request: {error}"[:300],
        }
    os.write(answer, json.dumps(result).encode())
    os._exit(0)
