"""The server of ``stackmask serve``, over the embedded model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("httpx")
testclient = pytest.importorskip("starlette.testclient")

from stackmask.runtime.embedded import load_embedded
from stackmask.runtime.http.app import Service, make_app

SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "made", "schema": SCHEMA, "strict": True}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
ASKED = [{"role": "user", "content": "How many customers are there?"}]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    model, tokenizer = load_embedded()
    app = make_app(Service(model, tokenizer, embedded=True, style="qwen_3"))
    with testclient.TestClient(app) as made:
        yield made


def test_the_embedded_model_has_a_style_of_calls() -> None:
    model, tokenizer = load_embedded()
    assert Service(model, tokenizer, embedded=True).style == "hermes"
    assert Service(model, tokenizer, embedded=True, style="llama").style == "llama"


def chat(client: Any, **body: Any) -> Any:
    return client.post("/v1/chat/completions", json={"messages": ASKED, **body})


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
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "no text"),
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
    ],
)
def test_what_is_wrong_is_400(client: Any, body: dict[str, Any], message: str) -> None:
    answer = chat(client, **body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert message in error["message"] and error["type"] == "invalid_request_error"


def test_bodies_that_are_no_json(client: Any) -> None:
    for content, message in ((b"{", "line 1, column 2"), (b"\xff", "UTF-8"), (b"[]", "must be an object")):
        answer = client.post("/v1/chat/completions", content=content)
        assert answer.status_code == 400 and message in answer.json()["error"]["message"]
    long = client.post("/v1/chat/completions", content=b" " * (5 << 20))
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
