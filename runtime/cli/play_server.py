"""The server of the playground: one page, its editor and two questions, for the browser on this machine alone.

It listens on 127.0.0.1, and answers only what names it by that address (so that no other name leads here) and comes from
its own page (so that no other page asks). It reads no file and runs nothing that a request names.
"""

from __future__ import annotations

import io
import json
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, Final

from stackmask.runtime.cli.play_page import play_page

if TYPE_CHECKING:
    from stackmask.runtime.cli.play_judging import Playground

ADDRESS: Final = "127.0.0.1"
MAX_BODY: Final = 4 << 20  # bytes of a question
SECONDS: Final = 30  # that a browser may take to send one, from its first byte to its last
EDITOR: Final = Path(__file__).with_name("editor.js")
MAX_CONNECTIONS: Final = 32  # at a time, each with a thread; a browser opens six
BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class PlayServer(ThreadingHTTPServer):
    """Serve the playground on a port, 0 for any. Raises: OSError if it is taken."""

    daemon_threads = True

    def __init__(self, playground: Playground, port: int, state: dict[str, Any]) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.playground = playground
        self.state = state
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
        self.hosts = {f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or at once where there are too many of them."""
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
        """Answer a connection, and make room for another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self.server_port}/"


class TimedReader(io.RawIOBase):
    """What comes from a connection, until a time is over: bytes that come one by one do not prolong it.

    ``clock``: seconds, as ``time.monotonic`` counts them. Raises: TimeoutError after ``seconds`` since ``begin``.
    """

    def __init__(
        self, connection: socket.socket, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connection
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def begin(self) -> None:
        """Give the next request its time."""
        self._end = self._clock() + self._seconds

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for bytes for as long as there is time. Returns: how many came, 0 at the end."""
        left = self._end - self._clock()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(self._seconds)  # for the answer


class Handler(BaseHTTPRequestHandler):
    """Answer one connection."""

    server: PlayServer
    timeout = SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "stackmask"
    sys_version = ""

    def setup(self) -> None:
        """Read requests with a limit of time for each, which also ends a connection that nothing comes from."""
        super().setup()
        self.rfile.close()
        self._reader = TimedReader(self.connection, self.timeout)
        self.rfile = io.BufferedReader(self._reader)

    def handle_one_request(self) -> None:
        """Answer the next request, or end the connection if it does not come in time."""
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
        """Return whether the request names this server by its address; refuse it if not."""
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
        """Say nothing of each request."""
