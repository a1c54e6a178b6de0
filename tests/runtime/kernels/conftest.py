"""Where kernels run in the tests: on the GPU, or without one on the CPU in Triton's interpreter."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
import torch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the interpreter of triton 3.6 do what NumPy warns of since 1.25 and refuses since 2.4."""
    for item in items:
        if not item.path.is_relative_to(Path(__file__).parent):
            continue
        item.add_marker(
            pytest.mark.filterwarnings("ignore:Conversion of an array with ndim:DeprecationWarning")
        )


@pytest.fixture(scope="session")
def device() -> str:
    """Return the device that Triton's kernels run on here."""
    pytest.importorskip("triton", reason="triton is not installed")
    from stackmask.runtime.kernels.gpu.masks import interpreted

    if torch.cuda.is_available():
        return "cuda"
    if not interpreted():
        pytest.skip("no GPU, and TRITON_INTERPRET is not 1")
    if _version("triton") < (3, 7) and _version("numpy") >= (2, 4):
        pytest.skip("no GPU, and the interpreter of triton 3.6 does not work with NumPy 2.4")
    return "cpu"


def _version(package: str) -> tuple[int, ...]:
    return tuple(map(int, version(package).split(".")[:2]))
