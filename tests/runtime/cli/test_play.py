"""``stackmask play``: what it says of grammars and texts, and whom it answers."""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.browser import page_after_scripts

from stackmask.runtime.cli.play_judging import MAX_TOKENS, Playground
from stackmask.runtime.cli.play_server import (
    ADDRESS,
    MAX_BODY,
    MAX_CONNECTIONS,
    Handler,
    PlayServer,
    TimedReader,
    first_state,
    play_page,
)
from stackmask.runtime.vocabulary.vocabulary import Vocabulary


class Bytes:
    """A tokenizer of bytes."""

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return list(text.encode())


@pytest.fixture(scope="module")
def playground() -> Playground:
    return Playground(Bytes(), Vocabulary([bytes([b]) for b in range(256)] + [None], stop_ids=[256]))


@pytest.fixture(scope="module")
def server(playground: Playground) -> Iterator[PlayServer]:
    state = {"kind": "ebnf", "grammar": 'root ::= "a" x\nx ::= "b" | "</script>"', "text": "ab"}
    with PlayServer(playground, 0, state) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def judged(playground: Playground, kind: str, grammar: str, text: str = "") -> dict[str, Any]:
    return playground.judge({"page": "p", "kind": kind, "grammar": grammar, "text": text})


# -- what is said ---------------------------------------------------------------------------------------------


def test_a_text_is_judged_token_by_token(playground: Playground) -> None:
    found = judged(playground, "ebnf", 'root ::= "a" x\nx ::= "é" | "c"', "aé")
    assert (found["accepted"], found["rest"], found["problems"]) == (True, "", [])
    assert [step["b"] for step in found["steps"]] == [1, 2, 3, 3]
    assert found["steps"][0]["k"] == "c1"
    assert found["steps"][1]["r"] == ("x",)
    wrong = judged(playground, "ebnf", 'root ::= "a" [b-d]', "axyz")
    assert (wrong["accepted"], wrong["rest"]) == (False, "yz")
    assert wrong["steps"][-1]["k"].endswith(" no")
    assert "expected 'b'–'d'" in wrong["steps"][-1]["e"]
    early = judged(playground, "regex", "ab", "a")
    assert (early["accepted"], early["steps"][-1]["e"]) == (False, "the text ends too early")


def test_schemas_and_patterns(playground: Playground) -> None:
    assert judged(playground, "schema", '{"type": "boolean"}', "true")["accepted"]
    assert judged(playground, "regex", r"\d+", "12")["accepted"]
    for kind, text, message in (
        ("schema", "{", "not JSON"),
        ("schema", "[" * 100_000, "nested too deeply"),
        ("schema", '{"type": 3}', "type"),
        ("regex", "(", ""),
        ("other", "", "not one of ebnf"),
    ):
        (problem, *_) = judged(playground, kind, text)["problems"]
        assert problem["severity"] == "error"
        assert message in problem["message"]


def test_places_are_counted_as_browsers_count(playground: Playground) -> None:
    (problem,) = judged(playground, "ebnf", '# 😀\nroot ::= "😀" x')["problems"]
    assert (problem["line"], problem["column"], problem["start"], problem["end"]) == (2, 14, 19, 20)
    assert problem["code"] == "G003"
    (json_problem,) = judged(playground, "schema", '{"a": }')["problems"]
    assert (json_problem["start"], json_problem["line"]) == (6, 1)


def test_problems_of_schemas_have_places(playground: Playground) -> None:
    schema = '{"allOf": [{},\n {"properties": {"😀": {"type": 3}}}]}'
    (problem,) = judged(playground, "schema", schema)["problems"]
    assert (problem["line"], schema[problem["start"] - 1 : problem["end"] - 1]) == (2, '"type"')
    (inside,) = judged(playground, "ebnf", 'root ::= %json {"type": 3}')["problems"]
    assert inside["severity"] == "error"


def test_warnings_are_told_beside_the_verdict(playground: Playground) -> None:
    found = judged(playground, "ebnf", 'root ::= "a"\nunused ::= "b"', "a")
    assert found["accepted"]
    assert [(p["severity"], p["code"]) for p in found["problems"]] == [("warning", "G201")]


def test_long_texts_are_followed_to_a_bound(playground: Playground) -> None:
    found = judged(playground, "ebnf", 'root ::= "a"*', "a" * (MAX_TOKENS + 50))
    assert len(found["steps"]) == MAX_TOKENS
    assert (found["accepted"], found["rest"]) == (False, "a" * 50)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("ebnf", '%import "/etc/passwd" (a)\nroot ::= a', "not in a file"),
        ("ebnf", 'root ::= %json {"$ref": "file:///etc/passwd"}', "nothing is fetched"),
        ("schema", '{"$ref": "http://localhost/x"}', "nothing is fetched"),
        ("ebnf", "root ::= " + "(" * 300 + "'a'" + ")?" * 300, "nesting"),
        ("ebnf", 'root ::= "a"' + " " * (3 << 20), "max_input_bytes"),
        ("regex", "(a?){1000}(a?){1000}&" + "(x{1,999}y){1,999}" * 3, ""),
    ],
)
def test_hostile_grammars_get_an_answer_and_no_file(
    playground: Playground, kind: str, text: str, message: str
) -> None:
    found = judged(playground, kind, text, "a")
    shown = json.dumps(found)
    assert message in shown
    assert "root:" not in shown


def test_diagrams_are_html_that_runs_nothing(playground: Playground) -> None:
    pytest.importorskip("railroad")
    drawn = playground.draw({"kind": "ebnf", "grammar": 'root ::= "<script>" x\nx ::= "&"'})["html"]
    assert "&lt;script>" in drawn
    assert "<script" not in drawn
    refused = playground.draw({"kind": "ebnf", "grammar": "root ::= y"})["html"]
    assert refused.startswith("<p>") and "undefined rule" in refused


def test_a_newer_question_ends_the_older_one(playground: Playground) -> None:
    first = threading.Event()
    playground._asked["q"] = first
    playground.judge({"page": "q", "kind": "regex", "grammar": "a", "text": ""})
    assert first.is_set()


# -- whom it answers ------------------------------------------------------------------------------------------


def asked(
    server: PlayServer, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=named)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, dict(answer.getheaders())


QUESTION = json.dumps({"kind": "regex", "grammar": "a", "text": "a"}).encode()


def test_it_listens_on_this_machine_alone(server: PlayServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_asks_and_is_answered(server: PlayServer) -> None:
    status, page, headers = asked(server, "GET", "/?x=1")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    (nonce,) = re.findall(r"'nonce-([^']+)'", policy)
    assert page.count(f'nonce="{nonce}"') == 3
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    origin = f"http://{ADDRESS}:{server.server_port}"
    status, answer, headers = asked(
        server, "POST", "/judge", QUESTION, Origin=origin, Content_Type="application/json"
    )
    assert status == 200
    assert json.loads(answer)["accepted"]
    assert "Access-Control-Allow-Origin" not in headers


def test_others_are_refused(server: PlayServer) -> None:
    origin = f"http://{ADDRESS}:{server.server_port}"
    good = {"Origin": origin, "Content_Type": "application/json"}
    assert asked(server, "GET", "/", Host="evil.example")[0] == 403  # another name that leads here
    assert asked(server, "POST", "/judge", QUESTION, **{**good, "Host": "evil.example:80"})[0] == 403
    for wrong in ("http://evil.example", "null", f"https://{ADDRESS}:{server.server_port}", origin + "0"):
        assert asked(server, "POST", "/judge", QUESTION, **{**good, "Origin": wrong})[0] == 403
    assert asked(server, "POST", "/judge", QUESTION, Content_Type="application/json")[0] == 403
    assert asked(server, "POST", "/judge", QUESTION, Origin=origin, Content_Type="text/plain")[0] == 400
    assert asked(server, "POST", "/judge", b"{", **good)[0] == 400
    assert asked(server, "POST", "/judge", b"[" * 100_000, **good)[0] == 400
    assert asked(server, "POST", "/judge", b"[]", **good)[0] == 400
    assert asked(server, "POST", "/judge", b"", **{**good, "Content_Length": str(MAX_BODY + 1)})[0] == 413
    assert asked(server, "POST", "/other", QUESTION, **good)[0] == 404
    assert asked(server, "GET", "/etc/passwd")[0] == 404
    assert asked(server, "PUT", "/judge", QUESTION, **good)[0] == 501
    assert asked(server, "GET", "/editor.js", Host="evil.example")[0] == 403


def test_the_editor_comes_from_here(server: PlayServer) -> None:
    status, script, headers = asked(server, "GET", "/editor.js")
    assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert "makeEditor" in script
    assert "MIT License" in script


# -- the page -------------------------------------------------------------------------------------------------


def test_the_state_cannot_end_the_script() -> None:
    page = play_page({"kind": "ebnf", "grammar": "</script><script>alert(1)", "text": ""}, "n")
    assert page.count("<script") == 3


def test_what_the_page_begins_with(tmp_path: Path) -> None:
    schema, pattern = tmp_path / "s.json", r"/\d+/"
    schema.write_text('{"type": "null"}', encoding="utf-8")
    assert first_state(None, None)["kind"] == "ebnf"
    assert first_state("json", "[1]")["text"] == "[1]"
    assert first_state(str(schema), None) == {"kind": "schema", "grammar": '{"type": "null"}', "text": "null"}
    assert first_state(pattern, None)["grammar"] == r"\d+"
    assert first_state('{"type": "null"}', None)["kind"] == "schema"


def test_the_page_begins_with_a_text_that_is_accepted(playground: Playground, tmp_path: Path) -> None:
    lark, broken = tmp_path / "a.lark", tmp_path / "b.ebnf"
    lark.write_text('start: "a" B\nB: /[bc]+/\n', encoding="utf-8")
    broken.write_text("root ::= other", encoding="utf-8")
    for name in (None, "arithmetic", "json", r"/\d{3}-[A-Z]+/", str(lark), "csv", "indented"):
        answer = playground.judge({"page": "p", **first_state(name, None)})
        assert answer["accepted"], (name, answer)
    assert first_state(str(broken), None)["text"] == ""


def test_a_link_holds_the_state(server: PlayServer, tmp_path: Path) -> None:
    state = json.dumps(["ebnf", "root ::= é", "é"]).encode()
    packed = base64.urlsafe_b64encode(state).decode().rstrip("=")
    dom = page_after_scripts(f"{server.url}#{packed}", tmp_path)
    assert "the grammar has errors" in dom
    assert "line 1, column 10" in dom.partition('id="problems"')[2]


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_bytes_that_come_one_by_one_do_not_prolong_a_request() -> None:
    near, far = socket.socketpair()
    with near, far:
        clock = Clock()
        reader = TimedReader(near, 30, clock)
        reader.begin()
        for _ in range(3):
            far.sendall(b"x")
            assert reader.readinto(bytearray(10)) == 1
            clock.now += 10
        far.sendall(b"x")
        with pytest.raises(TimeoutError):
            reader.readinto(bytearray(10))
        reader.begin()
        assert reader.readinto(bytearray(10)) == 1


@pytest.mark.parametrize(
    "begin", [b"", b"POST /judge HTTP/1.1\r\nHost: %s\r\nContent-Length: 999999\r\n\r\n"]
)
def test_a_slow_request_is_ended(
    playground: Playground, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(Handler, "timeout", 0.3)
    with PlayServer(playground, 0, {"kind": "ebnf", "grammar": "", "text": ""}) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        try:
            with socket.create_connection((ADDRESS, made.server_port), timeout=30) as slow:
                host = made.url[7:-1].encode()
                more = b"Origin: http://%s\r\nContent-Type: application/json\r\n\r\n" % host
                slow.sendall(begin and begin.replace(b"%s", host).replace(b"\r\n\r\n", b"\r\n" + more))
                with pytest.raises(OSError):  # the server has closed it
                    for _ in range(10_000):
                        slow.sendall(b"x")
                        time.sleep(0.01)
        finally:
            made.shutdown()
            thread.join()


@pytest.mark.campaign
def test_connections_are_bounded(playground: Playground) -> None:
    with PlayServer(playground, 0, {"kind": "ebnf", "grammar": "", "text": ""}) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        silent = [socket.create_connection((ADDRESS, made.server_port)) for _ in range(MAX_CONNECTIONS)]
        try:
            before = threading.active_count()
            with socket.create_connection((ADDRESS, made.server_port), timeout=30) as late:
                assert late.recv(100).startswith(b"HTTP/1.1 503 ")
            assert threading.active_count() <= before + MAX_CONNECTIONS
            for each in silent:
                each.close()
            answered = False
            while not answered:  # until the threads have noticed
                client = http.client.HTTPConnection(ADDRESS, made.server_port, timeout=30)
                with suppress(
                    OSError, http.client.HTTPException
                ):  # a connection that is refused may be reset
                    client.request("GET", "/")
                    answered = client.getresponse().status == 200
                client.close()
        finally:
            for each in silent:
                each.close()
            made.shutdown()
            thread.join()
