"""Where kernels run in the tests: on the GPU, or without one on the CPU in Triton's interpreter."""

from __future__ import annotations

from importlib.metadata import version

import pytest
import torch


@pytest.fixture(scope="session")
def device() -> str:
    """Return the device that Triton's kernels run on here."""
    pytest.importorskip("triton", reason="triton is not installed")
    from stackmask.runtime.kernels.gpu.masks import interpreted

    if torch.cuda.is_available():
        return "cuda"
    if not interpreted():
        pytest.skip("no GPU, and TRITON_INTERPRET is not 1")
    if tuple(map(int, version("triton").split(".")[:2])) < (3, 7):
        pytest.skip(
            "no GPU, and the interpreter of triton 3.6 does not work with NumPy 2.4 (and warns before)"
        )
    return "cpu"
