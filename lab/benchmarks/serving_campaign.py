"""Ask a real server, in real processes without a GPU, for 500 answers at once, and judge each of them.

Run it with the Python of an environment that has the server, jsonschema and httpx; ``./dev build`` must have been run:

    VLLM_PYTHON lab/benchmarks/serving_campaign.py [--only NAME,…] [--minutes M] [--write]
    SGLANG_PYTHON lab/benchmarks/serving_campaign.py --only SGLang [--write]
    SERVE_PYTHON lab/benchmarks/serving_campaign.py --only serve [--write]

Each round sends 500 requests at once: the 60 of ``serving_campaign_requests``, 5% hostile ones, 5% whose client goes away
while its answer is streamed, a quarter of the rest as streams. The model is tiny and made up (``serving_models``), with
the tokenizer of GPT-2 from STACKMASK_DATA. At fault is an answer that was finished and is not what was asked for, a status
of 500 or more (but for a hostile request that met a limit while it ran), a request without an answer after its time, one
that the server still has at the end, and a server that has died. Texts that ``max_tokens`` cut are counted, and no fault. Results of configurations that were not run stay.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import itertools
import json
import random
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import httpx
import serving_campaign_requests as asked
from record import RESULTS, checkout_state, write_result
from serving_models import MARKS, NEVER, make_model, tokenizer_of
from serving_servers import Server, free_port, sglang_server

REQUESTS = 500
HOSTILE = CANCELLED = 0.05
STREAMED = 0.25
MAX_TOKENS = 200
SECONDS = 420  # a request's; the machine is small, and all are sent at once
DRAFTS = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3, "prompt_lookup_min": 1}'
OWN_DRAFTS = json.dumps(
    {
        "method": "custom_class",
        "model": "stackmask.runtime.serving.vllm_drafts.GrammarProposer",
        "num_speculative_tokens": 8,
    }
)
WHOLE = ("--additional-config", '{"stackmask": {"whole": true}}')
NODES = ("--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", "29577")
# prefill and decode apart: two servers, of which the second computes prompts and hands them to the first in files
APART: Final = "prefill and decode"
TRANSFER = (
    '{"kv_connector": "ExampleConnector", "kv_role": "kv_both",'
    ' "kv_connector_extra_config": {"shared_storage_path": "FOLDER"}}'
)
TWO: Final = {"VLLM_CPU_OMP_THREADS_BIND": "0|1"}
# of vLLM: arguments, and variables of the environment
CONFIGURATIONS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "one engine": ((), {}),
    # the worker's memory grows as long as pages of the key-value cache are written for the first time: of a smaller one
    # all are, in a minute
    "small cache": (("--num-gpu-blocks-override", "512"), {}),
    "drafts": (("--speculative-config", DRAFTS), {}),
    "drafts of the grammar": (("--speculative-config", OWN_DRAFTS), {}),
    "reasoning": (("--reasoning-parser", "qwen3"), {}),
    "drafts and reasoning": (("--speculative-config", DRAFTS, "--reasoning-parser", "qwen3"), {}),
    "whole texts": (WHOLE, {}),
    "whole texts and reasoning": ((*WHOLE, "--reasoning-parser", "deepseek_r1"), {}),
    "whole texts with drafts and reasoning": (
        (*WHOLE, "--reasoning-parser", "deepseek_r1", "--speculative-config", DRAFTS),
        {},
    ),
    "TP 2": (("--tensor-parallel-size", "2"), TWO),
    # a fault of vLLM: with --enforce-eager its pipelines fail on the CPU
    "PP 2": (
        ("--pipeline-parallel-size", "2", "--compilation-config", '{"mode": 1, "backend": "eager"}'),
        TWO,
    ),
    "DP 2": (("--data-parallel-size", "2"), TWO),
    "two nodes TP 2": (
        ("--tensor-parallel-size", "2", "--distributed-executor-backend", "mp", *NODES),
        {"VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"},
    ),
    APART: (
        (
            *("--kv-transfer-config", TRANSFER, "--no-enable-prefix-caching", "--block-size", "32"),
            *("--max-num-batched-tokens", "16384"),  # that connector takes no prompts in pieces
        ),
        {},
    ),
}
# of SGLang
TOOLS = ("--tool-call-parser", "qwen25")
SGLANG: dict[str, tuple[str, ...]] = {
    "SGLang": TOOLS,
    "SGLang strict reasoning": (*TOOLS, "--reasoning-parser", "qwen3", "--enable-strict-thinking"),
    "SGLang TP 2": (*TOOLS, "--tp-size", "2"),
}
SERVE = "serve"  # this package's own server, where 4 are answered at a time, and 64 may wait
AT_ONCE = {SERVE: 64}
WAITING = (  # metrics of the requests that a server has
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "sglang:num_running_reqs",
    "sglang:num_queue_reqs",
    "sglang:num_grammar_queue_reqs",
)
PROMPTS = (
    "How many?",
    'Say it as JSON, such as {"a": true, "b": 1}.',
    "12-12-12 and 12-12",
    "Go on: a b a b a b",
)


def start_server(name: str, model: Path, work: Path, backend: str) -> Server:
    """Start the server of a configuration."""
    arguments, variables = CONFIGURATIONS.get(name, ((), {}))
    if name in SGLANG:
        own = {"SGLANG_CPU_OMP_THREADS_BIND": "0|1"} if "TP" in name else {}
        return sglang_server(model, work, name, backend, SGLANG[name], **own)
    port = free_port()
    if name == SERVE:
        program = "from stackmask.runtime.cli import main; main()"
        command = [sys.executable, "-c", program, "serve", "--model", str(model), "--port", str(port)]
        return Server([([*command, "--style", "hermes", "--name", "tiny"], {})], port, work, name)
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model)]
    command += ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--max-model-len", "1024", "--max-num-seqs", "64", "--dtype", "float32"]
    command += ["--gpu-memory-utilization", "0.15", "--enable-auto-tool-choice"]
    command += ["--tool-call-parser", "hermes", "--structured-outputs-config.backend", backend]
    command += [] if name.startswith("PP") else ["--enforce-eager"]
    command += [argument.replace("FOLDER", str(work / "transfer")) for argument in arguments]
    own = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "0",
        **variables,
    }
    nodes: list[list[str]] = [[]]
    other = None
    if "nodes" in name:
        nodes = [["--node-rank", "0"], ["--node-rank", "1", "--headless"]]
    if name == APART:
        other = free_port()
        nodes.append(["--port", str(other)])
    commands = []
    for number, node in enumerate(nodes):
        bound = {"VLLM_CPU_OMP_THREADS_BIND": str(number)} if len(nodes) > 1 else {}
        commands.append(([*command, *node], {**own, **bound}))
    return Server(commands, port, work, name, prefill=other)


class Campaign:
    """What is sent to one server, and what came back."""

    def __init__(
        self, server: Server, seed: int, requests: int, at_once: int, name: str, hostile: float = HOSTILE
    ) -> None:
        self.server, self.requests, self.hostile_share = server, requests, hostile
        self.is_whole = name.startswith("whole")
        self.places = asyncio.Semaphore(at_once)
        self.random = random.Random(seed)
        self.honest, self.hostile = asked.honest(), asked.hostile()
        if name in SGLANG:
            self.honest = [one._replace(fields=asked.for_sglang(one.fields)) for one in self.honest]
            self.hostile = [(name, asked.for_sglang(fields)) for name, fields in self.hostile]
        self.counts: collections.Counter[str] = collections.Counter()
        self.by_request: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.faults: list[str] = []
        self.memory: list[tuple[float, float]] = []
        self.begun = time.monotonic()
        self.longest = 0.0
        self.prompts = 0

    def fault(self, what: str, name: str, detail: Any) -> None:
        """Note a fault."""
        self.counts[what] += 1
        self.faults.append(f"{what}: {name}: {detail}"[:400])
        if len(self.faults) <= 20:
            print("FAULT", self.faults[-1], flush=True)

    def body(self, fields: dict[str, Any], stream: bool) -> dict[str, Any]:
        """Return a chat request."""
        prompt = self.random.choice(PROMPTS)
        if self.server.prefill is not None:  # a prompt of some blocks that no other request has
            self.prompts += 1
            prompt = f"{self.prompts}. " + " ".join([prompt] * 20)
        return {
            "model": "tiny",
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": MAX_TOKENS,
            "temperature": 1.0,
            "seed": self.random.randrange(1 << 30),
            "stream": stream,
            **fields,
        }

    async def answer(self, client: httpx.AsyncClient, body: dict[str, Any], leave_after: int = -1) -> Any:
        """Return status, message and reason of an answer; a client that leaves has none of the latter."""
        path = f"{self.server.url}/v1/chat/completions"
        if self.server.prefill is not None:
            first = {**body, "max_tokens": 1, "stream": False}
            got = await client.post(f"{self.server.prefill}/v1/chat/completions", json=first)
            if got.status_code != 200:
                return got.status_code, got.text, None
        if not body["stream"]:
            got = await client.post(path, json=body)
            if got.status_code != 200:
                return got.status_code, got.text, None
            choice = got.json()["choices"][0]
            return 200, choice["message"], choice["finish_reason"]
        message: dict[str, Any] = {"content": "", "tool_calls": []}
        reason = None
        async with client.stream("POST", path, json=body) as got:
            if got.status_code != 200:
                return got.status_code, (await got.aread()).decode(), None
            count = 0
            async for line in got.aiter_lines():
                if count == leave_after:
                    return 200, None, None
                count += 1
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                piece = json.loads(line[6:])
                if "error" in piece:
                    return int(piece["error"].get("code") or 500), json.dumps(piece["error"]), None
                for choice in piece["choices"]:
                    reason = choice.get("finish_reason") or reason
                    joined(message, choice["delta"])
        return 200, message, reason

    async def one(self, client: httpx.AsyncClient, kind: str, number: int) -> None:
        """Send one request, and judge what comes back."""
        if kind == "hostile":
            name, fields = self.hostile[self.random.randrange(len(self.hostile))]
            if self.random.random() < 0.4:
                name, fields = self.hostile[self.random.randrange(len(asked.MALFORMED))]
            check = None
        else:
            name, fields, check = self.honest[number % len(self.honest)]
        leave_after = self.random.randrange(12) if kind == "cancelled" else -1
        body = self.body(fields, kind == "cancelled" or self.random.random() < STREAMED)
        begun = time.monotonic()
        try:
            status, message, reason = await asyncio.wait_for(self.answer(client, body, leave_after), SECONDS)
        except (TimeoutError, httpx.TimeoutException):
            self.fault("without an answer", name, f"{SECONDS} s")
            return
        except httpx.HTTPError as error:
            self.fault("connection lost", name, repr(error))
            return
        self.longest = max(self.longest, time.monotonic() - begun)
        self.counts[kind] += 1
        label = self.judge(name, kind, status, message, reason, check)
        self.counts[f"{kind}: {label}"] += 1
        if kind == "honest":
            self.by_request[name][label] += 1

    def judge(self, name: str, kind: str, status: int, message: Any, reason: Any, check: Any) -> str:
        """Return what became of a request in a word, and note what is at fault."""
        if status == 500 and kind == "hostile" and "EngineCore" not in str(message):
            return "HTTP 500"  # a limit was met while it ran; vLLM has no other status for that
        if status >= 500:
            self.fault("server error", name, f"{status} {message}")
            return "error"
        if status != 200:
            if kind == "honest":
                self.fault("refused", name, f"{status} {message}")
            return f"HTTP {status}"
        if message is None:
            return "left"
        if reason == "length":
            return "cut"
        if reason not in ("stop", "tool_calls"):
            self.fault("ended otherwise", name, reason)
            return "error"
        if check is None:
            return "answered"
        is_empty = not message.get("content") and not message.get("tool_calls")
        try:
            check({**message, "content": message.get("content") or ""})
        except asked.Wrong as error:
            if is_empty and thought(message) and not self.is_whole:
                return "ended in a thought"
            self.fault("not valid", name, f"{error}: {json.dumps(message)[:200]}")
            return "not valid"
        return "valid"

    async def round(self, client: httpx.AsyncClient) -> None:
        """Send all requests of a round at once."""
        kinds = ["hostile"] * round(self.requests * self.hostile_share) + ["cancelled"] * round(
            self.requests * CANCELLED
        )
        kinds += ["honest"] * (self.requests - len(kinds))
        self.random.shuffle(kinds)
        await asyncio.gather(*(self.placed(client, kind, number) for number, kind in enumerate(kinds)))

    async def placed(self, client: httpx.AsyncClient, kind: str, number: int) -> None:
        """Send one request when there is a place for it."""
        async with self.places:
            await self.one(client, kind, number)

    async def watch(self) -> None:
        """Note memory now and then."""
        for _ in itertools.count():
            self.memory.append((round(time.monotonic() - self.begun), self.server.resident().total()))
            await asyncio.sleep(10)

    async def run(self, minutes: float) -> dict[str, Any]:
        """Send rounds until the minutes are over, one at least; return what is to be kept."""
        watching = asyncio.create_task(self.watch())
        ends: list[collections.Counter[str]] = []
        # connections are not used again: servers close them after some seconds, maybe while a request is sent
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=SECONDS, limits=limits) as client:
            while not ends or time.monotonic() - self.begun < 60 * minutes:
                await self.round(client)
                ends.append(self.server.resident())
                passed = time.monotonic() - self.begun
                print(f"{passed:.0f} s, {dict(ends[-1])} MB, {dict(self.counts)}", flush=True)
                if not self.server.alive():
                    break
        watching.cancel()
        seconds = time.monotonic() - self.begun
        left = await self.emptied()
        every = max(1, len(self.memory) // 60)
        return {
            "rounds": len(ends),
            "seconds": round(seconds, 1),
            "longest_request_seconds": round(self.longest, 1),
            "counts": dict(sorted(self.counts.items())),
            "faults": self.faults[:50],
            "requests_left_in_the_server": left,
            "engine_alive": self.server.alive(),
            "memory_mb_after_each_round": [held.total() for held in ends],
            "memory_mb_by_process": {name: [held[name] for held in ends] for name in sorted(ends[0])},
            "memory_mb_by_second": self.memory[::every],
            "valid_by_request": {name: dict(found) for name, found in sorted(self.by_request.items())},
        }

    async def emptied(self) -> float:
        """Wait until the server has no request; return how many it has after a minute, or -1 if that is not known."""
        left = -1.0
        for _ in range(30):
            try:
                gauges = self.server.gauges()
            except httpx.HTTPError:
                return -1.0
            found = [gauges[name] for name in WAITING if name in gauges]
            if not found:
                return -1.0  # it does not tell
            left = sum(found)
            if left == 0:
                break
            await asyncio.sleep(2)
        return left


def joined(message: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a piece of a stream to its message."""
    message["content"] += delta.get("content") or ""
    for name in ("reasoning", "reasoning_content"):
        if delta.get(name):
            message[name] = message.get(name, "") + delta[name]
    for call in delta.get("tool_calls") or []:
        calls = message["tool_calls"]
        while len(calls) <= call["index"]:
            calls.append({"function": {"name": "", "arguments": ""}})
        known, function = calls[call["index"]]["function"], call.get("function") or {}
        known["name"] += function.get("name") or ""
        known["arguments"] += function.get("arguments") or ""


def thought(message: dict[str, Any]) -> bool:
    """Tell whether a message has the thoughts of the model."""
    return bool(message.get("reasoning") or message.get("reasoning_content"))


async def campaign(name: str, server: Server, options: argparse.Namespace) -> dict[str, Any]:
    """Send a server its requests."""
    at_once = AT_ONCE.get(name, options.requests)
    made = Campaign(server, options.seed, options.requests, at_once, name, options.hostile)
    return await made.run(options.minutes)


def engine_counts(server: Server) -> dict[str, float]:
    """Return what vLLM's engine counted; nothing of one that has died."""
    try:
        gauges = server.gauges()
    except httpx.HTTPError:
        return {}
    return {
        "tokens": gauges["vllm:generation_tokens_total"],
        "drafted_tokens": gauges["vllm:spec_decode_num_draft_tokens_total"],
        "accepted_drafted_tokens": gauges["vllm:spec_decode_num_accepted_tokens_total"],
        "preemptions": gauges["vllm:num_preemptions_total"],
        "prompt_tokens": gauges["vllm:prompt_tokens_total"],
        "prompt_tokens_of_another_server": gauges["vllm:external_prefix_cache_hits_total"],
    }


def run_one(name: str, options: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Start a server, send it what it is to answer, and end it."""
    # a model that would stop within its thoughts, and hardly ends them
    stubborn = name.startswith("whole") and "reasoning" in name
    tokenizer = tokenizer_of("gpt2-50k", MARKS, readable=name in SGLANG or stubborn)
    likely = {"end": 8.0, "</think>": NEVER, "<tool_call>": 9.0}
    if "reasoning" in name:
        # an end, or a call in the middle of a thought, leaves nothing to judge: vLLM 0.32 answers the latter with 500
        likely = {"end": 2.0, "</think>": 11.5, "<tool_call>": NEVER}
    if stubborn:
        likely = {"end": 9.0, "</think>": 4.0, "<tool_call>": NEVER}
    model = make_model(work / f"hub-{name}", "tiny", tokenizer, likely)
    server = start_server(name, model, work, options.backend)
    try:
        started = server.wait()
        print(f"{name}: up after {started:.0f} s", flush=True)
        result = asyncio.run(campaign(name, server, options))
        if name in CONFIGURATIONS:
            result |= engine_counts(server)
        log = server.log.read_text(errors="replace")  # before it is ended, which is logged as a failure too
        result["engine_failures_logged"] = log.count("EngineDeadError") + log.count("EngineCore encountered")
    finally:
        server.stop()
        if options.logs:
            shutil.copy(server.log, options.logs)
    return {"start_seconds": round(started, 1), **checkout_state(), **result}


def write(name: str, result: dict[str, Any], file: str) -> None:
    """Write the result of a configuration beside those of others that were run before with the same versions."""
    path = RESULTS / f"{file}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    versions = {key: value for key, value in known.get("versions", {}).items() if key != "stackmask"}
    for package in ("vllm", "sglang", "torch", "transformers"):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    found = {**known.get("configurations", {}), name: result}
    command = f"VLLM_PYTHON lab/benchmarks/serving_campaign.py --write --save {file}"
    print(write_result(file, command, {"configurations": found}, **versions))


def main() -> None:
    """Run the configurations, and write what became of the requests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="names of configurations, with commas between them")
    parser.add_argument("--minutes", type=float, default=0.0, help="rounds go on for as long; one at least")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="of a round")
    parser.add_argument("--hostile", type=float, default=HOSTILE, help="share of hostile requests")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--backend", default="stackmask", help="of vLLM: another one to compare with")
    parser.add_argument("--logs", type=Path, help="a folder for the logs of the servers")
    parser.add_argument("--write", action="store_true", help="write the results")
    parser.add_argument("--save", default="serving_campaign", help="the name of their file")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(CONFIGURATIONS)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            result = run_one(name, options, Path(folder))
            print(name, json.dumps(result, indent=1), flush=True)
            if options.write:
                other = "" if options.backend == "stackmask" else f", {options.backend}"
                write(name + other, result, options.save)


if __name__ == "__main__":
    main()
