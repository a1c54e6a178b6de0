"""An output layer that computes only logits that the masks allow.

The product of hidden states with the output matrix reads the whole matrix: a gigabyte for 128,256 tokens of
4,096 numbers in bf16. If masks allow few tokens, most of it is for logits that become -inf. Three forms give
the same logits:

- ``dense``: the whole product, then the mask;
- ``blocks``: the rows of the matrix that some sequence of the batch may choose, in contiguous blocks of 32;
- ``gather``: the same rows, wherever they lie, 32 at a time.

Bytes and launches determine the fastest form: see ``choose_form``. Blocks pay off if few of them are needed,
and if tokens that grammars allow together are adjacent, as in ``vocabulary_order``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch

from stackmask.runtime.kernels.apply import apply_token_bitmask_inplace, check_apart, check_masked, has_triton
from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.kernels.reference import allowed_tokens

if TYPE_CHECKING:
    import numpy.typing as npt

Form = Literal["dense", "blocks", "gather"]
FORMS: tuple[Form, ...] = ("dense", "blocks", "gather")
BLOCK = 32  # rows of the matrix
MOST_ROWS = 64  # sequences of a batch; with more, the dense product is what pays


class Wanted(NamedTuple):
    """The tokens that some sequence of a batch may choose, with the number of tokens and of their blocks."""

    tokens: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Costs:
    """The parameters of a device for choosing a form: seconds, and bytes per second.

    The defaults are fitted to an H100 (``lab/benchmarks/results/gpu_output.json``): in 45 of 48 cases the rule selects the
    fastest form, and in the others one that is 3 to 6% slower.
    """

    bandwidth: float = 2.8e12  # of the dense product, and of wanted rows in blocks
    gathered: float = 1.1  # times the bandwidth, where rows are gathered: nothing is read that is not wanted
    start_dense: float = 2e-6
    start_blocks: float = 18e-6  # the launches that find and list what is wanted, and the fill
    start_gather: float = 21e-6
    sequence: float = 0.14e-6  # that each sequence adds to these
    slower: float = 128.0  # sequences with which a wanted row takes twice as long
    margin: float = 0.9  # of the dense time: below, another form is worth it


def choose_form(
    rows: int, vocab: int, size: int, itemsize: int, wanted: Wanted | None, costs: Costs | None = None
) -> Form:
    """Choose how to compute the logits of a batch, from the bytes to read and the number of launches.

    ``wanted`` is None if only the device knows it; then, and with more than 64 rows, the result is ``dense``.
    """
    if wanted is None or rows > MOST_ROWS:
        return "dense"
    c = costs or Costs()
    row = size * itemsize / c.bandwidth  # seconds to read a row of the matrix
    each = row * (1 + rows / c.slower)
    dense = vocab * row + c.start_dense
    # a block with few wanted rows takes as long as one with half of them
    in_blocks = max(wanted.blocks * BLOCK / 2, wanted.tokens)
    times: dict[Form, float] = {
        "blocks": c.start_blocks + rows * c.sequence + in_blocks * each,
        "gather": c.start_gather + rows * c.sequence + wanted.tokens * each / c.gathered,
    }
    best = min(times, key=lambda form: times[form])
    return best if times[best] < c.margin * dense else "dense"


def count_wanted(
    bitmask: torch.Tensor, vocab_size: int, position_of: torch.Tensor | None = None
) -> Wanted | None:
    """Count tokens and blocks that some row allows; None if the masks are not on the CPU, since reading them
    would wait.

    ``position_of`` (vocab,): the matrix row of each token, if the order differs.
    """
    if bitmask.device.type != "cpu":
        return None
    union = np.bitwise_or.reduce(bitmask.numpy(), axis=0)
    tokens = np.flatnonzero(np.unpackbits(union.view(np.uint8), bitorder="little")[:vocab_size])
    if position_of is None:
        return Wanted(len(tokens), len(np.unique(tokens // BLOCK)))
    return Wanted(len(tokens), len(np.unique(position_of.numpy()[tokens] // BLOCK)))


def vocabulary_order(bitmasks: npt.NDArray[np.int32] | torch.Tensor, vocab_size: int) -> torch.Tensor:
    """Order tokens so that tokens that masks allow together are adjacent: (vocab,) int64, the token of each position.

    Shapes: bitmasks (samples, words) int32 from representative steps. Tokens are sorted by the samples that allow them,
    beginning with the samples that allow the fewest, so tokens with similar use are adjacent and small masks are whole blocks.
    Cost: samples x vocab bytes, and a sort.
    """
    masks = np.ascontiguousarray(bitmasks, dtype=np.int32)
    if masks.ndim != 2 or masks.shape[1] * 32 < vocab_size:
        raise BitmaskError(
            f"bitmasks is {' x '.join(map(str, masks.shape))}, must be samples x {-(-vocab_size // 32)} words"
        )
    allowed = np.unpackbits(np.unique(masks, axis=0).view(np.uint8), axis=1, bitorder="little")[
        :, :vocab_size
    ]
    by_size = np.argsort(allowed.sum(axis=1), kind="stable")
    # a bit a sample, eight samples a byte; the most significant are the smallest masks
    signatures = np.packbits(allowed[by_size], axis=0)
    return torch.from_numpy(np.lexsort(signatures[::-1])[::-1].copy())


class MaskedOutputLayer:
    """The last layer of a model, for sequences with masks: logits = hidden · weightᵀ, -inf if forbidden.

    ``weight`` (vocab, size) of float32, float16 or bfloat16. With ``order`` (``vocabulary_order``), its rows are copied in
    that order; the logits remain in the order of the tokens. Buffers are allocated once, so calls on different
    streams must wait for one another.
    """

    def __init__(
        self, weight: torch.Tensor, *, order: torch.Tensor | None = None, costs: Costs | None = None
    ) -> None:
        if weight.ndim != 2 or weight.stride(1) != 1:
            raise BitmaskError(
                f"weight is {tuple(weight.shape)} with strides {weight.stride()}, must be (vocab, size), rows side by side"
            )
        if weight.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise BitmaskError(f"weight has dtype {weight.dtype}, must be float32, float16 or bfloat16")
        self.vocab, self.size = weight.shape
        self.costs = costs
        self._weight, self._order, self._position_of = weight, None, None
        if order is not None:
            if order.shape != (self.vocab,) or not torch.equal(
                order.sort().values.cpu(), torch.arange(self.vocab)
            ):
                raise BitmaskError(
                    f"order has {len(order)} values, must be the numbers from 0 to {self.vocab - 1}"
                )
            self._weight = weight[order.to(weight.device)]
            self._order = order.to(weight.device, torch.int32)
            self._position_of = torch.argsort(order.cpu())
        blocks = -(-self.vocab // BLOCK)
        shapes = {"wanted": self.vocab, "counts": blocks, "list": blocks, "total": 1, "positions": self.vocab}
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
        wanted: Wanted | None = None,
        out: torch.Tensor | None = None,
        vocab_size: int | None = None,
    ) -> torch.Tensor:
        """Return the masked logits (rows, vocab), in the type of ``hidden``.

        Shapes: hidden (rows, size); bitmask (rows, ceil(vocab / 32)) int32 on the same device. ``wanted`` are the counts
        of ``count_wanted``, taken where the masks were on the CPU; without them ``auto`` is ``dense`` on a GPU.
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
            counts = wanted or count_wanted(bitmask, columns, self._position_of)
            form = choose_form(len(hidden), self.vocab, self.size, hidden.element_size(), counts, self.costs)
        if form != "dense" and len(hidden) > MOST_ROWS:
            raise BitmaskError(
                f"hidden has {len(hidden)} rows, but the form {form} takes at most {MOST_ROWS}"
            )
        if form == "dense" or not hidden.is_cuda or not has_triton():
            return self._with_torch(hidden, bitmask, logits, columns, dense=form == "dense")
        return self._launch(hidden, bitmask, logits, columns, form)

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
            if self._order is None:
                torch.matmul(hidden, self._weight.T, out=logits)
            else:
                logits[:, self._order.long()] = hidden @ self._weight.T
        else:
            tokens = allowed_tokens(masks, columns).any(0).nonzero().flatten()
            positions = tokens if self._position_of is None else self._position_of.to(tokens.device)[tokens]
            logits.fill_(float("-inf"))
            logits[:, tokens] = hidden @ self._weight[positions].T
        apply_token_bitmask_inplace(logits, masks, vocab_size=columns)
        return logits

    def _launch(
        self, hidden: torch.Tensor, masks: torch.Tensor, logits: torch.Tensor, columns: int, form: Form
    ) -> torch.Tensor:
        from stackmask.runtime.kernels.gpu.output import launch_output

        logits.fill_(float("-inf"))
        launch_output(
            hidden,
            self._weight,
            masks,
            logits,
            columns=columns,
            workspace=self._workspace,
            order=self._order,
            gather=form == "gather",
        )
        return logits
