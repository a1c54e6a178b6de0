"""An output layer that computes only logits that the masks allow.

The product of hidden states with the output matrix reads the whole matrix: a gigabyte for 128,256 tokens of
4,096 numbers in bf16. If masks allow few tokens, most of it is for logits that become -inf. Two forms give
the same logits:

- ``dense``: the whole product, then the mask;
- ``gather``: the rows of the matrix that some sequence of the batch may choose, 32 at a time.

Bytes and launches determine the faster form: see ``choose_form``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from stackmask.runtime.kernels.apply import apply_token_bitmask_inplace, check_apart, check_masked, has_triton
from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.kernels.reference import allowed_tokens

Form = Literal["dense", "gather"]
FORMS: tuple[Form, ...] = ("dense", "gather")
BLOCK = 32  # rows of the matrix whose wanted ones are counted together
MOST_ROWS = 64  # sequences of a batch; with more, the dense product is what pays


@dataclass(frozen=True, slots=True)
class Costs:
    """The parameters of a device for choosing a form: seconds, and bytes per second.

    The defaults are fitted to an H100: in all 48 cases of ``lab/benchmarks/results/gpu_output.json`` the rule selects the faster
    form.
    """

    bandwidth: float = 2.8e12  # of the dense product
    gathered: float = 1.1  # times the bandwidth, where rows are gathered: nothing is read that is not wanted
    start_dense: float = 2e-6
    start_gather: float = 21e-6  # the launches that find and list what is wanted, and the fill
    sequence: float = 0.14e-6  # that each sequence adds to this
    slower: float = 128.0  # sequences with which a wanted row takes twice as long
    margin: float = 0.9  # of the dense time: below, gathering is worth it


def choose_form(
    rows: int, vocab: int, size: int, itemsize: int, wanted: int | None, costs: Costs | None = None
) -> Form:
    """Choose how to compute the logits of a batch, from the bytes to read and the number of launches.

    ``wanted`` is None if only the device knows it; then, and with more than 64 rows, the result is ``dense``.
    """
    if wanted is None or rows > MOST_ROWS:
        return "dense"
    c = costs or Costs()
    row = size * itemsize / c.bandwidth  # seconds to read a row of the matrix
    dense = vocab * row + c.start_dense
    gather = c.start_gather + rows * c.sequence + wanted * row * (1 + rows / c.slower) / c.gathered
    return "gather" if gather < c.margin * dense else "dense"


def count_wanted(bitmask: torch.Tensor, vocab_size: int) -> int | None:
    """Count the tokens that some row allows; None if the masks are not on the CPU, since reading them would wait."""
    if bitmask.device.type != "cpu":
        return None
    union = np.bitwise_or.reduce(bitmask.numpy(), axis=0)
    return int(np.unpackbits(union.view(np.uint8), bitorder="little")[:vocab_size].sum())


class MaskedOutputLayer:
    """The last layer of a model, for sequences with masks: logits = hidden · weightᵀ, -inf if forbidden.

    ``weight`` (vocab, size) of float32, float16 or bfloat16. Buffers are allocated once, so calls on different streams must
    wait for one another.
    """

    def __init__(self, weight: torch.Tensor, *, costs: Costs | None = None) -> None:
        if weight.ndim != 2 or weight.stride(1) != 1:
            raise BitmaskError(
                f"weight is {tuple(weight.shape)} with strides {weight.stride()}, must be (vocab, size), rows side by side"
            )
        if weight.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise BitmaskError(f"weight has dtype {weight.dtype}, must be float32, float16 or bfloat16")
        self.vocab, self.size = weight.shape
        self.costs = costs
        self._weight = weight
        blocks = -(-self.vocab // BLOCK)
        shapes = {"wanted": self.vocab, "counts": blocks, "starts": blocks, "total": 1, "tokens": self.vocab}
        self._workspace = {
            name: torch.empty(
                count, dtype=torch.int8 if name == "wanted" else torch.int32, device=weight.device
            )
            for name, count in shapes.items()
        }

    def __call__(
        self,
        hidden: torch.Tensor,
        bitmask: torch.Tensor,
        *,
        form: Form | Literal["auto"] = "auto",
        wanted: int | None = None,
        out: torch.Tensor | None = None,
        vocab_size: int | None = None,
    ) -> torch.Tensor:
        """Return the masked logits (rows, vocab), in the type of ``hidden``.

        Shapes: hidden (rows, size); bitmask (rows, ceil(vocab / 32)) int32 on the same device. ``wanted`` is the result
        of ``count_wanted``, taken where the masks were on the CPU; without it ``auto`` is ``dense`` on a GPU.
        Accumulates in fp32. Raises: BitmaskError naming the argument and both values; a row without an allowed token
        is refused where masks are on the CPU.
        """
        logits = self._room(hidden, out)
        columns = check_masked(logits, bitmask, vocab_size)
        check_apart(logits)
        if hidden.device != bitmask.device:
            raise BitmaskError(f"hidden is on {hidden.device}, but bitmask is on {bitmask.device}")
        if form not in (*FORMS, "auto"):
            raise BitmaskError(f"form is {form!r}, must be auto or one of {', '.join(FORMS)}")
        if bitmask.device.type == "cpu":
            for row, allowed in enumerate(allowed_tokens(bitmask, columns).any(1).tolist()):
                if not allowed:
                    raise BitmaskError(
                        f"bitmask allows no token in row {row}: 0 of {columns} are allowed there"
                    )
        if form == "auto":
            count = count_wanted(bitmask, columns) if wanted is None else wanted
            form = choose_form(len(hidden), self.vocab, self.size, hidden.element_size(), count, self.costs)
        if form != "dense" and len(hidden) > MOST_ROWS:
            raise BitmaskError(
                f"hidden has {len(hidden)} rows, but the form {form} takes at most {MOST_ROWS}"
            )
        if form == "dense" or not hidden.is_cuda or not has_triton():
            return self._with_torch(hidden, bitmask, logits, columns, dense=form == "dense")
        return self._launch(hidden, bitmask, logits, columns)

    def _room(self, hidden: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
        """Check the hidden states, and return the output buffer."""
        weight = self._weight
        if hidden.ndim != 2 or hidden.shape[1] != self.size:
            raise BitmaskError(f"hidden is {tuple(hidden.shape)}, but weight has rows of {self.size}")
        if hidden.stride(1) != 1:
            raise BitmaskError(f"hidden has stride {hidden.stride(1)} in its last dimension, must have 1")
        for name, mine, theirs in (
            ("dtype", hidden.dtype, weight.dtype),
            ("device", hidden.device, weight.device),
        ):
            if mine != theirs:
                raise BitmaskError(f"hidden has {name} {mine}, but weight has {theirs}")
        shape = (len(hidden), self.vocab)
        if out is None:
            return torch.empty(shape, dtype=hidden.dtype, device=hidden.device)
        if out.shape != shape or out.dtype != hidden.dtype or out.device != hidden.device:
            raise BitmaskError(
                f"out is {tuple(out.shape)} {out.dtype} on {out.device}, must be {shape} {hidden.dtype} on {hidden.device}"
            )
        return out

    def _with_torch(
        self, hidden: torch.Tensor, masks: torch.Tensor, logits: torch.Tensor, columns: int, *, dense: bool
    ) -> torch.Tensor:
        """The dense product and the mask; or the product with the rows that are wanted. The kernels' reference."""
        if dense:
            torch.matmul(hidden, self._weight.T, out=logits)
        else:
            tokens = allowed_tokens(masks, columns).any(0).nonzero().flatten()
            logits.fill_(float("-inf"))
            logits[:, tokens] = hidden @ self._weight[tokens].T
        apply_token_bitmask_inplace(logits, masks, vocab_size=columns)
        return logits

    def _launch(
        self, hidden: torch.Tensor, masks: torch.Tensor, logits: torch.Tensor, columns: int
    ) -> torch.Tensor:
        from stackmask.runtime.kernels.gpu.output import launch_output

        logits.fill_(float("-inf"))
        launch_output(hidden, self._weight, masks, logits, columns=columns, workspace=self._workspace)
        return logits
