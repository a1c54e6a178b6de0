"""Which room of the package may import from which: folders, and the modules beside them, lowest first.

A room is listed after all that it imports, so no circle fits in. The list is an allow-list, for ``import`` and
``cimport`` alike, inside of functions and for types too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from repository.tree import REPO, STAGES, package_files

ROOMS: dict[str, tuple[str, ...]] = {
    "grammar/ir": (),
    "pda/ids": (),
    "pda/text": (),
    "runtime/kernels/gpu": (),
    "grammars": (),
    "grammar/source": ("grammar/ir", "grammars"),
    "grammar/rule_paths": ("grammar/ir",),
    "pda/limits": ("grammar/source",),
    "grammar/json_schema/document": ("grammar/source",),
    "grammar/json_schema/text": ("grammar/ir", "grammar/source"),
    "grammar/regex/unicode": ("grammar/source",),
    "grammar/sql/schema": ("grammar/ir", "grammar/source"),
    "pda/errors": ("grammar/source",),
    "runtime/extras": ("grammar/source",),
    "grammar/json_schema/formats": ("grammar/ir", "grammar/json_schema/text", "grammar/source"),
    "grammar/regex/pattern": ("grammar/ir", "grammar/regex/unicode", "grammar/source"),
    "pda/memory": ("grammar/source", "pda/errors"),
    "runtime/embedded": ("grammar/source", "runtime/extras"),
    "grammar/regex/flavours": (
        "grammar/ir",
        "grammar/regex/pattern",
        "grammar/regex/unicode",
        "grammar/source",
    ),
    "pda/terms": ("pda/errors", "pda/ids", "pda/memory", "pda/text"),
    "pda/vocabulary": ("pda/errors", "pda/ids", "pda/memory", "pda/text"),
    "pda/context": ("grammar/ir", "pda/errors", "pda/ids", "pda/memory", "pda/terms", "pda/text"),
    "runtime/vocabulary/tokenizers": ("pda/errors", "pda/vocabulary"),
    "pda/lowering": (
        "grammar/ir",
        "grammar/source",
        "pda/context",
        "pda/errors",
        "pda/ids",
        "pda/limits",
        "pda/memory",
        "pda/terms",
    ),
    "pda/stack": ("pda/context", "pda/errors", "pda/ids", "pda/memory", "pda/terms"),
    "runtime/jump_forward": (
        "grammar/source",
        "pda/memory",
        "pda/vocabulary",
        "runtime/vocabulary/tokenizers",
    ),
    "runtime/vocabulary": ("grammar/source", "pda/errors", "pda/vocabulary", "runtime/vocabulary/tokenizers"),
    "grammar/json_schema/sets": (
        "grammar/ir",
        "grammar/json_schema/document",
        "grammar/json_schema/text",
        "grammar/source",
        "pda/errors",
        "pda/lowering",
    ),
    "grammar/normalize": ("grammar/ir", "grammar/source", "pda/errors", "pda/lowering"),
    "pda/completion": (
        "pda/context",
        "pda/ids",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/vocabulary",
    ),
    "pda/forced": ("pda/ids", "pda/memory", "pda/stack", "pda/terms", "pda/vocabulary"),
    "pda/masks/shared": (
        "pda/context",
        "pda/ids",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/text",
        "pda/vocabulary",
    ),
    "grammar/json_schema/nodes": (
        "grammar/ir",
        "grammar/json_schema/document",
        "grammar/json_schema/sets",
        "grammar/json_schema/text",
    ),
    "grammar/json_schema/write/numbers": ("grammar/ir", "grammar/json_schema/sets", "grammar/source"),
    "grammar/regex/assertions": (
        "grammar/ir",
        "grammar/normalize",
        "grammar/regex/pattern",
        "grammar/regex/unicode",
        "grammar/source",
    ),
    "pda/masks/prefixes": (
        "pda/context",
        "pda/ids",
        "pda/masks/shared",
        "pda/memory",
        "pda/terms",
        "pda/vocabulary",
    ),
    "pda/masks/runs": (
        "pda/context",
        "pda/ids",
        "pda/masks/shared",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/vocabulary",
    ),
    "grammar/regex": (
        "grammar/ir",
        "grammar/regex/assertions",
        "grammar/regex/flavours",
        "grammar/regex/pattern",
        "grammar/regex/unicode",
        "grammar/source",
        "pda/terms",
    ),
    "pda/masks/walk": (
        "pda/context",
        "pda/ids",
        "pda/masks/prefixes",
        "pda/masks/runs",
        "pda/masks/shared",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/text",
        "pda/vocabulary",
    ),
    "grammar/compose": ("grammar/ir", "grammar/source"),
    "grammar/ebnf": ("grammar/compose", "grammar/ir", "grammar/regex", "grammar/source"),
    "grammar/lark": (
        "grammar/ebnf",
        "grammar/ir",
        "grammar/regex",
        "grammar/regex/pattern",
        "grammar/source",
    ),
    "grammar/json_schema/algebra": (
        "grammar/ir",
        "grammar/json_schema/document",
        "grammar/json_schema/formats",
        "grammar/json_schema/nodes",
        "grammar/json_schema/sets",
        "grammar/regex",
        "grammar/source",
    ),
    "pda/masks/assembly": (
        "pda/context",
        "pda/ids",
        "pda/masks/prefixes",
        "pda/masks/runs",
        "pda/masks/shared",
        "pda/masks/walk",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/vocabulary",
    ),
    "grammar/json_schema/write": (
        "grammar/ir",
        "grammar/json_schema/algebra",
        "grammar/json_schema/document",
        "grammar/json_schema/nodes",
        "grammar/json_schema/sets",
        "grammar/json_schema/text",
        "grammar/json_schema/write/numbers",
        "grammar/source",
    ),
    "grammar/sql/calls": ("grammar/ebnf", "grammar/ir", "grammar/sql/schema"),
    "pda/masks": (
        "pda/context",
        "pda/ids",
        "pda/masks/assembly",
        "pda/masks/prefixes",
        "pda/masks/runs",
        "pda/masks/shared",
        "pda/masks/walk",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/vocabulary",
    ),
    "grammar/json_schema": (
        "grammar/ir",
        "grammar/json_schema/algebra",
        "grammar/json_schema/document",
        "grammar/json_schema/sets",
        "grammar/json_schema/text",
        "grammar/json_schema/write",
        "grammar/source",
    ),
    "grammar/directives": (
        "grammar/compose",
        "grammar/ebnf",
        "grammar/ir",
        "grammar/json_schema",
        "grammar/json_schema/document",
        "grammar/normalize",
        "grammar/source",
    ),
    "grammar/structural": (
        "grammar/compose",
        "grammar/directives",
        "grammar/ir",
        "grammar/json_schema",
        "grammar/json_schema/document",
        "grammar/normalize",
        "grammar/regex",
        "grammar/source",
    ),
    "grammar/sql/scope/shared": ("grammar/ir", "grammar/sql/calls", "grammar/sql/schema"),
    "pda/ahead": (
        "pda/context",
        "pda/ids",
        "pda/masks",
        "pda/masks/assembly",
        "pda/masks/shared",
        "pda/memory",
        "pda/stack",
        "pda/terms",
    ),
    "pda/store": (
        "grammar/ir",
        "grammar/source",
        "pda/completion",
        "pda/context",
        "pda/errors",
        "pda/limits",
        "pda/lowering",
        "pda/masks",
        "pda/memory",
        "pda/stack",
        "pda/terms",
        "pda/vocabulary",
    ),
    "grammar/front_ends": ("grammar/ir", "grammar/json_schema", "grammar/json_schema/text"),
    "grammar/sql/scope/sqlite": ("grammar/ir", "grammar/sql/calls", "grammar/sql/scope/shared"),
    "pda/automaton": ("grammar/ir", "grammar/source", "pda/lowering", "pda/store"),
    "grammar/sql/scope/postgres": (
        "grammar/ir",
        "grammar/sql/calls",
        "grammar/sql/scope/shared",
        "grammar/sql/scope/sqlite",
    ),
    "grammar/sql/scope": (
        "grammar/ebnf",
        "grammar/ir",
        "grammar/normalize",
        "grammar/source",
        "grammar/sql/calls",
        "grammar/sql/scope/postgres",
        "grammar/sql/scope/shared",
        "grammar/sql/scope/sqlite",
    ),
    "grammar/sql": (
        "grammar/ebnf",
        "grammar/ir",
        "grammar/source",
        "grammar/sql/calls",
        "grammar/sql/schema",
        "grammar/sql/scope",
        "grammar/sql/scope/shared",
    ),
    "grammar/diagram": ("grammar/ir", "grammar/source"),
    "grammar/outputs": ("grammar/json_schema/document", "grammar/source"),
    "grammar/whole_strings": ("grammar/source", "pda/limits"),
    "grammar/lint": (
        "grammar/ebnf",
        "grammar/ir",
        "grammar/json_schema/document",
        "grammar/lark",
        "grammar/regex",
        "grammar/source",
    ),
    "grammar/grammar": (
        "grammar/compose",
        "grammar/diagram",
        "grammar/directives",
        "grammar/front_ends",
        "grammar/ir",
        "grammar/json_schema",
        "grammar/json_schema/document",
        "grammar/lark",
        "grammar/lint",
        "grammar/normalize",
        "grammar/outputs",
        "grammar/regex",
        "grammar/source",
        "grammar/sql",
        "grammar/structural",
        "grammar/whole_strings",
        "pda/limits",
    ),
    "grammar/marked_texts": ("grammar/grammar", "grammar/source", "grammar/structural"),
    "grammar/tools": (
        "grammar/compose",
        "grammar/grammar",
        "grammar/ir",
        "grammar/json_schema",
        "grammar/json_schema/document",
        "grammar/json_schema/sets",
        "grammar/json_schema/write",
        "grammar/normalize",
        "grammar/outputs",
        "grammar/regex",
        "grammar/source",
        "grammar/structural",
    ),
    "runtime/matching": (
        "grammar/front_ends",
        "grammar/grammar",
        "grammar/outputs",
        "grammar/ir",
        "grammar/rule_paths",
        "grammar/source",
        "grammar/whole_strings",
        "pda/ahead",
        "pda/automaton",
        "pda/completion",
        "pda/errors",
        "pda/forced",
        "pda/ids",
        "pda/limits",
        "pda/masks",
        "pda/masks/shared",
        "pda/memory",
        "pda/stack",
        "pda/store",
        "pda/terms",
        "pda/vocabulary",
        "runtime/jump_forward",
        "runtime/vocabulary",
    ),
    "runtime/strings": (
        "grammar/grammar",
        "grammar/ir",
        "grammar/source",
        "pda/errors",
        "pda/limits",
        "runtime/matching",
        "runtime/vocabulary",
    ),
    "runtime/fsm": (
        "grammar/front_ends",
        "grammar/grammar",
        "grammar/ir",
        "grammar/normalize",
        "grammar/source",
        "pda/automaton",
        "pda/errors",
        "pda/forced",
        "pda/limits",
        "pda/memory",
        "pda/stack",
        "pda/store",
        "pda/terms",
        "pda/vocabulary",
        "runtime/jump_forward",
        "runtime/matching",
        "runtime/vocabulary",
    ),
    "runtime/kernels": ("grammar/source", "runtime/kernels/gpu", "runtime/matching"),
    "runtime/comparison": (
        "grammar/grammar",
        "grammar/ir",
        "grammar/source",
        "grammar/whole_strings",
        "pda/errors",
        "pda/limits",
        "runtime/embedded",
        "runtime/extras",
        "runtime/fsm",
        "runtime/matching",
        "runtime/vocabulary",
    ),
    "runtime/audit": (
        "grammar/grammar",
        "grammar/ir",
        "grammar/source",
        "runtime/comparison",
        "runtime/matching",
        "runtime/vocabulary",
    ),
    "runtime/generation": (
        "grammar/grammar",
        "grammar/outputs",
        "grammar/source",
        "grammar/tools",
        "pda/errors",
        "runtime/extras",
        "runtime/fsm",
        "runtime/jump_forward",
        "runtime/kernels",
        "runtime/matching",
        "runtime/vocabulary",
    ),
    "runtime/compat/xgrammar": (
        "grammar/grammar",
        "grammar/source",
        "grammar/structural",
        "grammar/tools",
        "pda/store",
        "runtime/extras",
        "runtime/generation",
        "runtime/kernels",
        "runtime/matching",
        "runtime/vocabulary",
        "runtime/vocabulary/tokenizers",
    ),
    "runtime/serving": (
        "grammar/grammar",
        "grammar/lark",
        "grammar/source",
        "pda/limits",
        "runtime/kernels",
        "runtime/matching",
        "runtime/vocabulary",
    ),
    "runtime/http": (
        "grammar/grammar",
        "grammar/source",
        "grammar/tools",
        "pda/limits",
        "runtime/embedded",
        "runtime/generation",
        "runtime/serving",
    ),
    "runtime/cli": (
        "grammar/diagram",
        "grammar/ebnf",
        "grammar/grammar",
        "grammar/ir",
        "grammar/json_schema/document",
        "grammar/lark",
        "grammar/rule_paths",
        "grammar/source",
        "grammar/sql/schema",
        "grammar/whole_strings",
        "pda/limits",
        "runtime/audit",
        "runtime/comparison",
        "runtime/embedded",
        "runtime/extras",
        "runtime/generation",
        "runtime/http",
        "runtime/kernels",
        "runtime/matching",
        "runtime/strings",
        "runtime/vocabulary",
    ),
}

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
    """Return the rooms that a file imports from, but may not."""
    room = room_of(module_of(path))
    text = (REPO / path).read_text(encoding="utf-8")
    used = {room_of(module) for module in imported(text)} - {room}
    return sorted(used - set(ROOMS.get(room, ())))
