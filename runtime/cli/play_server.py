"""The playground's server: one page, its editor and two kinds of requests, only for browsers on this machine.

It listens on 127.0.0.1, and accepts only requests that name it by that address (against DNS rebinding) and
come from its own page (against requests from other pages). It never reads files or runs code named in a
request.
"""

from __future__ import annotations

import io
import json
import secrets
import socket
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Final

from stackmask.grammar.diagram.pictures import STYLE as DIAGRAM_STYLE
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.files import bundled_names, bundled_path, read_text
from stackmask.runtime.cli.command_convert import lark_as_ebnf
from stackmask.runtime.cli.console import messages, show
from stackmask.runtime.cli.loading import load_tokenizer
from stackmask.runtime.cli.play_judging import Playground, read
from stackmask.runtime.cli.trace_page import CLASSES, PANEL, STYLE, script_data
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

ADDRESS: Final = "127.0.0.1"
MAX_BODY: Final = 4 << 20  # bytes of a question
SECONDS: Final = 30  # that a browser may take to send one, from its first byte to its last
EDITOR: Final = Path(__file__).with_name("editor.js")
MAX_CONNECTIONS: Final = 32  # at a time, each with a thread; a browser opens six
BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class PlayServer(ThreadingHTTPServer):
    """Serves the playground on a port, 0 for any. Raises: OSError if the port is in use."""

    daemon_threads = True

    def __init__(self, playground: Playground, port: int, state: dict[str, Any]) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.playground = playground
        self.state = state
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
        self.hosts = {f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a new thread, or directly if there are too many threads."""
        if self._places.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:  # no thread could be started
                self._places.release()
                raise
            return
        with suppress(OSError):
            request.settimeout(1)
            request.sendall(BUSY)
        self.shutdown_request(request)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any
    ) -> None:
        """Answer a connection, and free its slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"


class TimedReader(io.RawIOBase):
    """Data from a connection until a deadline, which bytes that arrive slowly do not extend.

    ``clock``: returns seconds, like ``time.monotonic``. Raises: TimeoutError after ``seconds`` since
    ``begin``.
    """

    def __init__(
        self, connection: socket.socket, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connection
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def begin(self) -> None:
        """Start the time limit of the next request."""
        self._end = self._clock() + self._seconds

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for bytes until the deadline. Returns: their number, 0 at the end."""
        left = self._end - self._clock()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(self._seconds)  # for the answer


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PlayServer
    timeout = SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "stackmask"
    sys_version = ""

    def setup(self) -> None:
        """Read each request with a time limit, which also closes an idle connection."""
        super().setup()
        self.rfile.close()
        self._reader = TimedReader(self.connection, self.timeout)
        self.rfile = io.BufferedReader(self._reader)

    def handle_one_request(self) -> None:
        """Answer the next request, or close the connection if it does not arrive in time."""
        self._reader.begin()
        super().handle_one_request()

    def do_GET(self) -> None:
        """Send the page, or its editor."""
        if not self._is_for_us():
            return
        path = self.path.partition("?")[0]
        if path == "/editor.js":
            self._send(HTTPStatus.OK, EDITOR.read_text(encoding="utf-8"), "text/javascript")
            return
        if path != "/":
            self._send(HTTPStatus.NOT_FOUND, "there is one page: /", "text/plain")
            return
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        page = play_page(self.server.state, nonce)
        self._send(HTTPStatus.OK, page, "text/html", {"Content-Security-Policy": policy})

    def do_POST(self) -> None:
        """Answer a question about a grammar and a text."""
        if not self._is_for_us():
            return
        answer = {"/judge": self.server.playground.judge, "/draw": self.server.playground.draw}.get(self.path)
        if answer is None:
            self._refuse(HTTPStatus.NOT_FOUND, "questions go to /judge and /draw")
            return
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        origin = self.headers.get("Origin")
        if origin is None or origin.removeprefix("http://") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "questions come from the page itself")
            return
        length = self.headers.get("Content-Length", "")
        if kind != "application/json" or not length.isascii() or not length.isdigit() or len(length) > 12:
            self._refuse(HTTPStatus.BAD_REQUEST, "a question is JSON, with its length")
            return
        if int(length) > MAX_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a question has at most {MAX_BODY} bytes")
            return
        try:
            question = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            question = None
        if not isinstance(question, dict):
            self._refuse(HTTPStatus.BAD_REQUEST, "a question is an object")
            return
        try:
            found = json.dumps(answer(question))
        except (UnicodeError, ValueError, TypeError) as error:  # half of a surrogate pair, for one
            self._refuse(HTTPStatus.BAD_REQUEST, f"the question cannot be read: {error}")
            return
        self._send(HTTPStatus.OK, found, "application/json")

    def _is_for_us(self) -> bool:
        """Return whether the request names this server by its address; refuse it otherwise."""
        if self.headers.get("Host", "") in self.server.hosts:
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "this server answers to its own address alone")
        return False

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what is left of the request is not read
        self._send(status, why, "text/plain")

    def _send(self, status: HTTPStatus, text: str, kind: str, more: dict[str, str] | None = None) -> None:
        body = text.encode(errors="replace")
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            **(more or {}),
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""


# -- The page of the playground: a grammar and a text on one side, what is said of them on the other -------


MORE_STYLE: Final = """
body { max-width: none; } .bar { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: 0 0 .6rem; }
.bar h1 { margin-right: auto; } .cols { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; align-items: start; }
:root { --warn: #9a6700; --chosen: #b6d5fa; --line-here: #8b949e1f; --t-text: #0a5c36; --t-set: #8a4600; --t-name: #0842a0; --t-sign: #8250df; }
@media (prefers-color-scheme: dark) { :root { --warn: #d4a72c; --chosen: #264f78; --t-text: #7ee2a8; --t-set: #f0b072; --t-name: #9cc2ff; --t-sign: #cda9ff; } }
h2.label { display: block; font-size: .85rem; font-weight: 400; color: var(--soft); margin: .5rem 0 .2rem; }
.editor { resize: vertical; overflow: hidden; padding: 3px; margin: -3px; } #grammar { height: 22rem; } #input { height: 8rem; }
select:focus-visible, button:focus-visible, li button:focus-visible { outline: 2px solid var(--here); outline-offset: 1px; }
select, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .2rem .6rem; }
#verdict { min-height: 1.6em; font-weight: 600; } #problems { list-style: none; margin: .4rem 0; padding: 0; font-size: .9rem; }
#problems button { display: block; width: 100%; text-align: left; margin: .2rem 0; overflow-wrap: anywhere; border-left: 4px solid var(--bad); cursor: pointer; }
#problems .warning button { border-left-color: var(--warn); } #problems small { display: block; color: var(--soft); }
#step { position: static; max-height: none; margin-top: .7rem; } #text { min-height: 3rem; max-height: 40vh; overflow: auto; border: 1px solid var(--line);
  border-radius: 6px; padding: .5rem .6rem; } .rest { color: var(--soft); text-decoration: line-through; }
#diagram { overflow-x: auto; margin-top: 1rem; } #diagram h2 { font: 600 .95rem ui-monospace, Menlo, Consolas, monospace; margin: 1rem 0 .1rem; }
#diagram nav { display: none; } [aria-busy="true"] { opacity: .6; }
@media (max-width: 820px) { body { padding: .7rem; } .cols { grid-template-columns: minmax(0, 1fr); } #grammar { height: 14rem; }
  .bar h1 { flex-basis: 100%; } #step { border-radius: 6px; box-shadow: none; } }
"""

SCRIPT: Final = """
const start = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const [kind, text, panel, list, verdict, diagram] = ["kind", "text", "step", "problems", "verdict", "diagram"].map($);
const page = Math.random().toString(36).slice(2);
let steps = [], places = [], at = -1, timer = 0, asked = 0, current = false;
const { makeEditor } = playgroundEditor;
const grammar = makeEditor($("grammar"), { label: "grammar", numbers: true, wraps: false, onEdit: () => soon() });
const input = makeEditor($("input"), { label: "text", numbers: false, wraps: true, onEdit: () => { current = false; soon(); }, onMove: () => { if (steps.length && input.hasFocus) atCaret(); } });
const pack = (s) => btoa(String.fromCharCode(...new TextEncoder().encode(s))).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=+$/, "");
const unpack = (s) => new TextDecoder().decode(Uint8Array.from(atob(s.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)));
const question = () => ({ page, kind: kind.value, grammar: grammar.text, text: input.text });
async function ask(path) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question()) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
function choose(i, scroll) {
  if (!steps.length) { panel.replaceChildren(); return; }
  i = Math.max(0, Math.min(steps.length - 1, i));
  if (at >= 0 && text.children[at]) text.children[at].classList.remove("on");
  at = i;
  text.children[i].classList.add("on");
  markText();
  if (scroll) text.children[i].scrollIntoView({ block: "nearest" });
  describe(panel, steps, i);
}
// where each step ends in the text, in the units of the browser: a token may end inside of a character
function findPlaces(written) {
  let i = 0, bytes = 0;
  return steps.map((s) => {
    while (bytes < s.b && i < written.length) {
      const code = written.codePointAt(i);
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      i += code < 0x10000 ? 1 : 2;
    }
    return i;
  });
}
// in the text that is written: the chosen token, what was refused, and what was not looked at any more
function markText() {
  if (!current) return; // edited meanwhile: the next answer is of that
  const last = steps.length - 1, from = at > 0 ? places[at - 1] : 0;
  input.mark([[from, places[at], "at-here"], ...(last >= 0 && steps[last].e ? [[places[last], input.length, "after-end"]] : [])]);
}
function showRefusal() {
  if (!current) return;
  const last = steps.length - 1;
  if (last < 0 || !steps[last].e) { input.diagnose([]); return; }
  const start = last > 0 ? places[last - 1] : 0;
  input.diagnose([{ start, end: Math.max(places[last], start), severity: "error", message: steps[last].e }]);
}
function atCaret() {
  const i = places.findIndex((end) => end > input.cursor);
  choose(i < 0 ? steps.length - 1 : i);
}
function showProblems(found) {
  list.replaceChildren();
  grammar.diagnose(found.filter((p) => p.start !== undefined).map((p) => (
    { ...p, message: (p.code ? p.code + " " : "") + p.message + (p.help ? "\\n" + p.help : "") })));
  for (const p of found) {
    const item = add(list, "li", undefined, p.severity), button = add(item, "button");
    button.type = "button";
    button.append((p.code ? p.code + " " : "") + (p.line ? "line " + p.line + ", column " + p.column + ": " : "") + p.message);
    if (p.help) add(button, "small", p.help);
    if (p.start !== undefined) button.addEventListener("click", () => grammar.select(p.start, p.end));
  }
}
function showText(answer, judged) {
  text.replaceChildren();
  at = -1;
  steps = answer.steps || [];
  places = findPlaces(judged);
  current = input.text === judged;
  steps.forEach((s, i) => {
    const span = add(text, "span", s.x.replace(/\\n/g, "↵\\n").replace(/\\t/g, "⇥\\t"), s.k);
    span.dataset.i = i;
  });
  if (answer.rest) add(text, "i", answer.rest, "rest");
  showRefusal();
  markText();
}
async function refresh() {
  const number = ++asked;
  const judged = input.text;
  // addresses hold what is not too long for them
  const state = grammar.length + judged.length < 30000 ? JSON.stringify([kind.value, grammar.text, judged]) : "";
  history.replaceState(null, "", state && state.length < 30000 ? "#" + pack(state) : "#");
  text.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/judge");
    if (number !== asked) return;
    showProblems(answer.problems);
    showText(answer, judged);
    const last = steps[steps.length - 1];
    verdict.className = answer.accepted ? "good" : "bad";
    verdict.textContent = !answer.steps ? "the grammar has errors" : answer.accepted ? "accepted" : last && last.e ? last.e : "too long to follow to its end";
    if (input.hasFocus) atCaret(); else choose(answer.accepted ? 0 : steps.length - 1);
    if ($("draw").checked && answer.steps) { const drawn = await ask("/draw"); if (number === asked) diagram.innerHTML = drawn.html; } else diagram.replaceChildren();
  } catch (error) {
    if (number === asked) { verdict.className = "bad"; verdict.textContent = "no answer: " + error.message; }
  } finally {
    if (number === asked) text.removeAttribute("aria-busy");
  }
}
function soon() { clearTimeout(timer); timer = setTimeout(refresh, grammar.length > 100000 ? 800 : 250); }
kind.addEventListener("input", () => { grammar.colour(kind.value); soon(); });
$("draw").addEventListener("input", soon);
text.addEventListener("click", (e) => { const span = e.target.closest("span"); if (span) choose(+span.dataset.i); });
text.addEventListener("keydown", (e) => {
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps.length - 1 }[e.key];
  if (to !== undefined) { e.preventDefault(); choose(to, true); }
});
diagram.addEventListener("click", (e) => {
  const link = e.target.closest("a");
  if (!link) return;
  e.preventDefault(); // the address holds the state
  const place = document.getElementById((link.getAttribute("href") || link.getAttribute("xlink:href")).slice(1));
  if (place) place.scrollIntoView({ block: "nearest" });
});
let state = [start.kind, start.grammar, start.text];
try { if (location.hash.length > 1) { const held = JSON.parse(unpack(location.hash.slice(1))); if (held.length === 3 && held.every((s) => typeof s === "string")) state = held; } } catch { /* no state in the address */ }
kind.value = ["ebnf", "schema", "regex"].includes(state[0]) ? state[0] : "ebnf";
grammar.start(state[1], kind.value);
input.start(state[2], "text");
refresh();
"""


def play_page(state: dict[str, Any], nonce: str) -> str:
    """Return the page. ``state``: ``kind``, ``grammar`` and ``text`` to begin with; ``nonce``: what lets its scripts run."""
    legend = "".join(f'<li><i class="{kind}"></i>{words}</li>' for _, kind, words in CLASSES)
    data = script_data(json.dumps(state, ensure_ascii=False))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>stackmask play</title><style>{STYLE}{MORE_STYLE}{DIAGRAM_STYLE}</style></head><body>
<div class="bar"><h1>stackmask play</h1>
<span><select id="kind" aria-label="kind of grammar"><option value="ebnf">EBNF</option><option value="schema">JSON Schema</option>
<option value="regex">regular expression</option></select></span><span><input type="checkbox" id="draw" checked> <label for="draw" style="display:inline">diagrams</label></span></div>
<div class="cols"><div><h2 class="label">grammar</h2><div id="grammar" class="editor"></div>
<ul id="problems" aria-live="polite"></ul></div>
<div><h2 class="label">text</h2><div id="input" class="editor"></div>
<p id="verdict" aria-live="polite"></p><ul class="legend" aria-label="tokens that were allowed">{legend}</ul>
<pre id="text" tabindex="0" aria-label="the text in its tokens; arrow keys choose one"></pre><section id="step"></section></div></div>
<div id="diagram"></div>
<script type="application/json" id="data" nonce="{nonce}">{data}</script>
<script src="/editor.js" nonce="{nonce}"></script>
<script nonce="{nonce}">"use strict";{PANEL}{SCRIPT}</script></body></html>
"""


# -- ``stackmask play``: a page to try grammars on, served on this machine -------------------------------

FIRST: Final = """root  ::= order ("," order)*
order ::= [1-9] [0-9]* " x " item note?
item  ::= "tea" | "cake"
note  ::= " (" [^()\\n]{1,40} ")"
"""
FIRST_TEXT: Final = "2 x tea (hot),1 x cake"
MAX_SAMPLE: Final = 200  # bytes


class PlayError(StackmaskError):
    """A playground that cannot be served."""


def first_state(name: str | None, text: str | None) -> dict[str, Any]:
    """Return the initial content of the page: a file, a bundled grammar, ``/a pattern/``, a schema, or an example.

    ``text``: None for a random sample of the grammar, if one is found.
    """
    if name is None:
        return {"kind": "ebnf", "grammar": FIRST, "text": FIRST_TEXT if text is None else text}
    kind = "ebnf"
    path = bundled_path(name) if name in bundled_names() and not Path(name).exists() else None
    if path is not None:
        source = read_text(path)
    elif len(name) > 2 and name[0] == name[-1] == "/" and not Path(name).exists():
        kind, source = "regex", name[1:-1]
    elif name.lstrip()[:1] == "{":
        kind, source = "schema", name
    else:
        source = read_text(Path(name))
        kind = "schema" if name.lower().endswith(".json") else "ebnf"
        if name.lower().endswith(".lark"):
            source = lark_as_ebnf(source, name=name, base=Path(name).parent).text
    if text is None:
        try:
            text = max(read(kind, source).sample(5, max_bytes=MAX_SAMPLE), key=len)
            text.encode()
        except (StackmaskError, UnicodeEncodeError):  # the page says what is wrong with the grammar
            text = ""
    return {"kind": kind, "grammar": source, "text": text}


def run_play(name: str | None, text: str | None, model: str | None, port: int, *, opens: bool) -> int:
    """Serve the page until it is interrupted; return the exit status."""

    state = first_state(name, text)
    tokenizer = load_tokenizer(model)
    playground = Playground(tokenizer, Vocabulary.from_huggingface(tokenizer))
    try:
        server = PlayServer(playground, port, state)
    except OSError as error:
        raise PlayError(
            f"port {port} cannot be used: {error.strerror or error}; name another one with --port"
        ) from None
    with server:
        show(messages(), f"{server.url} (this machine only; Ctrl-C ends it)")
        if opens:
            webbrowser.open(server.url)
        server.serve_forever()
    return 0
