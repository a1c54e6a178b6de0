"""Servers in processes of their own, on a machine without a GPU, with this checkout as their plugin."""

from __future__ import annotations

import collections
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import tomllib
from record import REPO

START_SECONDS = 600  # of a busy machine


def installed(folder: Path) -> list[str]:
    """Make the entry points of this checkout known in a folder; return what belongs on PYTHONPATH.

    With ``PATCHED`` in the environment, they are not: the server that is on PYTHONPATH has the patch of lab/upstream.
    """
    view = str(REPO / "build" / "view")
    if os.environ.get("PATCHED"):
        return [view, os.environ.get("PYTHONPATH", "")]
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    made = folder / "stackmask-0.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: stackmask\nVersion: 0\n")
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (made / "entry_points.txt").write_text(points)
    return [view, str(folder)]


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """A server in one process or more, and what they take.

    ``commands``: one for each node, with the variables that it has besides those of this process. ``prefill``: the port of
    the one where prompts go first.
    """

    def __init__(
        self,
        commands: list[tuple[list[str], dict[str, str]]],
        port: int,
        work: Path,
        name: str,
        *,
        prefill: int | None = None,
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.prefill = None if prefill is None else f"http://127.0.0.1:{prefill}"
        self.log = work / f"{name.replace(' ', '_')}.log"
        paths = installed(work / f"entry-{port}")
        self.processes = []
        for command, variables in commands:
            environment = {
                **os.environ,
                "HF_HUB_OFFLINE": "1",
                "PYTHONPATH": os.pathsep.join(paths),
                **variables,
            }
            for compiler in ("CC", "CXX"):  # torch takes no command of several words
                environment.pop(compiler, None)
            with self.log.open("ab") as log:
                self.processes.append(
                    subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
                )

    def wait(self) -> float:
        """Wait until it answers; return the seconds. Raises: RuntimeError with the end of the log."""
        begun = time.monotonic()
        while time.monotonic() - begun < START_SECONDS and self.alive():
            try:
                if all(httpx.get(f"{url}/health", timeout=5).status_code == 200 for url in self.urls()):
                    return time.monotonic() - begun
            except httpx.HTTPError:
                time.sleep(1)
        raise RuntimeError(f"the server did not start:\n{self.log.read_text()[-3000:]}")

    def urls(self) -> list[str]:
        """Return where it answers."""
        return [self.url] if self.prefill is None else [self.url, self.prefill]

    def alive(self) -> bool:
        """Tell whether all of its first processes run."""
        return all(process.poll() is None for process in self.processes)

    def resident(self) -> collections.Counter[str]:
        """Return the MB that its processes hold by what they are, shared pages counted once for each."""
        sessions = {process.pid for process in self.processes}
        held: collections.Counter[str] = collections.Counter()
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.getsid(int(entry.name)) in sessions:
                    title = (entry / "cmdline").read_text().replace("\0", " ")
                    found = re.match(r"(?:VLLM|sglang)::(\w+)", title)
                    name = found[1] if found else "server" if int(entry.name) in sessions else "helpers"
                    pages = int((entry / "statm").read_text().split()[1])
                    held[name] += round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
            except (OSError, IndexError):
                continue  # it has ended meanwhile
        return held

    def gauges(self) -> dict[str, float]:
        """Return its metrics by name, summed over labels."""
        sums: dict[str, float] = collections.defaultdict(float)
        text = "\n".join(httpx.get(f"{url}/metrics", timeout=60).text for url in self.urls())
        for name, value in re.findall(r"^([a-z_:]+)(?:\{.*\})? ([-+.e\d]+)$", text, re.MULTILINE):
            sums[name] += float(value)
        return sums

    def stop(self) -> None:
        """End all of its processes."""
        for ask, seconds in ((signal.SIGINT, 15.0), (signal.SIGKILL, 15.0)):
            for process in self.processes:
                try:
                    os.killpg(process.pid, ask)
                except ProcessLookupError:
                    continue
            for process in self.processes:
                try:
                    process.wait(seconds)
                except subprocess.TimeoutExpired:
                    continue


def sglang_server(
    model: Path, work: Path, name: str, backend: str, arguments: tuple[str, ...] = (), **variables: str
) -> Server:
    """Start SGLang for a tiny model, called "tiny"."""
    port = free_port()
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(model)]
    command += ["--served-model-name", "tiny", "--port", str(port), "--grammar-backend", backend]
    command += ["--device", "cpu", "--dtype", "float32", "--attention-backend", "torch_native"]
    command += ["--sampling-backend", "pytorch", "--disable-cuda-graph", "--skip-server-warmup"]
    command += ["--mem-fraction-static", "0.2", "--max-total-tokens", "65536", "--max-running-requests", "64"]
    command += ["--enable-metrics", *arguments]
    return Server([(command, {"SGLANG_USE_CPU_ENGINE": "1", **variables})], port, work, name)
