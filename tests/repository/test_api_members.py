"""Each public member of a public class has a text of its own: methods and properties, fields, attributes of errors."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from pathlib import Path

import pytest
from repository.test_api_pages import MODULES
from repository.tree import REPO

VIEW = REPO / "build" / "view"


def public_classes() -> list[type]:
    """Return the public classes of all modules, each once."""
    found: dict[type, None] = {}
    for module in MODULES:
        home = importlib.import_module(module)
        found.update(dict.fromkeys(v for name in home.__all__ if inspect.isclass(v := getattr(home, name))))
    return list(found)


def place_of(kind: type) -> Path | None:
    """Return the source of a class, or the stub of a compiled one; None if it is none of this project."""
    if not kind.__module__.startswith("stackmask"):
        return None
    place = VIEW.joinpath(*kind.__module__.split("."))
    places = (place / "__init__.py", place.with_suffix(".pyi"), place.with_suffix(".py"))
    return next((path for path in places if path.is_file()), None)


def texts_of(kind: type) -> dict[str, str]:
    """Return the text of each public member that a class itself declares; "" where there is none."""
    place = place_of(kind)
    assert place is not None, kind
    classes = [
        node for node in ast.walk(ast.parse(place.read_text("utf-8"))) if isinstance(node, ast.ClassDef)
    ]
    body = next(node.body for node in classes if node.name == kind.__name__)
    found: dict[str, str] = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        said = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            said = str(after.value.value)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # overloads and the setters of properties have the text of the first
            found[node.name] = ast.get_docstring(node) or found.get(node.name, "")
            if node.name == "__init__":
                made = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute) and is_set(n)}
                found = {**dict.fromkeys(made, ""), **found}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = said
        elif isinstance(node, ast.Assign):
            found.update({target.id: said for target in node.targets if isinstance(target, ast.Name)})
    return {name: text for name, text in found.items() if not name.startswith("_")}


def is_set(node: ast.Attribute) -> bool:
    """Tell whether this sets an attribute of ``self``."""
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def members_of(kind: type) -> set[str]:
    """Return the public names that ``dir()`` shows of a class, without those of other packages."""
    others = {
        name for base in kind.__mro__ if not base.__module__.startswith("stackmask") for name in dir(base)
    }
    return {name for name in dir(kind) if not name.startswith("_")} - others


def test_members_have_texts() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("pydantic")
    bare = []
    for kind in public_classes():
        texts: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            if base.__module__.startswith("stackmask"):
                own = texts_of(base)
                texts |= {name: text or texts.get(name, "") for name, text in own.items()}
        names = members_of(kind) | texts.keys()
        bare += [f"{kind.__module__}.{kind.__name__}.{name}" for name in names if not texts.get(name)]
    assert sorted(set(bare)) == []


def test_editors_are_offered_the_public_names_only() -> None:
    import stackmask as sm

    assert {*dir(sm)} == {*sm.__all__, "__doc__", "__version__"}


def test_errors_that_texts_name_are_public() -> None:
    homes = [importlib.import_module(name) for name in ("stackmask", "stackmask.tools", "stackmask.fsm")]
    values = [getattr(home, name) for home in homes for name in home.__all__]
    members = [v for kind in values if inspect.isclass(kind) for n, v in vars(kind).items() if n[0] != "_"]
    texts = "".join(inspect.getdoc(value) or "" for value in [*values, *members])
    public = {name for home in (*homes, builtins) for name in dir(home)}
    assert {*re.findall(r"\b[A-Z]\w+Error\b", texts)} - public == set()
