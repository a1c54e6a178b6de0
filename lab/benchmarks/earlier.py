"""Build the engine of an earlier commit beside the working tree, and keep it.

Its sources come from git, and lie in ``build/engines/<commit>`` (or in ``STACKMASK_ENGINES``, which several checkouts may share).
Files that are the same here and there keep the times that they have here, so what Cython made of them serves again; what
gcc made comes from ccache, if that is in use.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
READY = "build/ready"  # written last


def commit_of(rev: str) -> str:
    """Return the full name of a commit. Raises: SystemExit if git does not know it."""
    done = _git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}")
    if done.returncode:
        raise SystemExit(f"git knows no commit {rev!r} here")
    return done.stdout.decode().strip()


def engines_folder() -> Path:
    """Return the folder of what is kept of other commits."""
    folder = Path(os.environ.get("STACKMASK_ENGINES") or REPO / "build" / "engines").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def view_of_commit(commit: str) -> Path:
    """Return the folder from which the engine of a commit is imported, built if it is not there yet."""
    engines = engines_folder()
    tree = engines / commit[:12]
    with (engines / f"{commit[:12]}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (tree / READY).exists():
            print(f"building {commit[:12]} in {tree} …", file=sys.stderr, flush=True)
            begin = time.monotonic()
            _unpack(commit, tree)
            _build(tree)
            (tree / READY).touch()
            print(f"built in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return tree / "build" / "view"


def _unpack(commit: str, tree: Path) -> None:
    """Write the sources of a commit, and what Cython made here of the same ones."""
    made = REPO / "build" / "cython"
    archive = _git("archive", commit)
    if archive.returncode:
        raise SystemExit(archive.stderr.decode())
    begin = time.time()
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        for member in files:
            if not member.isfile():
                continue
            written = files.extractfile(member)
            assert written is not None
            path, here = tree / member.name, REPO / member.name
            content = written.read()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(member.mode)
            same = here.is_file() and here.read_bytes() == content
            stamp = here.stat().st_mtime if same else begin
            os.utime(path, (stamp, stamp))
    same_way = (REPO / "setup.py").read_bytes() == (tree / "setup.py").read_bytes()
    if made.is_dir() and same_way and not (tree / "build" / "cython").exists():
        shutil.copytree(made, tree / "build" / "cython")


def _build(tree: Path) -> None:
    environment = {"CCACHE_BASEDIR": str(tree.parent), "CCACHE_NOHASHDIR": "1", **os.environ}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    with (tree / "build.log").open("wb") as log:
        done = subprocess.run(
            command, check=False, cwd=tree, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    if done.returncode:
        tail = (tree / "build.log").read_text(errors="replace")[-2000:]
        raise SystemExit(f"{tail}\nthe build failed: {tree / 'build.log'}")


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], check=False, cwd=REPO, capture_output=True)


if __name__ == "__main__":
    print(view_of_commit(commit_of(sys.argv[1])))
