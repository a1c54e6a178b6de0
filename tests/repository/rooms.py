"""The rooms of the package, lowest first: folders, and the modules beside them.

A room may import those before it in the list, for ``import`` and ``cimport`` alike, inside of functions and for types
too: so there is no circle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from repository.tree import REPO, STAGES, package_files

ROOMS: tuple[str, ...] = (
    "grammar/ir",
    "pda/ids",
    "pda/text",
    "runtime/kernels/gpu",
    "grammars",
    "grammar/source",
    "grammar/languages",
    "grammar/rule_paths",
    "pda/limits",
    "grammar/json_schema/document",
    "grammar/json_schema/text",
    "grammar/regex/unicode",
    "grammar/sql/schema",
    "pda/errors",
    "runtime/extras",
    "runtime/child",
    "grammar/json_schema/formats",
    "grammar/regex/pattern",
    "pda/memory",
    "runtime/embedded",
    "grammar/regex/flavours",
    "pda/terms",
    "pda/vocabulary",
    "pda/context",
    "runtime/vocabulary/tokenizers",
    "pda/lowering",
    "pda/stack",
    "runtime/jump_forward",
    "runtime/vocabulary",
    "grammar/json_schema/sets",
    "grammar/normalize",
    "pda/completion",
    "pda/forced",
    "grammar/json_schema/nodes",
    "grammar/regex",
    "grammar/turns/parts",
    "grammar/notation",
    "grammar/ebnf",
    "grammar/ready",
    "grammar/lark",
    "grammar/json_schema/algebra",
    "grammar/json_schema/write",
    "grammar/sql/calls",
    "pda/masks",
    "grammar/json_schema",
    "grammar/directives",
    "grammar/turns/formats",
    "pda/ahead",
    "pda/store",
    "grammar/front_ends",
    "pda/automaton",
    "grammar/sql/scope",
    "grammar/sql",
    "grammar/diagram",
    "grammar/outputs",
    "grammar/whole_strings",
    "grammar/grammar",
    "grammar/marked_texts",
    "grammar/turns",
    "runtime/matching",
    "runtime/strings",
    "runtime/fsm",
    "runtime/kernels",
    "runtime/comparison",
    "runtime/generation",
    "runtime/compat/xgrammar",
    "runtime/serving",
    "runtime/http",
    "runtime/cli",
)

STATEMENT = re.compile(
    r"^[ \t]*(?:from\s+(stackmask[\w.]*)\s+c?import\s+(\([^)]*\)|[^\n]*)|c?import\s+(stackmask[\w.]*))",
    re.MULTILINE,
)
SOURCES = (".py", ".pyi", ".pyx", ".pxd")


def sources() -> list[str]:
    """Return the files of the stages: the facade in ``api`` may import all."""
    return [
        path
        for path in package_files().values()
        if path.endswith(SOURCES) and path.partition("/")[0] in STAGES
    ]


def module_of(path: str) -> str:
    return path.rpartition(".")[0].removesuffix("/__init__")


FOLDERS = {path.rpartition("/")[0] for path in sources()}
MODULES = {module_of(path) for path in sources()}


def room_of(module: str) -> str:
    """Return the folder of a module; modules directly in a stage are rooms of their own."""
    if module in FOLDERS:
        return module
    folder = module.rpartition("/")[0]
    return module if folder in STAGES else folder


def imported(text: str) -> Iterator[str]:
    """Yield the modules of the package that a source imports, as paths without ending."""
    for package, names, plain in STATEMENT.findall(text):
        found = [plain]
        if package:
            listed = re.sub(r"#[^\n]*", "", names).strip("()").replace("\n", " ").split(",")
            found = [f"{package}.{name.split()[0]}" for name in listed if name.strip()]
        for name in found:
            parts = name.split(".")[1:]
            while parts and "/".join(parts) not in MODULES | FOLDERS:
                parts.pop()
            if parts:
                yield "/".join(parts)


def wrong_imports(path: str) -> list[str]:
    """Return the rooms that a file imports from though they are not below its own."""
    room = room_of(module_of(path))
    below = {room, *ROOMS[: ROOMS.index(room)]} if room in ROOMS else set(ROOMS)
    text = (REPO / path).read_text(encoding="utf-8")
    return sorted({used for module in imported(text) if (used := room_of(module)) not in below})
