"""What belongs to the repository: its files, without what was built and what tools leave behind."""

from __future__ import annotations

import os
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
STAGES = ("grammar", "pda", "runtime", "grammars")
FACADE = "api"
MARK = "pyvenv.cfg"  # the file that every virtual environment has at its root


def files_of(folder: Path) -> tuple[str, ...]:
    """Return the paths of all files that belong to a tree, relative to it: what git tracks, and what it does not ignore."""
    found = _listed_by_git(folder)
    return tuple(sorted(_walked(folder) if found is None else found))


@cache
def tracked_files() -> tuple[str, ...]:
    """Return the paths of all files of the repository, relative to it."""
    return files_of(REPO)


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints, or None if there is no git or it refuses."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode()


def _listed_by_git(folder: Path) -> list[str] | None:
    """Return the files of a checkout, or None if the folder is not the root of one (an unpacked archive)."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None or Path(top.rstrip("\n")) != folder.resolve():
        return None
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is None:
        return None
    # files that were deleted but not yet from the index are listed too; a virtual environment may not be ignored
    environments = tuple(
        {path.removesuffix(MARK) for path in listed.split("\0") if path.endswith(f"/{MARK}")}
    )
    return [
        path
        for path in listed.split("\0")
        if path and (folder / path).is_file() and not path.startswith(environments)
    ]


def _walked(folder: Path) -> list[str]:
    """Return the files that ``.gitignore`` does not name, virtual environments left out."""
    ignored = [line.strip("/") for line in (folder / ".gitignore").read_text().split()]
    ignored.append(".git")

    def is_kept(name: str) -> bool:
        return not any(fnmatch(name, pattern) for pattern in ignored)

    found = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if is_kept(name) and not (here / name / MARK).exists()]
        found += [str((here / name).relative_to(folder)) for name in files if is_kept(name)]
    return found


def package_files() -> dict[str, str]:
    """Map each file of the package, named as it is installed, to its path in the repository."""
    places = {f"{FACADE}/": "stackmask/"} | {f"{stage}/": f"stackmask/{stage}/" for stage in STAGES}
    return {
        installed + path.removeprefix(folder): path
        for path in tracked_files()
        for folder, installed in places.items()
        if path.startswith(folder)
    }
