"""A persistent set of JSON values with cheap insertion.

The set of an array's values is extended after every item, and every earlier version may be needed again. So a
set shares all but a few nodes with its predecessor: a hash array mapped trie (P. Bagwell, Ideal Hash Trees,
2001), whose form depends only on the values, not on their order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Final

_BITS: Final = 5  # of a hash, for each level
_CODE: Final = (1 << 60) - 1
_PREFIXES: Final = (0, 1, 2, 3, 4)  # lengths at which beginnings of strings are noted; then 8, 16, …

_Node = tuple[Any, ...]
"""A bitmap of the used positions, with a node or a leaf for each of them."""

_EMPTY: Final[_Node] = (0,)


class _Leaf:
    """A value and its hash, together with other values of the same hash, if any."""

    __slots__ = ("code", "others", "value")

    def __init__(self, code: int, value: Hashable, others: frozenset[Hashable] = frozenset()) -> None:
        self.code = code
        self.value = value
        self.others = others

    def has(self, value: Hashable) -> bool:
        return value == self.value or value in self.others


def _code(value: Any) -> int:
    """Return a hash of a value whose collisions cannot be constructed. Recursion: 200 levels at most."""
    if isinstance(value, int):
        return hash(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    if isinstance(value, Fraction):
        return hash((_code(value.numerator), _code(value.denominator)))
    if isinstance(value, tuple):
        return hash(tuple(map(_code, value)))
    if isinstance(value, frozenset):
        return hash(frozenset(map(_code, value)))
    return hash(value)


def _find(node: _Node, code: int) -> _Leaf | None:
    shift = 0
    while True:
        bit = 1 << (code >> shift & 31)
        bitmap = node[0]
        if not bitmap & bit:
            return None
        found = node[1 + (bitmap & bit - 1).bit_count()]
        if type(found) is not tuple:
            leaf: _Leaf = found
            return leaf if leaf.code == code else None
        node = found
        shift += _BITS


def _insert(node: _Node, leaf: _Leaf, shift: int) -> _Node:
    """Return the node with a new leaf. Recursion: 12 levels at most."""
    bit = 1 << (leaf.code >> shift & 31)
    bitmap = node[0]
    place = 1 + (bitmap & bit - 1).bit_count()
    if not bitmap & bit:
        return (bitmap | bit, *node[1:place], leaf, *node[place:])
    old = node[place]
    if type(old) is tuple:
        new: Any = _insert(old, leaf, shift + _BITS)
    elif old.code == leaf.code:
        new = _Leaf(leaf.code, old.value, old.others | {leaf.value})
    else:
        new = _insert(_insert(_EMPTY, old, shift + _BITS), leaf, shift + _BITS)
    return (*node[:place], new, *node[place + 1 :])


def _equal(left: Any, right: Any) -> bool:
    """Return whether two nodes or leaves are equal, skipping shared parts. Recursion: 12 levels at most."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if type(left) is tuple:
        return left[0] == right[0] and all(map(_equal, left[1:], right[1:]))
    same: bool = left.code == right.code and {left.value, *left.others} == {right.value, *right.others}
    return same


def _noted_lengths(length: int) -> Iterator[int]:
    yield from (noted for noted in _PREFIXES if noted <= length)
    noted = 2 * _PREFIXES[-1]
    while noted <= length:
        yield noted
        noted *= 2


class UsedValues:
    """An immutable set of values in the form that ``canonical`` returns.

    Equality and hashes depend only on the values. A set is often created only to see where an item may end,
    and never queried: until a query, it is stored as its predecessor and one more value.
    Cost: insertion and queries take time and memory logarithmic in the size.
    """

    __slots__ = ("_before", "_code", "_hash", "_prefixes", "_root", "_size", "_value", "holds_structures")

    def __init__(self) -> None:
        self._root: _Node | None = _EMPTY
        self._prefixes: _Node | None = _EMPTY  # beginnings of the strings, in UTF-8, of some lengths
        self._before: UsedValues | None = None  # until both are made
        self._value: Hashable = None
        self._code = 0
        self._hash = 0
        self._size = 0
        self.holds_structures = False  # arrays or objects are among the values

    def adding(self, value: Hashable) -> UsedValues | None:
        """Return the set with one more value; None if the value is already in the set."""
        code = _code(value) & _CODE
        found = _find(self._made_root(), code)
        if found is not None and found.has(value):
            return None
        made = UsedValues.__new__(UsedValues)
        made._root = None
        made._prefixes = None if isinstance(value, str) else self._prefixes
        made._before = self
        made._value = value
        made._code = code
        made._hash = self._hash ^ hash((code,))
        made._size = self._size + 1
        made.holds_structures = self.holds_structures or (isinstance(value, tuple) and value[0] != "")
        return made

    def may_hold_string(self, prefix: bytes) -> bool:
        """Return whether a string in the set may have this prefix; False only if certainly none has."""
        *_, length = _noted_lengths(len(prefix))
        noted = prefix[:length]
        found = _find(self._made_prefixes(), hash(noted) & _CODE)
        return found is not None and found.has(noted)

    def __contains__(self, value: Hashable) -> bool:
        found = _find(self._made_root(), _code(value) & _CODE)
        return found is not None and found.has(value)

    def __iter__(self) -> Iterator[Hashable]:
        todo: list[Any] = [self._made_root()]
        while todo:
            item = todo.pop()
            if type(item) is tuple:
                todo.extend(item[1:])
            else:
                yield item.value
                yield from item.others

    def __len__(self) -> int:
        return self._size

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, UsedValues):
            return NotImplemented
        if self._hash != other._hash or self._size != other._size:
            return False
        if self._before is not None and self._before is other._before and self._value == other._value:
            return True
        return _equal(self._made_root(), other._made_root())

    def __repr__(self) -> str:
        return f"<UsedValues: {self._size} values>"

    def _made_root(self) -> _Node:
        if self._root is None:
            assert self._before is not None
            root = self._before._root  # it was made when this set was
            assert root is not None
            self._root = _insert(root, _Leaf(self._code, self._value), 0)
            self._let_go()
        return self._root

    def _made_prefixes(self) -> _Node:
        pending: list[UsedValues] = []
        known = self
        while known._prefixes is None:
            pending.append(known)
            assert known._before is not None
            known = known._before
        prefixes = known._prefixes
        for used in reversed(pending):
            prefixes = used._prefixes = _with_beginnings(prefixes, used._value)
            used._let_go()
        return prefixes

    def _let_go(self) -> None:
        if self._root is not None and self._prefixes is not None:
            self._before = self._value = None


def _with_beginnings(prefixes: _Node, value: Hashable) -> _Node:
    if not isinstance(value, str):
        return prefixes
    text = value.encode(errors="surrogatepass")
    for length in _noted_lengths(len(text)):
        code = hash(text[:length]) & _CODE
        found = _find(prefixes, code)
        if found is None or not found.has(text[:length]):
            prefixes = _insert(prefixes, _Leaf(code, text[:length]), 0)
    return prefixes


NONE_USED: Final = UsedValues()
