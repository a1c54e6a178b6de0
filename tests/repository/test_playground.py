"""The editor that is shipped is the one that its sources make: a bundle says what it was made of."""

from __future__ import annotations

import hashlib
import json
import re

from repository.tree import REPO

FOLDER = REPO / "lab" / "playground"
BUNDLE = (REPO / "runtime" / "cli" / "editor.js").read_text(encoding="utf-8")
LOCK = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))


def test_the_bundle_is_of_these_sources() -> None:
    made = hashlib.sha256()
    for name in ("editor.js", "build.mjs", "package-lock.json"):
        made.update((FOLDER / name).read_bytes())
    assert f"sources {made.hexdigest()}" in BUNDLE, "run ./dev editor"


def test_the_bundle_names_its_libraries_and_their_licence() -> None:
    head = BUNDLE.partition("*/")[0]
    named = dict(re.findall(r"(@?[\w/-]+) (\d+\.\d+\.\d+)(?=,|\n)", head))
    locked = {
        path.removeprefix("node_modules/"): found["version"]
        for path, found in LOCK["packages"].items()
        if path and "esbuild" not in path
    }
    assert named.items() <= locked.items()
    assert {"@codemirror/state", "@codemirror/view", "@codemirror/lint"} <= set(named)
    assert head.count("Copyright (C)") >= 1
    assert "Permission is hereby granted, free of charge" in head


def test_the_lock_names_no_host() -> None:
    assert all("resolved" not in found for found in LOCK["packages"].values())
    assert all("integrity" in found for path, found in LOCK["packages"].items() if path)
