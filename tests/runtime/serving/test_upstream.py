"""The patches that make the engine a backend by name: they fit the servers that are installed, and are valid Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

PATCHES = Path(__file__).parents[3] / "lab" / "upstream"


@pytest.mark.parametrize("patch", sorted(PATCHES.glob("*.patch")), ids=lambda patch: patch.stem)
def test_a_patch_fits_its_server(patch: Path, tmp_path: Path) -> None:
    server, _, version = patch.stem.partition("-")
    try:
        found = metadata.version(server)
    except metadata.PackageNotFoundError:
        pytest.skip(f"needs {server} {version}")
    if not f"{found}.".startswith(f"{version}."):
        pytest.skip(f"is for {server} {version}, not {found}")
    files = re.findall(r"^\+\+\+ b/(\S+)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
    assert files
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(metadata.distribution(server).locate_file(file), tmp_path / file)
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, check=True)
    for file in files:
        text = (tmp_path / file).read_text(encoding="utf-8")
        compile(text, file, "exec")
        assert "stackmask" in text
