"""What belongs to the repository: its files, without what was built and what tools leave behind."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
STAGES = ("grammar", "pda", "runtime", "grammars")
FACADE = "api"


@cache
def tracked_files() -> tuple[str, ...]:
    """Return the paths of all files that ``.gitignore`` does not name, relative to the repository."""
    ignored = [line.strip("/") for line in (REPO / ".gitignore").read_text().split()]
    ignored.append(".git")

    def is_kept(name: str) -> bool:
        return not any(fnmatch(name, pattern) for pattern in ignored)

    found = []
    for folder, folders, files in os.walk(REPO):
        folders[:] = filter(is_kept, folders)
        found += [str((Path(folder) / name).relative_to(REPO)) for name in files if is_kept(name)]
    return tuple(sorted(found))


def package_files() -> dict[str, str]:
    """Map each file of the package, named as it is installed, to its path in the repository."""
    places = {f"{FACADE}/": "stackmask/"} | {f"{stage}/": f"stackmask/{stage}/" for stage in STAGES}
    return {
        installed + path.removeprefix(folder): path
        for path in tracked_files()
        for folder, installed in places.items()
        if path.startswith(folder)
    }
