"""Ids are plain integers in a release build, and types that do not mix in a debug build."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from repository.tree import REPO
from support.campaign import mostly_campaign

HEADER = REPO / "pda" / "ids.h"
COMPILER = shlex.split(os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++")

# what the generated code does with ids of one name
USED_WELL = """
#include "ids.h"
#include <unordered_map>
#include <vector>
struct Record { TermId term; ConfigId config; };
enum { EMPTY = 0 };
TermId next(TermId t) { return t == EMPTY ? (TermId)-1 : t; }
int main() {
    Record record = {1, 2};
    std::vector<TermId> terms;
    std::unordered_map<ConfigId, int> seen;
    size_t wide = 7;
    TermId t = wide;
    t += 1; ++t; t--; t |= 4; t <<= 1;
    terms.push_back(3);
    terms.push_back(next(t));
    seen[record.config] = terms[record.term];
    for (TermId k = 0; k < 2; k += 1) terms[k] = k;
    switch (t) { case 0: t = 1; }
    unsigned long long key = ((unsigned long long)t << 32) | (unsigned long long)record.config;
    ConfigId named = (ConfigId)(int)t;
    return t != record.term && !t && t < 5 && named > -1 && key && t == terms[0];
}
"""

MIXED = {
    "passed": "TermId f(TermId t) { return t; } int main() { ConfigId c = 1; f(c); }",
    "initialised": "int main() { ConfigId c = 1; TermId t = c; }",
    "cast": "int main() { ConfigId c = 1; TermId t = (TermId)c; }",
    "assigned": "int main() { ConfigId c = 1; TermId t = 0; t = c; }",
    "compared": "int main() { ConfigId c = 1; TermId t = 0; return t == c; }",
    "ordered": "int main() { ConfigId c = 1; TermId t = 0; return t < c; }",
    "added": "int main() { ConfigId c = 1; TermId t = 0; t += c; }",
    "listed": "#include <vector>\nint main() { std::vector<TermId> t; t.push_back(ConfigId(1)); }",
}


# what a variant is asked, and what it is not: it has no sign and no range
VARIANTS = """
#include "ids.h"
using namespace stackmask;
static_assert(!NEVER.possible() && ALWAYS.possible() && ALWAYS.always(), "");
static_assert(Nullability::under(GuardId(63)).possible() && !Nullability::under(GuardId(63)).always(), "");
static_assert(Nullability::under(GuardId(63)).guard() == GuardId(63), "");
static_assert(ReturnAction::end_of(ActionId(0)).is_capture(), "the first action is one, too");
static_assert(ReturnAction::end_of(ActionId(7)).action() == ActionId(7), "");
static_assert(ReturnAction::of_code(ReturnAction::end_of(ActionId(7)).code()) == ReturnAction::end_of(ActionId(7)), "");
static_assert(!ACTION_NONE.is_capture() && !ACTION_NONE.restores_caller(), "");
static_assert(ACTION_SCOPE.restores_caller() && ACTION_KEYED.restores_caller() && ACTION_BACK.restores_caller(), "");
static_assert(!ACTION_COUNTED.restores_caller() && ACTION_COUNTED != ACTION_NONE, "");
int main() { }
"""
MISUSED = (
    "NEVER < 0",
    "ALWAYS >= 0",
    "ALWAYS == 0",
    "ACTION_SCOPE < 0",
    "ACTION_NONE == -1",
    "ACTION_KEYED == NEVER",
)


def compiles(code: str, folder: Path, *, debug: bool) -> bool:
    source = folder / "ids.cpp"
    source.write_text(f'#include "{HEADER}"\n{code}' if '"ids.h"' not in code else code)
    command = [*COMPILER, "-std=c++11", "-fsyntax-only", f"-I{HEADER.parent}", str(source)]
    if debug:
        command.append("-DSTACKMASK_DEBUG=1")
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_compiler = pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason="no C++ compiler")


@needs_compiler
@pytest.mark.parametrize("debug", [False, True], ids=["release", "debug"])
def test_ids_are_used_as_integers(tmp_path: Path, debug: bool) -> None:
    assert compiles(USED_WELL, tmp_path, debug=debug)


@needs_compiler
@pytest.mark.parametrize("use", mostly_campaign(MIXED, 3))
def test_ids_of_two_names_do_not_mix_in_a_debug_build(tmp_path: Path, use: str) -> None:
    assert compiles(MIXED[use], tmp_path, debug=False)
    assert not compiles(MIXED[use], tmp_path, debug=True)
    assert compiles(MIXED[use].replace("ConfigId", "TermId"), tmp_path, debug=True)


@pytest.mark.campaign
@needs_compiler
@pytest.mark.parametrize("debug", [False, True], ids=["release", "debug"])
def test_variants_are_no_integers(tmp_path: Path, debug: bool) -> None:
    assert compiles(VARIANTS, tmp_path, debug=debug)
    for use in MISUSED:
        code = f"using namespace stackmask; int main() {{ return {use}; }}"
        assert not compiles(code, tmp_path, debug=debug), use


def test_cython_declares_what_the_header_defines() -> None:
    defined = re.findall(r"STACKMASK_ID\((\w+)\)$", HEADER.read_text(), re.MULTILINE)
    declared = re.findall(r"ctypedef int32_t (\w+)", HEADER.with_suffix(".pxd").read_text())
    assert defined == declared
