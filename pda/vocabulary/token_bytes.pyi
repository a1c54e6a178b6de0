from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, final, overload

@final
class TokenBytes(Sequence[bytes | None]):
    """The bytes of each token id; None for ids that are not text. An immutable sequence.

    ``block``: ``count + 1`` offsets (uint32), one bit per id for "not text" (padded to words), the bytes,
    in the byte order of the machine. The sequence keeps the block alive and reads from it.

    Raises: VocabularyError if the block is none of ``count`` tokens.
    Cost: one pass over the offsets.
    """

    def __new__(cls, block: Any, count: int) -> TokenBytes: ...
    @property
    def longest(self) -> int:
        """The length of the longest token in bytes."""

    @property
    def present(self) -> int:
        """The number of ids that are text."""

    @property
    def spelled(self) -> int:
        """The number of ids whose text has at least one byte."""

    @property
    def block(self) -> memoryview:
        """The memory, read-only; ``TokenBytes(block, count)`` is an equal sequence."""

    @property
    def nbytes(self) -> int:
        """The size of the block."""

    def __len__(self) -> int:
        """Return the number of ids."""

    @overload
    def __getitem__(self, index: int) -> bytes | None:
        """Return the bytes of an id, or None."""

    @overload
    def __getitem__(self, index: slice) -> list[bytes | None]:
        """Return the bytes of a slice of ids."""

    def __iter__(self) -> Iterator[bytes | None]:
        """Go through the ids in order."""

    def index(self, value: Any, first: int = 0, last: int | None = None) -> int:
        """Return the first id with these bytes, or with None.

        Raises: ValueError if there is none.
        """

    def count(self, value: Any) -> int:
        """Return how many ids have these bytes, or are not text."""

    def overlay(self, changes: Mapping[int, bytes | None]) -> TokenBytes:
        """Return the sequence with other bytes (or None) for some ids, longer if an id is beyond its end.

        Cost: one copy, or nothing when nothing changes.
        """

    def same_texts(self, other: TokenBytes) -> bool:
        """Tell whether every id has the same bytes in both; ids at the end that are not text are ignored."""

    def digest_input(self, without_text: bytearray) -> bytes:
        """Return the input of a vocabulary's digest: id, length and bytes of each token, by ascending id.

        ``without_text``: one byte per id. Where it is not zero, the length is written as ffffffff, and no
        bytes follow.
        """

    def single_bytes(self) -> int:
        """Return the bytes that are tokens of their own, as an integer with one bit per byte."""

@final
class TokenBytesBuilder:
    """Take the tokens of a vocabulary by ascending id."""

    def __new__(cls) -> TokenBytesBuilder: ...
    def extend(self, tokens: Iterable[bytes | None]) -> None:
        """Add tokens: bytes, or None for ids that are not text.

        Raises: TypeError on anything else.
        """

    def copy_from(self, source: TokenBytes, first: int, last: int) -> None:
        """Add the ids from ``first`` to before ``last`` of another sequence."""

    def __len__(self) -> int:
        """Return the number of tokens so far."""

    def finish(self) -> TokenBytes:
        """Return the sequence of the tokens added."""

def pack(tokens: Iterable[bytes | None]) -> TokenBytes:
    """Return the sequence of the given tokens, by id: bytes, or None.

    Raises: TypeError if one is neither; VocabularyError if they are too many, or too long together.
    """
