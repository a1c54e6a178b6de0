"""What importing costs, and which way imports point where import-linter cannot look."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from repository.tree import REPO, package_files

# what `import stackmask` imports beyond NumPy: half of the modules is the package itself, the others are small
OWN_MODULES = 130
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


IMPORT = re.compile(
    r"^\s*(?:from\s+(stackmask\S*)\s+c?import\s+(\w+)|c?import\s+(stackmask\S*))", re.MULTILINE
)
ALLOWED = {
    "grammar": ("stackmask.grammar.",),
    "pda": (
        "stackmask.pda.",
        "stackmask.grammar.ir.expressions",
        "stackmask.grammar.ir",
        "stackmask.grammar.source.diagnostics",
        "stackmask.grammar.ir.strongly_connected",  # of a graph of names; stands on nothing
    ),
    "runtime": ("stackmask.runtime.", "stackmask.pda.", "stackmask.grammar."),
}
COMPILED = [path for path in package_files().values() if path.endswith((".pyx", ".pxd"))]


@pytest.mark.parametrize("path", COMPILED)
def test_extensions_import_downwards(path: str) -> None:
    text = (REPO / path).read_text(encoding="utf-8")
    names = [f"{source}.{name}" if source else plain for source, name, plain in IMPORT.findall(text)]
    assert [name for name in names if not name.startswith(ALLOWED[path.partition("/")[0]])] == []
