"""Classes and functions of the package, read from Python and Cython sources without importing them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from repository.tree import REPO, package_files


@dataclass
class Class:
    name: str
    path: str
    bases: tuple[str, ...]
    members: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Function:
    name: str
    path: str
    lines: int


CDEF_CLASS = re.compile(r"^cdef class (\w+)(?:\(([^)]*)\))?:", re.MULTILINE)
HEAD = re.compile(r"^( *)(?:async )?(?:def|cdef|cpdef)\b(?! class)[^\n=]*?(\w+)\(", re.MULTILINE)
MEMBER = re.compile(r"^    (?:cdef|cpdef|def) [^\n(]*?(\w+) *(?:\(|$|#|=|:)", re.MULTILINE)
PRIVATE_NAMES = ("__cinit__", "__init__", "__dealloc__")


def python_files() -> list[str]:
    return [path for path in package_files().values() if path.endswith(".py")]


def cython_files() -> list[str]:
    return [path for path in package_files().values() if path.endswith((".pyx", ".pxd"))]


def read(path: str) -> str:
    return (REPO / path).read_text(encoding="utf-8")


def python_classes() -> Iterator[Class]:
    for path in python_files():
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
                yield Class(node.name, path, bases, set(python_members(node)))


def python_members(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            yield item.name
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id
        elif isinstance(item, ast.Assign):
            yield from (target.id for target in item.targets if isinstance(target, ast.Name))
    for item in ast.walk(node):
        if not isinstance(item, ast.Attribute) or not isinstance(item.ctx, ast.Store):
            continue
        if isinstance(item.value, ast.Name) and item.value.id == "self":
            yield item.attr


def cython_classes() -> Iterator[Class]:
    """Yield the classes of all extensions; what the header and the source say of one class is put together."""
    found: dict[tuple[str, str], Class] = {}
    for path in cython_files():
        text = read(path)
        for match in CDEF_CLASS.finditer(text):
            bases = tuple(base.strip() for base in (match[2] or "").split(",") if base.strip())
            key = (path.rpartition(".")[0], match[1])
            known = found.setdefault(key, Class(match[1], path, bases))
            body = re.split(r"(?m)^(?=\S)", text[match.end() :], maxsplit=1)[0]
            known.members |= {name for name in MEMBER.findall(body) if name not in PRIVATE_NAMES}
    yield from found.values()


def python_functions() -> Iterator[Function]:
    for path in python_files():
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield Function(node.name, path, node.end_lineno - node.lineno + 1)


def cython_functions() -> Iterator[Function]:
    for path in cython_files():
        lines = read(path).splitlines()
        text = "\n".join(lines)
        for match in HEAD.finditer(text):
            start = text.count("\n", 0, match.start())
            indent = len(match[1])
            end = start + 1
            while end < len(lines):
                line = lines[end]
                if (
                    line.strip()
                    and len(line) - len(line.lstrip()) <= indent
                    and not line.lstrip().startswith(")")
                ):
                    break
                end += 1
            while end > start + 1 and not lines[end - 1].strip():
                end -= 1
            yield Function(match[2], path, end - start)
