"""Try clients of OpenAI's protocol against ``stackmask serve`` with the embedded model, in a process of its own.

Run it with the Python of an environment that has the clients (``pip install openai instructor "pydantic-ai-slim[openai]"``):

    CLIENT_PYTHON lab/benchmarks/serving_clients.py --server PYTHON

``--server``: a Python that has ``stackmask[serve]``. Each case is one use of a client; what it says went wrong is written down.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from importlib import metadata
from typing import Any, Literal

from openai import AsyncOpenAI, BadRequestError, OpenAI
from pydantic import BaseModel
from record import write_result

START_SECONDS = 180
ASKED: list[Any] = [{"role": "user", "content": "How many customers are there?"}]


class Answer(BaseModel):
    """What the clients ask for."""

    kind: Literal["count", "list"]
    certain: bool


SCHEMA = {**Answer.model_json_schema(), "additionalProperties": False}
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
TOOL: Any = {"type": "function", "function": {"name": "answer", "parameters": SCHEMA, "strict": True}}


def cases(url: str) -> dict[str, Callable[[], Any]]:
    """Return what is tried, by name; a case raises where it fails."""
    client = OpenAI(base_url=url, api_key="none", max_retries=0)
    later = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    chat = client.chat.completions
    common: Any = {"model": "stackmask", "messages": ASKED, "max_tokens": 80}

    def plain() -> None:
        answer = chat.create(**common, response_format=FORMAT)
        Answer.model_validate_json(answer.choices[0].message.content or "")

    async def in_a_loop() -> None:
        asked = [later.chat.completions.create(**common, response_format=FORMAT) for _ in range(4)]
        for answer in await asyncio.gather(*asked):
            Answer.model_validate_json(answer.choices[0].message.content or "")
        await later.close()

    def streamed() -> None:
        parts = chat.create(**common, response_format=FORMAT, stream=True)
        Answer.model_validate_json("".join(p.choices[0].delta.content or "" for p in parts if p.choices))

    def parsed() -> None:
        answer = chat.parse(**common, response_format=Answer)
        assert isinstance(answer.choices[0].message.parsed, Answer)

    def tools() -> None:
        answer = chat.create(**common, tools=[TOOL], tool_choice="required")
        (call,) = (answer.choices[0].message.tool_calls or [])[:1]
        Answer.model_validate_json(call.function.arguments)  # type: ignore[union-attr]

    def streamed_tools() -> None:
        with chat.stream(**common, tools=[TOOL], tool_choice="required") as events:
            for _ in events:
                pass
            message = events.get_final_completion().choices[0].message
        Answer.model_validate_json((message.tool_calls or [])[0].function.arguments)

    def regex() -> None:
        extra = {"structured_outputs": {"regex": r"\d{4}-\d{2}"}}
        answer = client.completions.create(model="stackmask", prompt="When?", max_tokens=20, extra_body=extra)
        assert len(answer.choices[0].text) == 7

    def refused() -> None:
        try:
            chat.create(**common, extra_body={"structured_outputs": {"regex": "[a-"}})
        except BadRequestError as error:
            assert "unclosed class" in str(error)
        else:
            raise AssertionError("not refused")

    def instructed(mode: str) -> Callable[[], None]:
        def ask() -> None:
            import instructor

            made = instructor.from_openai(
                OpenAI(base_url=url, api_key="none"), mode=getattr(instructor.Mode, mode)
            )
            asked = copy.deepcopy(common)  # it writes into the messages
            answer = made.chat.completions.create(**asked, response_model=Answer, max_retries=1)
            assert isinstance(answer, Answer)

        return ask

    def agent(output: str) -> Callable[[], None]:
        def ask() -> None:
            from pydantic_ai import Agent, NativeOutput, ToolOutput
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            model = OpenAIChatModel("stackmask", provider=OpenAIProvider(base_url=url, api_key="none"))
            kinds: Any = {"native": NativeOutput(Answer), "tool": ToolOutput(Answer)}
            made: Any = Agent(model, output_type=kinds[output], model_settings={"max_tokens": 80})
            assert isinstance(made.run_sync(ASKED[0]["content"]).output, Answer)

        return ask

    return {
        "openai: response_format": plain,
        "openai: four at a time, asynchronous": lambda: asyncio.run(in_a_loop()),
        "openai: stream": streamed,
        "openai: parse with pydantic": parsed,
        "openai: tools": tools,
        "openai: stream of tool calls": streamed_tools,
        "openai: structured_outputs in extra_body": regex,
        "openai: a request that is wrong is BadRequestError": refused,
        "instructor: tools": instructed("TOOLS"),
        "instructor: json_schema": instructed("JSON_SCHEMA"),
        "instructor: json_object": instructed("JSON"),
        "pydantic-ai: native output": agent("native"),
        "pydantic-ai: tool output": agent("tool"),
    }


def serve(python: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server on a free port, and wait until it is up."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = "from stackmask.runtime.cli import main; main()"
    command = [python, "-c", program, "serve", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(START_SECONDS):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
        except OSError:
            time.sleep(1)
        else:
            return server, f"http://127.0.0.1:{port}/v1"
    server.kill()
    raise SystemExit("the server did not start")


def main() -> None:
    """Try all cases, and write what became of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--server", required=True, help="a Python with stackmask[serve]")
    given = parser.parse_args()
    server, url = serve(given.server)
    outcomes: dict[str, str] = {}
    try:
        for name, case in cases(url).items():
            try:
                case()
                outcomes[name] = "works"
            except Exception as error:  # noqa: BLE001 - what is wrong is what is looked for
                outcomes[name] = f"{type(error).__name__}: {error}"[:300]
            print(f"{name}: {outcomes[name]}", flush=True)
    finally:
        server.terminate()
        server.wait()
    versions = {name: metadata.version(name) for name in ("openai", "instructor", "pydantic-ai-slim")}
    command = "CLIENT_PYTHON lab/benchmarks/serving_clients.py --server PYTHON"
    write_result("serving_clients", command, {"cases": outcomes}, **versions)


if __name__ == "__main__":
    main()
