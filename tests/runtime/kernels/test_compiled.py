"""Kernels compile for a GPU that need not be there, into accesses as wide as they are meant to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("compiled.py")


@pytest.fixture(scope="module")
def compiled() -> Any:
    pytest.importorskip("triton", reason="triton is not installed")
    # in the interpreter nothing is compiled
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.campaign
def test_forbidden_groups_are_stored_16_bytes_at_a_time(compiled: Any) -> None:
    found = {name: kernel["accesses"] for name, kernel in compiled.items() if name.startswith("apply")}
    assert len(found) == 2
    for name, accesses in found.items():
        assert accesses["st.global.v4.b32"] >= 2, name


@pytest.mark.campaign
def test_allowed_groups_are_loaded_16_bytes_at_a_time(compiled: Any) -> None:
    for name, kernel in compiled.items():
        if name.startswith(("tiles", "rows")):
            assert kernel["accesses"]["ld.global.v4.b32"] >= 1, name


@pytest.mark.campaign
def test_kernels_that_start_early_wait_for_the_work_before_them(compiled: Any) -> None:
    early = [kernel for name, kernel in compiled.items() if name.startswith(("apply", "tiles", "rows"))]
    assert [kernel["waits"] for kernel in early] == [1] * 6
    assert not any(kernel["touches memory before"] for kernel in early)


def test_applying_needs_no_shared_memory(compiled: Any) -> None:
    assert {kernel["shared"] for name, kernel in compiled.items() if name.startswith("apply")} == {0}


def test_products_are_pipelined_on_tensor_cores(compiled: Any) -> None:
    for name, kernel in compiled.items():
        if name.startswith("product"):
            assert kernel["accesses"]["cp.async.cg"] >= 8, name
            if "fp32" not in name:  # in full precision there
                assert {"mma.sync", "wgmma"} & kernel["accesses"].keys(), name
