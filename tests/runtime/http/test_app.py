"""The server of ``stackmask serve``, over the embedded model."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("httpx")
testclient = pytest.importorskip("starlette.testclient")

from stackmask.runtime.cli.command_serve import hosts_of
from stackmask.runtime.embedded import load_embedded
from stackmask.runtime.http.app import Service, make_app
from stackmask.runtime.serving.metrics import Metrics
from stackmask.runtime.serving.requests import RequestError

SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "made", "schema": SCHEMA, "strict": True}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
JSON = {"content-type": "application/json"}
ASKED = [{"role": "user", "content": "How many customers are there?"}]


@pytest.fixture(scope="module")
def service() -> Service:
    model, tokenizer = load_embedded()
    return Service(model, tokenizer, embedded=True, style="qwen_3")


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[Any]:
    with testclient.TestClient(make_app(service)) as made:
        yield made


def test_the_embedded_model_has_a_style_of_calls() -> None:
    model, tokenizer = load_embedded()
    assert Service(model, tokenizer, embedded=True).style == "hermes"
    assert Service(model, tokenizer, embedded=True, style="llama").style == "llama"


def chat(client: Any, **body: Any) -> Any:
    content = json.dumps({"messages": ASKED, **body})  # ASCII, with escapes for what is not text
    return client.post("/v1/chat/completions", content=content, headers=JSON)


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_a_schema_is_kept(client: Any) -> None:
    answer = chat(client, response_format=FORMAT, max_tokens=60).json()
    (choice,) = answer["choices"]
    value = json.loads(choice["message"]["content"])
    assert value["a"] in (1, 2) and isinstance(value["b"], bool)
    assert choice["finish_reason"] == "stop" and answer["object"] == "chat.completion"
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 2


def test_a_schema_beside_json_object_is_kept(client: Any) -> None:
    wanted = {"type": "json_object", "schema": SCHEMA}
    text = chat(client, response_format=wanted, max_tokens=60).json()["choices"][0]["message"]["content"]
    assert json.loads(text)["a"] in (1, 2)


def test_a_stream_is_the_same_text(client: Any) -> None:
    whole = chat(client, response_format=FORMAT, max_tokens=60).json()["choices"][0]["message"]["content"]
    body = {"response_format": FORMAT, "max_tokens": 60, "stream": True}
    parts = events(chat(client, **body, stream_options={"include_usage": True}).text)
    assert parts.pop()["usage"]["completion_tokens"] > 1
    assert "".join(part["choices"][0]["delta"].get("content", "") for part in parts) == whole
    assert parts[-1]["choices"][0]["finish_reason"] == "stop"


def test_completions(client: Any) -> None:
    body = {"prompt": "Say it", "n": 2, "temperature": 1.0, "seed": 3}
    answer = client.post("/v1/completions", json={**body, "structured_outputs": {"choice": ["yes", "no"]}})
    assert [choice["text"] in ("yes", "no") for choice in answer.json()["choices"]] == [True, True]
    cut = {"prompt": "x", "structured_outputs": {"regex": "abcabc"}, "stop": "c"}
    assert client.post("/v1/completions", json=cut).json()["choices"][0]["text"] == "ab"
    streamed = {"prompt": "x", "structured_outputs": {"regex": "abcabc"}, "stream": True}
    parts = events(client.post("/v1/completions", json=streamed).text)
    assert "".join(part["choices"][0]["text"] for part in parts) == "abcabc"


def test_tools(client: Any) -> None:
    body = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 200}
    (choice,) = chat(client, **body).json()["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and call["function"]["name"] == "look"
    assert json.loads(call["function"]["arguments"])["a"] in (1, 2)
    parts = [part["choices"][0] for part in events(chat(client, **body, stream=True).text)]
    pieces = [piece["function"] for part in parts for piece in part["delta"].get("tool_calls", ())]
    assert pieces[0]["name"] == "look"
    assert json.loads("".join(piece["arguments"] for piece in pieces))["a"] in (1, 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"response_format": {"type": "json_schema"}}, "with `schema`"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {**FORMAT, "json_schema": {"schema": {"type": "nope"}}}}, "nope"),
        ({"structured_outputs": {"regex": "[a-"}}, "unclosed class"),
        ({"structured_outputs": {"regex": "[a-"}, "stream": True}, "unclosed class"),
        ({"structured_outputs": {"grammar": "root ::= nope"}}, "undefined rule"),
        ({"response_format": {**FORMAT, "schema": {}}}, "response_format has 'schema'"),
        ({"response_format": {"type": "text", "json_schema": {}}}, "response_format has 'json_schema'"),
        ({"response_format": {"type": "json_object", "schema": {"type": "nope"}}}, "nope"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "not text"),
        ({"temperature": "hot"}, "temperature"),
        ({"n": 0}, "n must be"),
        ({"n": 2, "stream": True}, "one choice"),
        ({"logprobs": True}, "logprobs"),
        ({"max_tokens": 100_000}, "the model reads and writes 512"),
        ({"model": "other"}, "this server has"),
        ({"tool_choice": "required"}, "give tools"),
        ({"tools": [{"type": "function"}]}, ""),
        ({"tools": [{"type": "function"}], "stream": True}, ""),
        ({"messages": [{"role": "system", "content": "x"}]}, "no message of the user"),
        ({"parallel_tool_calls": "x"}, "parallel_tool_calls must be true or false"),
        ({"parallel_tool_calls": 0, "tools": [TOOL]}, "parallel_tool_calls must be true or false"),
        ({"stream": True, "stream_options": {"include_usage": "x"}}, "include_usage must be true"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "half of a surrogate pair, \\ud800"),
        ({"structured_outputs": {"choice": ["a", "\udc00"]}}, "half of a surrogate pair"),
        ({"\udc00": 1}, "half of a surrogate pair"),
    ],
)
def test_what_is_wrong_is_400(client: Any, body: dict[str, Any], message: str) -> None:
    answer = chat(client, **body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert message in error["message"] and error["type"] == "invalid_request_error"


def test_bodies_that_are_no_json(client: Any) -> None:
    for content, message in ((b"{", "line 1, column 2"), (b"\xff", "UTF-8"), (b"[]", "must be an object")):
        answer = client.post("/v1/chat/completions", content=content, headers=JSON)
        assert answer.status_code == 400 and message in answer.json()["error"]["message"]
    long = client.post("/v1/chat/completions", content=b" " * (5 << 20), headers=JSON)
    assert long.status_code == 400 and "bytes" in long.json()["error"]["message"]


def test_models_metrics_and_health(client: Any) -> None:
    assert client.get("/v1/models").json()["data"][0]["id"] == "stackmask"
    assert client.get("/health").status_code == 200
    chat(client, response_format=FORMAT, max_tokens=60)
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines())
    assert float(lines["stackmask_compile_seconds_count"]) >= 1
    assert float(lines["stackmask_generated_tokens_total"]) > 1


def test_a_fault_ends_its_request_alone(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("no more")

    with monkeypatch.context() as patched:
        patched.setattr("stackmask.runtime.http.app.agenerate", fail)
        answer = chat(client)
        assert answer.status_code == 500 and "no more" in answer.json()["error"]["message"]
    assert chat(client, response_format=FORMAT, max_tokens=60).status_code == 200


def test_numbers_of_thousands_of_digits_are_400(client: Any) -> None:
    body = '{"messages": [{"role": "user", "content": "x"}], "seed": ' + "1" * 5000 + "}"
    answer = client.post("/v1/chat/completions", content=body, headers=JSON)
    assert answer.status_code == 400 and "cannot be read" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_bodies_of_another_type_are_refused(client: Any, kind: str | None) -> None:
    """A page of another site can make a browser send these without asking the server first."""
    headers = {"content-type": kind} if kind else {}
    answer = client.post("/v1/chat/completions", content=json.dumps({"messages": ASKED}), headers=headers)
    assert answer.status_code == 415 and "application/json" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "LOCALHOST"}, 200),
        ({"host": "evil.example:8000"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "localhost@evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://127.0.0.1"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_are_not_answered(
    service: Service, headers: dict[str, str], status: int
) -> None:
    local = dataclasses.replace(service, hosts=hosts_of("127.0.0.1"))
    with testclient.TestClient(make_app(local), base_url="http://127.0.0.1") as made:
        for path in ("/v1/models", "/metrics", "/health"):
            assert made.get(path, headers=headers).status_code == status


def test_a_server_for_other_machines_has_any_name() -> None:
    assert hosts_of("0.0.0.0") is None and hosts_of("localhost") == hosts_of("::1")


def test_a_template_that_fails_is_400(service: Service) -> None:
    class Strict:
        """A tokenizer whose template wants roles in turn."""

        chat_template = "given"

        def __init__(self, tokenizer: Any) -> None:
            self._tokenizer = tokenizer

        def __getattr__(self, name: str) -> Any:
            return getattr(self._tokenizer, name)

        def apply_chat_template(self, *_: Any, **__: Any) -> str:
            raise ValueError("roles must alternate")

    chatting = dataclasses.replace(service, embedded=False, style="hermes")
    chatting.tokenizer = Strict(service.tokenizer)
    with testclient.TestClient(make_app(chatting)) as made:
        answer = chat(made)
    assert answer.status_code == 400 and "roles must alternate" in answer.json()["error"]["message"]


def counts(client: Any) -> dict[str, float]:
    lines = (line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines())
    return {name: float(value) for name, value in lines if "requests_total" in name}


def test_streams_are_counted_where_they_end(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with testclient.TestClient(make_app(dataclasses.replace(service, metrics=Metrics()))) as made:
        assert chat(made, stream=True, max_tokens=5).status_code == 200
        assert counts(made) == {'stackmask_requests_total{status="200"}': 1}

        def fail(*_: Any, **__: Any) -> str:
            raise MemoryError("no more")

        monkeypatch.setattr("stackmask.runtime.http.app._reason", fail)
        assert "no more" in chat(made, stream=True, max_tokens=5).text
        assert counts(made)['stackmask_requests_total{status="500"}'] == 1


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


async def posted(app: Any, receive: Any) -> list[dict[str, Any]]:
    """Send a request whose body comes from ``receive``; return what the application sends."""
    sent: list[dict[str, Any]] = []
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "headers": headers,
        "query_string": b"",
    }

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def test_a_body_that_does_not_arrive_is_given_up(service: Service) -> None:
    async def slow() -> dict[str, Any]:
        await asyncio.sleep(3600)
        return {}

    waiting = dataclasses.replace(service, body_seconds=0.01)
    sent = run(posted(make_app(waiting), slow))
    assert sent[0]["status"] == 408 and waiting.active == 0


def test_a_client_that_goes_while_it_sends_is_forgotten(service: Service) -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    left = dataclasses.replace(service, metrics=Metrics())
    run(posted(make_app(left), gone))
    assert left.active == 0 and left.metrics.text() == 'stackmask_requests_total{status="499"} 1\n'


def test_only_so_many_requests_wait(service: Service) -> None:
    """More are told to come later, at once; and those that wait are answered."""
    full = dataclasses.replace(service, concurrency=1, max_waiting=1, metrics=Metrics())
    app = make_app(full)
    body = json.dumps({"messages": ASKED, "max_tokens": 5}).encode()

    async def ask(go: asyncio.Event) -> int:
        async def receive() -> dict[str, Any]:
            await go.wait()
            return {"type": "http.request", "body": body, "more_body": False}

        return int((await posted(app, receive))[0]["status"])

    async def all_at_once() -> list[int]:
        go = asyncio.Event()
        held = [asyncio.create_task(ask(go)) for _ in range(2)]
        await asyncio.sleep(0)
        go_at_once = asyncio.Event()
        go_at_once.set()
        refused = [await ask(go_at_once) for _ in range(3)]
        go.set()
        return [*refused, *await asyncio.gather(*held)]

    assert run(all_at_once()) == [503, 503, 503, 200, 200]
    assert full.active == 0


def test_a_long_prompt_does_not_keep_others_waiting(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads a request runs beside the loop that answers the others."""
    loop_thread, seen = threading.get_ident(), []

    def room(*_: Any) -> Any:
        seen.append(threading.get_ident())
        raise RequestError("seen")

    monkeypatch.setattr(Service, "room_for", room)
    body = json.dumps({"messages": ASKED}).encode()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    sent = run(posted(make_app(service), receive))
    assert sent[0]["status"] == 400 and seen and loop_thread not in seen
