"""The result of every reader, with the bytes of each id, and the ids that are not text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackmask.pda.errors import VocabularyError


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The id → bytes table of one tokenizer.

    ``names``: from the written form of special and added tokens to ids. ``added_ids``: ids that were added to
    the trained vocabulary, text or special.
    """

    tokens: Sequence[bytes | None]
    special_ids: frozenset[int] = frozenset()
    added_ids: frozenset[int] = frozenset()
    stop_ids: tuple[int, ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    strip_first_space: bool = False

    def with_stops(self, stop_ids: Sequence[int]) -> TokenTable:
        """Add stop tokens after the existing ones."""
        return replace(self, stop_ids=tuple(dict.fromkeys((*self.stop_ids, *stop_ids))))

    def with_special(self, special_ids: Sequence[int]) -> TokenTable:
        """Add special ids."""
        return replace(self, special_ids=self.special_ids.union(special_ids))

    def shortened(self, size: int) -> TokenTable:
        """Drop the ids from ``size`` on, for models whose logits are narrower than their tokenizer.

        Raises: VocabularyError if this would drop text or a stop token.
        """
        for i in range(size, len(self.tokens)):
            if i in self.stop_ids or (self.tokens[i] and i not in self.special_ids | self.added_ids):
                raise VocabularyError(
                    f"size is {size}, but the tokenizer has {len(self.tokens)} ids: id {i} would be lost"
                )
        return replace(
            self,
            tokens=self.tokens[:size],
            special_ids=frozenset(i for i in self.special_ids if i < size),
            added_ids=frozenset(i for i in self.added_ids if i < size),
            names={name: i for name, i in self.names.items() if i < size},
        )
