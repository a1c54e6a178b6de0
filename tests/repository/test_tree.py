"""Habits of the whole repository: no leftovers, no paths of one machine, stubs that fit."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import types

import pytest
from repository.rooms import imported, module_of
from repository.tree import FACADE, REPO, package_files, tracked_files

CODE = (".py", ".pyi", ".pyx", ".pxd", ".ebnf", ".lark", ".sh")
TEXT = (*CODE, ".md", ".toml", ".txt", ".yaml", ".in", "/run")
# put together here, or this file would name them itself
MARKS = re.compile(
    r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b|NotImpl" + "ementedError"
)
PATHS = re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|root|home|tmp)/[A-Za-z.]")


def texts(endings: tuple[str, ...]) -> list[tuple[str, str]]:
    found = [path for path in tracked_files() if path.endswith(endings)]
    return [(path, (REPO / path).read_text(encoding="utf-8")) for path in found]


@pytest.mark.parametrize("pattern", [MARKS, PATHS], ids=["marks", "paths"])
def test_nothing_unfinished_and_no_path_of_one_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts(TEXT)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_folders_of_the_package_are_packages() -> None:
    folders = {path.rpartition("/")[0] for path in package_files().values()}
    assert [folder for folder in sorted(folders) if not (REPO / folder / "__init__.py").is_file()] == []


EXTENSIONS = [name for name in package_files() if name.endswith(".pyx")]


def test_there_are_extensions() -> None:
    assert len(EXTENSIONS) >= 6


STUBS = [name for name in EXTENSIONS if name.removesuffix("x") + "i" in package_files()]


def test_what_users_import_has_a_stub() -> None:
    """Other extensions need none: their header says what they have, and mypy takes them for untyped."""
    public = [path for path in package_files().values() if path.startswith(f"{FACADE}/")]
    used = {module for path in public for module in imported((REPO / path).read_text(encoding="utf-8"))}
    modules = {module_of(package_files()[name]): name for name in EXTENSIONS}
    assert used & modules.keys()
    assert sorted(module for module in used & modules.keys() if modules[module] not in STUBS) == []


@pytest.mark.parametrize("name", STUBS)
def test_stubs_say_what_the_extensions_have(name: str) -> None:
    module = importlib.import_module(name.removesuffix(".pyx").replace("/", "."))
    stub = REPO / package_files()[name.removesuffix("x") + "i"]
    stated = ast.parse(stub.read_text(encoding="utf-8"))
    assert defined_in(stated) == {n for n, v in vars(module).items() if is_own(v, module) and is_public(n)}
    for node in stated.body:
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            members = vars(getattr(module, node.name))
            assert defined_in(node) == {n for n in members if is_public(n)} - fields_of(node), node.name


def defined_in(node: ast.Module | ast.ClassDef) -> set[str]:
    return {n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and is_public(n.name)}


def fields_of(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(n.target) for n in node.body if isinstance(n, ast.AnnAssign)}


def is_public(name: str) -> bool:
    return not name.startswith("_")


def is_own(value: object, module: types.ModuleType) -> bool:
    is_code = inspect.isclass(value) or callable(value)
    return is_code and getattr(value, "__module__", None) == module.__name__
