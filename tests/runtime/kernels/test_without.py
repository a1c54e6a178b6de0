"""Without triton, or without a GPU: the CPU path or one clear error, never a failed import."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules["triton"] = None
import torch
import stackmask as sm
from stackmask.runtime.kernels import apply, mask_table, output_layer, sampling

assert not apply.has_triton()
logits, mask = torch.zeros(2, 40), torch.tensor([[3, 0], [0, 1]], dtype=torch.int32)
assert sampling.sample_masked(logits, mask, temperature=0).tokens.tolist() == [0, 32]
layer = output_layer.MaskedOutputLayer(torch.ones(40, 8))
assert (layer(torch.ones(2, 8), mask, form="gather") == 8).sum() == 3
sm.apply_token_bitmask_inplace(logits, mask)
assert (logits == 0).sum() == 3
compiled = sm.Compiler(sm.Vocabulary([b"a", b"b", None], stop_ids=[2])).compile(sm.Grammar.from_ebnf('root ::= "ab"'))
table = mask_table.DeviceMaskTable(3, "cpu")
assert table.bitmask(table.entries([compiled.matcher(), None])).tolist() == [[1], [-1]]
try:
    sm.apply_token_bitmask_inplace(torch.zeros(2, 40, device="meta"), mask)
except ValueError as error:
    print(error)
"""


@pytest.mark.campaign
def test_kernels_without_triton() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "logits is on meta, but bitmask is on cpu\n"
