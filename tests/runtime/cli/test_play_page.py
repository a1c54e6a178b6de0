"""The page of ``stackmask play`` in a real browser: load, edit, errors, trace, large schemas, hostile grammars."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Browser, a_browser

from stackmask.runtime.cli.play_judging import Playground
from stackmask.runtime.cli.play_server import PlayServer
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

pytestmark = pytest.mark.campaign
VERDICT = "document.getElementById('verdict').textContent"
CONTROL, END, HOME, DELETE, TAB, F8 = "\ue009", "\ue010", "\ue011", "\ue017", "\ue004", "\ue038"
RELEASE = "\ue000"
FIRST = {"kind": "ebnf", "grammar": 'root ::= "a" x\nx ::= "b" | "é"', "text": "ab"}


class Bytes:
    """A tokenizer of bytes."""

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return list(text.encode())


@pytest.fixture(scope="module")
def server() -> Iterator[PlayServer]:
    playground = Playground(Bytes(), Vocabulary([bytes([b]) for b in range(256)] + [None], stop_ids=[256]))
    with PlayServer(playground, 0, FIRST) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with a_browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: PlayServer) -> Iterator[Browser]:
    """Open the page anew. Nothing of it may fail, and nothing may be refused by its policy."""
    server.state = dict(FIRST)
    browser.open("about:blank")
    browser.open(server.url)
    browser.wait(VERDICT)
    yield browser
    assert browser.errors() == []


def write(page: Browser, where: str, text: str) -> None:
    """Put a text in place of what an editor holds, as one change that a person may make: all of it is pasted over."""
    page.run(
        "const view = (arguments[0] === 'grammar' ? grammar : input).view;"
        "view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: arguments[1] } });",
        where,
        text,
    )


def test_it_loads(page: Browser) -> None:
    assert page.run(f"return {VERDICT}") == "accepted"
    assert page.run("return document.querySelectorAll('.cm-editor').length") == 2
    assert page.wait("document.querySelectorAll('#diagram svg').length") == 2
    assert page.run("return document.querySelectorAll('#grammar .t-name').length") == 2
    assert page.run("return document.querySelector('#text .c2[data-i=\"1\"]').textContent") == "b"


def test_text_is_judged_while_it_is_typed(page: Browser) -> None:
    page.type("#input .cm-content", CONTROL + END + RELEASE + "c")
    page.wait("document.querySelector('#input .cm-lintRange-error')")
    assert page.run("return document.querySelector('#text .no').textContent") == "c"
    page.type("#input .cm-content", "\ue003")  # backspace
    page.wait(f"{VERDICT} === 'accepted'")
    assert page.run("return document.querySelector('.cm-lintRange-error')") is None


def test_errors_are_underlined_where_they_are(page: Browser) -> None:
    page.type("#grammar .cm-content", CONTROL + END + RELEASE + " | nope")
    page.wait("document.querySelector('#grammar .cm-lintRange-error')")
    assert page.run("return document.querySelector('.cm-lintRange-error').textContent") == "nope"
    assert page.run(f"return {VERDICT}") == "the grammar has errors"
    page.click("#problems button")
    assert page.run("return getSelection().toString()") == "nope"
    page.type("#grammar .cm-content", DELETE)
    page.wait(
        "document.getElementById('problems').textContent.includes('warning') || !document.querySelector('#problems .error')"
    )
    page.type("#grammar .cm-content", "x2\nx2 ::= 'c'\ny ::= 'd'")
    page.wait("document.querySelector('#grammar .cm-lintRange-warning')")


def test_problems_by_keyboard(page: Browser) -> None:
    write(page, "grammar", "root ::= 'a' nope")
    page.wait("document.querySelector('#grammar .cm-lintRange-error')")
    page.type("#grammar .cm-content", F8)
    assert page.wait("getSelection().toString()") == "nope"
    page.type("#grammar .cm-content", TAB)
    assert page.run("return document.activeElement.closest('#grammar')") is None, "Tab leaves the editor"


def test_errors_of_schemas_are_underlined(page: Browser) -> None:
    page.run("kind.value = 'schema'; kind.dispatchEvent(new Event('input'));")
    write(page, "grammar", '{"properties": {"a": {"type": "strin"}}}')
    page.wait("document.querySelector('#grammar .cm-lintRange-error')")
    assert page.run("return document.querySelector('.cm-lintRange-error').textContent") == '"type"'


def test_what_was_so_at_a_token(page: Browser) -> None:
    page.click("#text span:nth-child(2)")
    assert "2 tokens" in page.run("return document.getElementById('step').innerText")
    assert page.run("return document.querySelector('#input .at-here').textContent") == "b"
    page.type("#text", HOME)
    assert "step 0" in page.run("return document.getElementById('step').innerText")
    write(page, "input", "aé")
    page.wait("document.querySelectorAll('#text span').length === 4")  # é is two tokens
    page.type("#input .cm-content", CONTROL + HOME + RELEASE + "\ue014")  # one to the right
    page.wait("document.getElementById('step').innerText.includes('step 1')")
    assert "x" in page.run("return document.getElementById('step').innerText")


def test_a_link_holds_the_state(page: Browser, server: PlayServer) -> None:
    write(page, "grammar", "root ::= 'é'+")
    write(page, "input", "éé")
    page.wait(f"{VERDICT} === 'accepted' && document.querySelectorAll('#text span').length === 5")
    link = page.run("return location.href")
    page.open("about:blank")
    page.open(link)
    page.wait(f"{VERDICT} === 'accepted'")
    assert page.run("return [grammar.text, input.text]") == ["root ::= 'é'+", "éé"]


def test_a_schema_of_a_megabyte(page: Browser, server: PlayServer) -> None:
    members = {f"field_{number}": {"type": "string", "maxLength": number + 1} for number in range(20_000)}
    schema = json.dumps({"type": "object", "properties": members}, indent=1)
    assert len(schema) > 1_000_000
    page.run("kind.value = 'schema'; kind.dispatchEvent(new Event('input'));")
    write(page, "grammar", schema)
    page.wait("!text.hasAttribute('aria-busy') && grammar.length > 1000000")
    # few lines are drawn, and a key is answered at once, whatever is asked of the server
    assert page.run("return document.querySelectorAll('#grammar .cm-line').length") < 200
    page.type("#grammar .cm-content", CONTROL + END + RELEASE + "  \n")
    assert page.run("return grammar.length") == len(schema) + 3
    assert page.run("return document.querySelectorAll('#grammar .cm-line').length") < 200
    write(page, "grammar", '{"type": "boolean"}')
    write(page, "input", "true")
    page.wait(f"{VERDICT} === 'accepted'")


@pytest.mark.parametrize(
    ("kind", "grammar", "problem"),
    [
        ("ebnf", "root ::= " + "(" * 300 + "'a'" + ")?" * 300, "nesting"),
        ("ebnf", "root ::= 'a'" + " " * (3 << 20), "max_input_bytes"),
        ("ebnf", 'root ::= "<img src=x onerror=alert(1)>" <b>nope</b>', ""),
        ("schema", "[" * 100_000, "nested too deeply"),
    ],
)
def test_hostile_grammars(page: Browser, kind: str, grammar: str, problem: str) -> None:
    page.run("kind.value = arguments[0]; kind.dispatchEvent(new Event('input'));", kind)
    write(page, "grammar", grammar)
    page.wait(f"{VERDICT} !== 'accepted' && document.querySelector('#problems .error')")
    assert problem in page.run("return document.getElementById('problems').textContent")
    assert page.run("return document.querySelector('#problems img, #problems b')") is None
    page.run("kind.value = 'ebnf'; kind.dispatchEvent(new Event('input'));")
    write(page, "grammar", "root ::= 'a'")
    write(page, "input", "a")
    page.wait(f"{VERDICT} === 'accepted'")


def test_narrow_windows_have_one_column(page: Browser) -> None:
    page.resize(420, 900)
    assert (
        page.run(
            "return getComputedStyle(document.querySelector('.cols')).gridTemplateColumns.split(' ').length"
        )
        == 1
    )
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.resize(1200, 900)
    assert (
        page.run(
            "return getComputedStyle(document.querySelector('.cols')).gridTemplateColumns.split(' ').length"
        )
        == 2
    )


def test_dark_mode(server: PlayServer, tmp_path: Path) -> None:
    with a_browser(tmp_path, "--blink-settings=preferredColorScheme=0") as dark:
        dark.open(server.url)
        dark.wait(VERDICT)
        assert dark.run("return getComputedStyle(document.body).backgroundColor") == "rgb(21, 25, 30)"
        assert (
            dark.run("return getComputedStyle(document.querySelector('.cm-editor')).backgroundColor")
            == "rgb(28, 33, 39)"
        )
        assert dark.errors() == []
