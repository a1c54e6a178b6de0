"""Short functions and shallow inheritance: what keeps the engine open to people who did not write it."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest
from repository.rooms import imported, module_of, sources
from repository.structure import (
    Class,
    cython_classes,
    cython_functions,
    python_classes,
    python_functions,
    read,
)

MOST_LINES = 100  # a function
DEEPEST = 2  # classes of this package in one line of descent

# abstract classes of Python that share their name with a class of this package
ABSTRACT = {"Sequence"}

# names of several classes that are still to be mended
SHARED_NAMES = {"Spelling"}


def all_classes() -> list[Class]:
    return [*python_classes(), *cython_classes()]


@pytest.mark.campaign
def test_functions_are_short() -> None:
    long = [
        f"{function.path}: {function.name} has {function.lines} lines"
        for function in chain(python_functions(), cython_functions())
        if function.lines > MOST_LINES
    ]
    assert long == []


@pytest.mark.campaign
def test_inheritance_is_shallow() -> None:
    # errors are kinds of errors to those who catch them, and may be deeper
    classes = [found for found in all_classes() if not found.name.endswith("Error")]
    bases: dict[str, tuple[str, ...]] = {found.name: found.bases for found in classes}

    def depth(name: str, seen: frozenset[str] = frozenset()) -> int:
        named = (base for base in bases.get(name, ()) if base not in ABSTRACT)
        own = [base for base in named if base in bases and base not in seen and base != name]
        return 1 + max((depth(base, seen | {name}) for base in own), default=0)

    deep = [f"{found.path}: {found.name}" for found in classes if depth(found.name) > DEEPEST]
    assert deep == []


def test_modules_of_the_grammars_import_each_other_in_no_circle() -> None:
    modules = {
        path: module_of(path) for path in sources() if path.startswith("grammar/") and path[-4:] != ".pyi"
    }
    graph: dict[str, set[str]] = {module: set() for module in modules.values()}
    for path, module in modules.items():
        graph[module] |= {used for used in imported(read(path)) if used in graph and used != module}
    in_circles = set()
    for module, used in graph.items():
        seen, todo = set(used), list(used)
        while todo:
            more = graph[todo.pop()] - seen
            seen |= more
            todo += more
        if module in seen:
            in_circles.add(module)
    assert in_circles == set()


@pytest.mark.campaign
def test_classes_of_the_grammars_have_names_of_their_own() -> None:
    names = Counter(found.name for found in all_classes() if found.path.startswith("grammar/"))
    assert {name for name, count in names.items() if count > 1} <= SHARED_NAMES
