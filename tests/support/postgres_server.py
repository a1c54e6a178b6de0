"""A PostgreSQL server of one's own: made in a temporary folder, on a free port, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

USER = "stackmask"
UNPRIVILEGED = ("postgres", "nobody")  # whom a server runs as where the tests run as root
SETTINGS = ("fsync=off", "full_page_writes=off", "max_connections=20", "shared_buffers=16MB", "jit=off")
START_SECONDS = 60


class NoServer(Exception):
    """Why no server can be started; tests skip with this text."""


@dataclass(frozen=True)
class Server:
    """A running server. ``url`` is what SQLAlchemy and psycopg (without ``+psycopg``) connect to."""

    port: int
    version: int

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/postgres"

    @property
    def conninfo(self) -> str:
        return f"host=127.0.0.1 port={self.port} user={USER} dbname=postgres"


def programs() -> Path:
    """Return the folder with ``initdb`` and ``pg_ctl``: on the path, or where Debian puts them, the newest first.

    Raises: NoServer if there are none.
    """
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if not versions:
        raise NoServer("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return versions[-1].parent


@contextlib.contextmanager
def postgres_server() -> Iterator[Server]:
    """Start a server and stop it afterwards.

    Raises: NoServer, with the reason, where it cannot be started.
    Cost: about two seconds.
    """
    folder = programs()
    as_user = _as_unprivileged()
    place = Path(tempfile.mkdtemp(prefix="stackmask-pg-", dir="/tmp"))
    try:
        if as_user:
            shutil.chown(place, as_user[-1])
        data, log = place / "data", place / "log"
        run = ["runuser", "-u", as_user[-1], "--"] if as_user else []
        _run([*run, str(folder / "initdb"), "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8", "-N"])
        port = _free_port()
        options = f"-p {port} -k {place} -h 127.0.0.1 " + " ".join(f"-c {s}" for s in SETTINGS)
        control = [*run, str(folder / "pg_ctl"), "-D", str(data), "-l", str(log), "-w"]
        _run([*control, "-o", options, "-t", str(START_SECONDS), "start"])
        try:
            version = int((data / "PG_VERSION").read_text().strip())
            yield Server(port, version)
        finally:
            _run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _as_unprivileged() -> tuple[str, ...]:
    """Return whom to run as; nobody else, if this is not root."""
    if os.geteuid() != 0:
        return ()
    import pwd

    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return (name,)
    raise NoServer("PostgreSQL does not run as root, and there is no user to run it as")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if "initdb" in " ".join(command) else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if "initdb" in " ".join(command) else subprocess.DEVNULL,
            timeout=2 * START_SECONDS,
            cwd="/tmp",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoServer(f"cannot start PostgreSQL: {error}") from None
    if done.returncode:
        shown = (done.stdout or b"").decode(errors="replace").strip().splitlines()[-1:]
        raise NoServer(f"cannot start PostgreSQL: {command[-1]} failed {shown}")
