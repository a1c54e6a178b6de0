"""What importing costs, and which way imports point where import-linter cannot look."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from repository.rooms import FOLDERS, MODULES, ROOMS, module_of, room_of, sources, wrong_imports
from repository.tree import REPO

# what `import stackmask` imports beyond NumPy: half of the modules is the package itself, the others are small
OWN_MODULES = 155  # rooms are packages, which count
OTHER_MODULES = 60

MEASURE = """
import sys
import numpy
before = set(sys.modules)
import stackmask
print(*sorted(set(sys.modules) - before))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_importing_brings_few_modules_and_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    added, packages = (set(line.split()) for line in done.stdout.splitlines())
    own = {name for name in added if name.partition(".")[0] == "stackmask"}
    print(f"import stackmask: {len(own)} modules of its own, {len(added - own)} others")
    assert len(own) < OWN_MODULES
    assert len(added - own) < OTHER_MODULES
    heavy = {
        "torch",
        "transformers",
        "tokenizers",
        "safetensors",
        "lark",
        "typer",
        "rich",
        "tqdm",
        "sqlalchemy",
        "sqlglot",
    }
    assert packages & heavy == set()


@pytest.mark.campaign
@pytest.mark.parametrize("blocked", ["torch", "transformers", "typer", "rich"])
def test_the_core_works_without_extras(blocked: str) -> None:
    script = f"""
import sys
sys.modules[{blocked!r}] = None
import stackmask as sm
vocab = sm.Vocabulary([b"a", b"b", None], stop_ids=[2])
matcher = sm.Compiler(vocab).compile(sm.Grammar.from_ebnf('root ::= "ab"')).matcher()
assert matcher.accept_token(0) and not matcher.accept_token(0) and matcher.accept_string("b")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_generation_says_which_extra_it_needs() -> None:
    script = """
import sys
sys.modules["torch"] = None
import stackmask as sm
try:
    sm.generate
except sm.StackmaskError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "this needs torch, which is not installed: pip install 'stackmask[hf]'\n"


@pytest.mark.parametrize("path", sources())
def test_rooms_import_what_they_may(path: str) -> None:
    assert wrong_imports(path) == [], "a room imports those before it in ROOMS of tests/repository/rooms.py"


def test_all_rooms_are_listed_and_there() -> None:
    rooms = {room_of(module_of(path)) for path in sources() if not path.endswith("__init__.py")}
    assert sorted(rooms - set(ROOMS)) == [], "not in ROOMS of tests/repository/rooms.py"
    assert [room for room in ROOMS if room not in FOLDERS | MODULES] + [
        room for room in set(ROOMS) if ROOMS.count(room) > 1
    ] == []


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_a_room_says_what_it_is_for(folder: str) -> None:
    source = (REPO / folder / "__init__.py").read_text(encoding="utf-8")
    contract = ast.get_docstring(ast.parse(source))
    assert contract is not None and contract.partition("\n\n")[0].endswith((".", ":"))
