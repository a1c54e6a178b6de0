"""Short functions and shallow inheritance: what keeps the engine open to people who did not write it."""

from __future__ import annotations

from itertools import chain

from repository.structure import Class, cython_classes, cython_functions, python_classes, python_functions

MOST_LINES = 100  # a function
DEEPEST = 2  # classes of this package in one line of descent

# abstract classes of Python that share their name with a class of this package
ABSTRACT = {"Sequence"}


def all_classes() -> list[Class]:
    return [*python_classes(), *cython_classes()]


def test_functions_are_short() -> None:
    long = [
        f"{function.path}: {function.name} has {function.lines} lines"
        for function in chain(python_functions(), cython_functions())
        if function.lines > MOST_LINES
    ]
    assert long == []


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
