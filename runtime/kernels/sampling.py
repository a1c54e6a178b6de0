"""Masked sampling: mask, temperature, top-k, top-p, min-p, softmax and sampling of a token in one step.

A token is *allowed* if the mask allows it and its logit is neither NaN nor -inf. At temperature 0 the result is the first
allowed token with the highest logit. Otherwise, with x the logits divided by the temperature (clamped to
2^-125 … 2^125):

1. top-k keeps the tokens whose logit is at least the k-th highest (including all that tie with it);
2. top-p keeps, of these, the smallest set of the form {logit ≥ t} whose share of their probability is at least p;
3. min-p keeps, of these, the tokens at least ``min_p`` times as probable as the most probable one;
4. a remaining token is sampled with probability softmax(x), by inverting the distribution function: one random
   number selects a tile of 1,024 tokens, and a second one the token within it. Both are computed by Philox from only the
   row's seed and step, so the result depends neither on the batch nor on the device.

Inversion needs one random number per row, while Gumbel noise needs one per token, each with ten rounds of multiplications,
which would take longer than reading the logits. Two numbers instead of one give 48 bits, so tokens of probability 1e-10
are sampled with the right frequency.

The log-probability is that of the sampled distribution, after masking and steps 1 to 3; at temperature 0 it is
that of the masked logits at temperature 1. A row with one allowed token has log-probability 0 and reads one logit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch

from stackmask.runtime.kernels.apply import check_masked, has_triton
from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.kernels.gpu.sizes import LISTED, PART, TILE
from stackmask.runtime.kernels.reference import allowed_tokens

COLDEST = (
    2.0**-125
)  # temperatures above 0 count from here to its inverse, so that neither is a denormal number
MOST_CONSTANTS = 64  # numbers that are kept on the device, of those that no graph reads

# type, and what is wanted of numbers that can be looked at
_PARAMETERS: dict[str, tuple[torch.dtype, float, str]] = {
    "temperature": (torch.float32, 1.0, "0 or more, and finite in fp32"),
    "top_k": (torch.int32, 0, "0 (all) or more"),
    "top_p": (torch.float32, 1.0, "more than 0, and at most 1"),
    "min_p": (torch.float32, 0.0, "between 0 and 1"),
    "seeds": (torch.int64, 0, "an integer"),
    "steps": (torch.int64, 0, "an integer"),
}


@dataclass(frozen=True, slots=True)
class SampledTokens:
    """The sampled tokens and their log-probabilities: (rows,) int64 and (rows,) fp32.

    On a GPU, a row without an allowed token has token -1 and log-probability -inf, which ``check`` reports.
    """

    tokens: torch.Tensor
    logprobs: torch.Tensor

    def check(self) -> SampledTokens:
        """Raise BitmaskError if a row has no token; waits for the device."""
        dead = (self.tokens < 0).nonzero().flatten().tolist()
        if dead:
            raise BitmaskError(
                f"bitmask allows no token in row {dead[0]}: 0 tokens are allowed there, must be 1 or more"
            )
        return self


class MaskedSampler:
    """Samples tokens for a batch of at most ``rows`` rows of ``width`` logits; buffers are allocated once.

    If the parameters are tensors on the device, or numbers from an earlier call, a call takes two launches without
    allocation or synchronisation, so a graph can capture it. Its result is in buffers that the next call overwrites, so
    calls on different streams must wait for one another. Memory per row: 144 bytes per tile of 1,024 logits, and 4 KB.
    New numbers need another launch, and lists a synchronous copy to the device; both are refused while a graph is
    captured.
    """

    def __init__(self, rows: int, width: int, device: str | torch.device = "cpu") -> None:
        if rows < 1 or width < 1:
            raise BitmaskError(f"rows is {rows} and width {width}, must be 1 or more")
        self.rows, self.width, self.device = rows, width, torch.device(device)
        tiles = -(-width // TILE)
        parts = TILE // PART
        kinds = {"max": (torch.float32, 1), "sum": (torch.float32, 1), "part": (torch.float32, parts)}
        kinds |= {"best": (torch.int32, 1), "count": (torch.int32, 1), "order": (torch.int32, parts)}
        self._workspace = {
            name: torch.empty(rows, each * tiles, dtype=kind, device=device)
            for name, (kind, each) in kinds.items()
        }
        self._workspace["list"] = torch.empty(rows, LISTED, device=device)
        self._tokens = torch.empty(rows, dtype=torch.int64, device=device)
        self._logprobs = torch.empty(rows, device=device)
        # with the stream that fills them, and an event after it
        self._constants: dict[tuple[str, float], tuple[torch.Tensor, Any, Any]] = {}
        self._captured: dict[tuple[str, float], torch.Tensor] = {}

    def __call__(
        self,
        logits: torch.Tensor,
        bitmask: torch.Tensor,
        *,
        temperature: Any = 1.0,
        top_k: Any = 0,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
        seeds: Any = 0,
        steps: Any = 0,
        vocab_size: int | None = None,
    ) -> SampledTokens:
        """Sample a token for each row; the module docstring defines the distribution.

        Shapes: logits (rows, vocab) and bitmask (rows, ceil(vocab / 32)), as for
            ``apply_token_bitmask_inplace``; neither is changed. Each parameter is a number, or a sequence or
            tensor with one per row. Numbers in a GPU tensor are not checked: a temperature that is not above 0,
            or NaN, selects the highest logit; top_k below 1 and top_p of 1 or more keep all; top_p and min_p
            out of range, or NaN, still keep the highest (min_p of NaN, and top_p of NaN, keep all).
            ``seeds`` and ``steps`` determine the random numbers: use a seed for each request, and its number of
            tokens as ``steps``.
        Cost: on CUDA two launches (see the class); on the CPU, a pass of PyTorch per row.
        Raises: BitmaskError naming the argument and both values. A row without an allowed token raises on the
            CPU; on a GPU this is unknown before the launch, and its token is -1.
        """
        given = {
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
            "seeds": seeds,
            "steps": steps,
        }
        columns = self._check(logits, bitmask, vocab_size)
        rows = len(logits)
        parameters = {name: self._parameter(name, value, rows) for name, value in given.items()}
        if logits.device.type == "cpu":
            return sample_reference(logits, bitmask, columns=columns, **parameters).check()
        if not (logits.is_cuda and has_triton()):
            return sample_reference(logits, bitmask, columns=columns, **parameters)
        return self._launch(logits, bitmask, columns, parameters, may_cut(given))

    def launch_with_table(
        self,
        logits: torch.Tensor,
        rows: torch.Tensor,
        entries: torch.Tensor,
        columns: int,
        given: dict[str, Any],
    ) -> SampledTokens:
        """Sample with masks that are entries of a table on the GPU (``DeviceMaskTable.sample`` checks and calls this).

        ``given`` are the parameters of a call; missing ones have their defaults.
        """
        self._check_room(logits)
        if unknown := given.keys() - _PARAMETERS.keys():
            raise TypeError(f"unexpected parameters: {', '.join(sorted(unknown))}")
        given = {name: given.get(name, default) for name, (_, default, _) in _PARAMETERS.items()}
        parameters = {name: self._parameter(name, value, len(logits)) for name, value in given.items()}
        return self._launch(logits, rows, columns, parameters, may_cut(given), entries)

    def _launch(
        self,
        logits: torch.Tensor,
        masks: torch.Tensor,
        columns: int,
        parameters: dict[str, torch.Tensor],
        cut: bool,
        entries: torch.Tensor | None = None,
    ) -> SampledTokens:
        from stackmask.runtime.kernels.gpu.sample import launch_sample

        rows = len(logits)
        drawn = SampledTokens(self._tokens[:rows], self._logprobs[:rows])
        launch_sample(
            logits,
            masks,
            columns=columns,
            parameters=parameters,
            workspace=self._workspace,
            tokens=drawn.tokens,
            logprobs=drawn.logprobs,
            cut=cut,
            entries=entries,
        )
        return drawn

    def _check(self, logits: torch.Tensor, bitmask: torch.Tensor, vocab_size: int | None) -> int:
        if logits.ndim != 2:
            raise BitmaskError(f"logits has {logits.ndim} dimensions, must have 2: rows and tokens")
        if logits.device != bitmask.device:
            raise BitmaskError(f"logits is on {logits.device}, but bitmask is on {bitmask.device}")
        self._check_room(logits)
        return check_masked(logits, bitmask, vocab_size)

    def _check_room(self, logits: torch.Tensor) -> None:
        if logits.device != self._tokens.device:
            raise BitmaskError(f"logits is on {logits.device}, but the sampler is on {self._tokens.device}")
        if len(logits) > self.rows or logits.shape[1] != self.width:
            raise BitmaskError(
                f"logits is {len(logits)} x {logits.shape[1]}, but the sampler is for {self.rows} x {self.width}"
            )
        if logits.dtype == torch.float64:
            raise BitmaskError("logits has dtype torch.float64, must be float32, float16 or bfloat16")

    def _parameter(self, name: str, value: Any, rows: int) -> torch.Tensor:
        """Return a parameter as a tensor (rows,) on the device; this checks values on the CPU."""
        dtype, _, wanted = _PARAMETERS[name]
        if is_on_device(value):
            if value.shape != (rows,) or value.dtype != dtype or value.device != self._tokens.device:
                raise BitmaskError(
                    f"{name} is {tuple(value.shape)} {value.dtype} on {value.device}, must be ({rows},) {dtype} on "
                    f"{self._tokens.device}"
                )
            if rows > 1 and value.stride(0) != 1:
                raise BitmaskError(f"{name} has stride {value.stride(0)}, must have 1: numbers side by side")
            return value
        numbers = plain_numbers(value)
        many = numbers if isinstance(numbers, list) else [numbers]
        for number in many:
            if not _is_fine(name, number):
                raise BitmaskError(f"{name} has {number!r}, must be {wanted}")
        if not isinstance(numbers, list):
            return self._constant(name, numbers, dtype)[:rows]
        if len(many) != rows:
            raise BitmaskError(f"{name} has {len(many)} values, but logits has {rows} rows")
        self._refuse_capture(f"{name} has a list of {rows} numbers")
        return torch.tensor(many, dtype=dtype, device=self._tokens.device)

    def _constant(self, name: str, number: float, dtype: torch.dtype) -> torch.Tensor:
        """Return a number repeated for each row. Tensors captured in a graph live as long as the sampler."""
        key = (name, number)
        if key in self._captured:
            return self._captured[key]
        stream = torch.cuda.current_stream(self._tokens.device) if self._tokens.is_cuda else None
        if key not in self._constants:
            self._refuse_capture(f"{name} has {number}, which no call had before")
            if len(self._constants) >= MOST_CONSTANTS:
                self._constants.pop(next(iter(self._constants)))
            made = torch.full((self.rows,), number, dtype=dtype, device=self._tokens.device)
            self._constants[key] = (made, stream, None if stream is None else stream.record_event())
        constant, maker, event = self._constants[key]
        if stream is not None:
            if torch.cuda.is_current_stream_capturing():
                self._captured[key] = constant
            elif stream != maker:
                stream.wait_event(event)
                constant.record_stream(stream)
        return constant

    def _refuse_capture(self, what: str) -> None:
        if self._tokens.is_cuda and torch.cuda.is_current_stream_capturing():
            raise BitmaskError(
                f"{what}: while a graph is captured it must be a tensor on {self._tokens.device}, or a number that a "
                "call had before"
            )


def sample_masked(logits: torch.Tensor, bitmask: torch.Tensor, **parameters: Any) -> SampledTokens:
    """Sample a token for each row with a new ``MaskedSampler``, with the same arguments.

    >>> sample_masked(torch.tensor([[0.0, 9.0, 5.0]]), torch.tensor([[0b101]], dtype=torch.int32), temperature=0).tokens
    tensor([2])
    """
    if logits.ndim != 2:
        raise BitmaskError(f"logits has {logits.ndim} dimensions, must have 2: rows and tokens")
    return MaskedSampler(max(1, len(logits)), logits.shape[1], logits.device)(logits, bitmask, **parameters)


def may_cut(parameters: dict[str, Any]) -> bool:
    """Return whether top-k, top-p or min-p may remove tokens; True for tensors on a device."""
    for name in ("top_k", "top_p", "min_p"):
        if is_on_device(parameters[name]):
            return True
        value = plain_numbers(parameters[name])
        values = value if isinstance(value, list) else [value]
        if any(number != _PARAMETERS[name][1] for number in values):
            return True
    return False


def is_on_device(value: Any) -> TypeGuard[torch.Tensor]:
    """Return whether a parameter is a tensor that cannot be read without waiting."""
    return isinstance(value, torch.Tensor) and value.device.type != "cpu"


def plain_numbers(value: Any) -> Any:
    """Return a parameter as a Python number, or a list of them: from tensors, arrays, and NumPy numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if not isinstance(value, Sequence):
        return value
    return [number.item() if hasattr(number, "item") else number for number in value]


def _is_fine(name: str, number: Any) -> bool:
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return False
    if name in ("seeds", "steps"):
        return isinstance(number, int) and -(2**63) <= number < 2**63
    if name == "top_k":
        return isinstance(number, int) and 0 <= number < 2**31
    if name == "temperature":
        return 0 <= number <= torch.finfo(torch.float32).max
    return 0 < number <= 1 if name == "top_p" else 0 <= number <= 1


def sample_reference(
    logits: torch.Tensor,
    bitmask: torch.Tensor,
    *,
    columns: int,
    temperature: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor,
    min_p: torch.Tensor,
    seeds: torch.Tensor,
    steps: torch.Tensor,
) -> SampledTokens:
    """Compute the result of the kernels in PyTorch, row by row, with sums in fp64. All parameters (rows,)."""
    numbers = uniforms(seeds, steps).tolist()
    options = [p.tolist() for p in (temperature, top_k, top_p, min_p)]
    drawn = [
        _sample_row(
            logits[row, :columns].float(), allowed_tokens(bitmask[row], columns), *option, *numbers[row]
        )
        for row, option in enumerate(zip(*options, strict=True))
    ]
    return SampledTokens(
        torch.tensor([token for token, _ in drawn], dtype=torch.int64, device=logits.device),
        torch.tensor([logprob for _, logprob in drawn], dtype=torch.float32, device=logits.device),
    )


def kept_tokens(x: torch.Tensor, temperature: float, top_k: int, top_p: float, min_p: float) -> torch.Tensor:
    """Return the tokens that top-k, top-p and min-p keep; x (tokens,) fp32, -inf if a token is not allowed."""
    keep = x > -torch.inf
    if 0 < top_k < int(keep.sum()):
        keep &= x >= x.topk(top_k).values[-1]
    if top_p < 1.0:
        ordered = x[keep].sort(descending=True).values
        sums = _weights(ordered, ordered[0], temperature).cumsum(0)
        enough = int((sums >= top_p * sums[-1]).nonzero()[0])
        keep &= x >= ordered[enough]
    if min_p > 0.0:
        highest = x.max()
        keep &= (x == highest) | ((x - highest) / temperature >= math.log(min_p))
    return keep


def _weights(x: torch.Tensor, highest: torch.Tensor, temperature: float) -> torch.Tensor:
    weights = ((x - highest).double() / temperature).exp()
    return torch.where(x == -torch.inf, 0.0, torch.where(x == highest, 1.0, weights))


def _sample_row(
    x: torch.Tensor,
    allowed: torch.Tensor,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    first: float,
    second: float,
) -> tuple[int, float]:
    x = torch.where(allowed & ~x.isnan(), x, -torch.inf)
    highest = x.max()
    if highest == -torch.inf:
        return -1, -math.inf
    temperature = min(max(temperature, COLDEST), 1 / COLDEST) if temperature > 0 else 0.0
    if not temperature:
        return int((x == highest).nonzero()[0]), -math.log(float(_weights(x, highest, 1.0).sum()))
    keep = kept_tokens(x, temperature, top_k, top_p, min_p)
    weights = torch.where(keep, _weights(x, highest, temperature), 0.0)
    padded = torch.nn.functional.pad(weights, (0, -len(x) % TILE)).view(-1, TILE)
    sums = padded.sum(1)
    tile = _draw(sums, first * float(sums.sum()))
    # of its own highest: far below the row's, all of a tile's weights would be 0
    part = slice(tile * TILE, (tile + 1) * TILE)
    own = torch.where(keep[part], _weights(x[part], x[part].max(), temperature), 0.0)
    token = tile * TILE + _draw(own, second * float(own.sum()))
    logit = 0.0 if x[token] == highest else float(x[token] - highest) / temperature
    return token, logit - math.log(float(weights.sum()))


def _draw(weights: torch.Tensor, target: float) -> int:
    found = ((weights.cumsum(0) > target) & (weights > 0)).nonzero()
    return int(found[0] if len(found) else (weights > 0).nonzero()[-1])


# -- The random numbers of sampling: Philox 4x32-10, a function of seed and step alone ---------------------
# Source: Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011.


ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFF_FFFF


def philox(counter: list[torch.Tensor], key: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return four words of 32 random bits for each counter of four words and key of two; all int64 tensors."""
    a, b, c, d = counter
    k, m = key
    for _ in range(ROUNDS):
        high_a, low_a = _product(_MULTIPLIERS[0], a)
        high_c, low_c = _product(_MULTIPLIERS[1], c)
        a, b, c, d = high_c ^ b ^ k, low_c, high_a ^ d ^ m, low_a
        k, m = (k + _KEY_STEPS[0]) & _WORD, (m + _KEY_STEPS[1]) & _WORD
    return [a, b, c, d]


def _product(factor: int, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the high and the low word of a product of two words; int64 would overflow if it were taken at once."""
    low = factor * (words & 0xFFFF)
    high = factor * (words >> 16) + (low >> 16)
    return high >> 16, ((high & 0xFFFF) << 16) | (low & 0xFFFF)


def uniforms(seeds: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Return two numbers in [0, 1), of 24 bits each, for every pair of seed and step.

    Shapes: seeds and steps (rows,) int64; the result (rows, 2) fp32.
    """
    seeds, steps = (numbers.to(torch.int64).cpu() for numbers in (seeds, steps))
    nought = torch.zeros_like(steps)
    a, b, _, _ = philox(
        [steps & _WORD, (steps >> 32) & _WORD, nought, nought], [seeds & _WORD, (seeds >> 32) & _WORD]
    )
    return torch.stack([a >> 8, b >> 8], dim=-1).to(torch.float32) * 2.0**-24
