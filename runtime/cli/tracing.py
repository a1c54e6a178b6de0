"""Follow a text token by token, and record the allowed tokens, the forced text, and the enclosing rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stackmask.grammar.rule_paths import RulePaths
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.matching.compiler import CompiledGrammar
    from stackmask.runtime.matching.matcher import Matcher
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary


MAX_TOKENS: Final = 20_000
EXAMPLES: Final = 8  # of allowed tokens
LIKELIEST: Final = 5
MAX_FORCED: Final = 200  # characters that are shown of forced text
MAX_PATH_STEPS: Final = 3_000_000  # of reading for rule paths, about two seconds; then they end


class TraceError(StackmaskError):
    """A text cannot be traced."""


@dataclass(frozen=True, slots=True)
class Likely:
    """A probable next token. ``chance``: its probability without the grammar."""

    text: str
    chance: float
    allowed: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One token, or the end (``token`` is None), and the state before it.

    ``allowed``: the number of allowed tokens; ``some``: some short ones. ``forced``: the forced text.
    ``rules``: the enclosing rules, outermost first. ``mass``: the model's total probability of the allowed
    tokens; ``chance``: the probability of this token. ``refusal``: the reason for its refusal, else empty.
    ``cost``: the result of ``explain``, if requested.
    """

    token: int | None
    text: str
    allowed: int
    some: tuple[str, ...] = ()
    forced: str = ""
    rules: tuple[str, ...] = ()
    likely: tuple[Likely, ...] = ()
    mass: float | None = None
    chance: float | None = None
    refusal: str = ""
    cost: dict[str, Any] | None = field(default=None, hash=False)


class Spelling:
    """The tokens of a vocabulary as printable text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._texts = vocabulary.token_bytes
        self._names = {token: name for name, token in vocabulary.special_names.items()}
        lengths = np.full(vocabulary.size, np.iinfo(np.int32).max, dtype=np.int32)
        _, offsets, ids = vocabulary._token_table()
        lengths[ids] = np.diff(offsets)
        lengths[list(vocabulary.special_ids)] = 0
        self.by_length: npt.NDArray[np.int64] = np.argsort(lengths, kind="stable")

    def of(self, token: int) -> str:
        """Return the text of a token; for a special token, its name."""
        name = self._names.get(token)
        if name is not None:
            return name
        text = self._texts[token] if token < len(self._texts) else None
        return f"token {token}" if not text else text.decode(errors="backslashreplace")


def follow(
    compiled: CompiledGrammar,
    ids: Sequence[int],
    *,
    cost: bool = False,
    likelihood: Likelihood | None = None,
    texts: Sequence[str] | None = None,
) -> Iterator[Step]:
    """Yield a step for each token, and one for the end; a refused token is the last step.

    ``texts``: the displayed tokens. Raises: TraceError for more than 20,000 tokens.
    """
    if len(ids) > MAX_TOKENS:
        raise TraceError(f"the text has {len(ids):,} tokens: at most {MAX_TOKENS:,} are traced")
    vocabulary = compiled.vocabulary
    matcher = compiled.matcher()
    spelling = Spelling(vocabulary)
    paths = RulePaths(compiled.grammar.rules, MAX_PATH_STEPS)
    strip = vocabulary.strip_first_space
    for number, token in enumerate([*ids, None]):
        made_of = matcher.explain() if cost else None  # before the mask is known
        allowed = allowed_tokens(matcher, vocabulary.size)
        found = _before(matcher, allowed, spelling)
        found |= {"rules": paths.path(), "cost": made_of}
        if likelihood is not None:
            found |= likelihood.at(number, allowed, token, spelling)
        if token is None:
            refusal = "" if matcher.is_accepting() else "the text ends too early"
            yield Step(None, "(end)", refusal=refusal, **found)
            return
        text = spelling.of(token) if texts is None else texts[number]
        if not matcher.accept_token(token):
            yield Step(token, text, refusal=matcher.refusal or "refused", **found)
            return
        yield Step(token, text, **found)
        spelled = vocabulary.token_bytes[token] if token < len(vocabulary.token_bytes) else None
        if spelled is not None and strip and not number:
            spelled = spelled.removeprefix(b" ")
        paths.take(token if spelled is None else spelled)


def allowed_tokens(matcher: Matcher, size: int) -> npt.NDArray[np.bool_]:
    """Return for each token whether it may come next."""
    mask = allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    return np.unpackbits(mask.view(np.uint8), bitorder="little")[:size].astype(np.bool_)


def _before(matcher: Matcher, allowed: npt.NDArray[np.bool_], spelling: Spelling) -> dict[str, Any]:
    count = int(allowed.sum())
    order = spelling.by_length
    short = order[np.flatnonzero(allowed[order])[:EXAMPLES]]
    forced, _ = matcher.find_jump_forward_bytes()
    return {
        "allowed": count,
        "some": tuple(spelling.of(int(token)) for token in short),
        "forced": forced.decode(errors="backslashreplace")[:MAX_FORCED],
    }


# -- What a model finds likely along a text: one pass over it, some tokens at a time ---------------------

CHUNK: Final = 32  # positions whose logits are held at once


class Likelihood:
    """The model's probabilities at each position of a text after a prompt.

    Without a prompt or a token that begins texts, the first position has no probabilities.
    Raises: TraceError if the text exceeds the model's context.
    """

    def __init__(self, model: Any, prompt: Sequence[int], ids: Sequence[int]) -> None:
        self._model = model
        self._ids = [*prompt, *ids]
        self._first = len(prompt)  # place of the text
        self._cache: Any = None
        self._read = 0  # tokens that the model has read
        self._rows: Any = None  # probabilities after the last of them
        longest = getattr(model.config, "max_position_embeddings", None)
        if longest is not None and len(self._ids) > longest:
            raise TraceError(
                f"the prompt and the text have {len(self._ids):,} tokens: the model reads {longest:,}; leave --likely out"
            )

    def at(
        self, number: int, allowed: npt.NDArray[np.bool_], token: int | None, spelling: Spelling
    ) -> dict[str, Any]:
        """Return ``likely``, ``mass`` and ``chance`` of a step; steps must be queried in ascending order."""
        place = self._first + number
        if place == 0:
            return {}
        chances = self._chances_after(place - 1)
        values, tokens = chances.topk(min(LIKELIEST, len(chances)))
        width = len(allowed)
        likely = tuple(
            Likely(spelling.of(one), float(value), one < width and bool(allowed[one]))
            for value, one in zip(values.tolist(), tokens.tolist(), strict=True)
        )
        listed = chances.numpy()[:width]
        mass = float(listed[allowed[: len(listed)]].sum())
        return {
            "likely": likely,
            "mass": min(mass, 1.0),
            "chance": None if token is None or token >= len(listed) else float(listed[token]),
        }

    def _chances_after(self, last: int) -> Any:
        """Return the probabilities of the token after a given token of the text."""
        import torch

        from stackmask.runtime.generation.jumping import cache_keyword

        keyword = cache_keyword(self._model)
        while last >= self._read:
            chunk = self._ids[self._read : self._read + CHUNK]
            with torch.inference_mode():
                done = self._model(
                    input_ids=torch.tensor([chunk], device=self._model.device),
                    use_cache=True,
                    **{keyword: self._cache},
                )
            self._cache = getattr(done, keyword)
            self._rows = torch.softmax(done.logits[0].float(), dim=-1).cpu()
            self._read += len(chunk)
        return self._rows[last - self._read]  # counted from the end
