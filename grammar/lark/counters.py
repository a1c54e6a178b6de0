"""Rules that count, of llguidance: `rule::_` has a number of 64 bits, which its uses change and its alternatives ask about.

Each number that a rule is used with makes a rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

BITS: Final = 64
MASK: Final = (1 << BITS) - 1


class BitRange(NamedTuple):
    """The bits from ``low`` up to ``high``, `[low:high]`; `_` are all."""

    low: int
    high: int

    def of(self, number: int) -> int:
        return number >> self.low & (1 << (self.high - self.low)) - 1

    @property
    def ones(self) -> int:
        return (1 << (self.high - self.low)) - 1


class NumberCall(NamedTuple):
    """A function with its arguments: what a number becomes, or what is asked about it."""

    name: str
    arguments: tuple[Argument, ...] = ()


Argument: TypeAlias = int | BitRange | NumberCall
WHOLE: Final = BitRange(0, BITS)
_COMPARED: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
# the kinds of arguments: "b" a bit, "v" a number, "r" a range, "c" a condition
VALUES: Final = {"set_bit": "b", "clear_bit": "b", "bit_and": "v", "bit_or": "v", "incr": "r", "decr": "r"}
CONDITIONS: Final = {
    "true": "",
    "bit_clear": "b",
    "bit_set": "b",
    "is_ones": "r",
    "is_zeros": "r",
    **dict.fromkeys(_COMPARED, "rv"),
    **{f"bit_count_{name}": "rv" for name in _COMPARED},
    "and": "cc",
    "or": "cc",
    "not": "c",
}


def changed(value: int | NumberCall, number: int) -> int:
    """Return the number that a rule is used with, in a rule that has ``number``."""
    if isinstance(value, int):
        return value
    match value:
        case NumberCall("set_bit", (int(bit),)):
            return number | 1 << bit
        case NumberCall("clear_bit", (int(bit),)):
            return number & ~(1 << bit)
        case NumberCall("bit_and", (int(other),)):
            return number & other
        case NumberCall("bit_or", (int(other),)):
            return number | other
        case NumberCall("incr", (BitRange() as bits,)):  # which stays at its ends
            return number + (bits.of(number) != bits.ones) * (1 << bits.low)
        case NumberCall("decr", (BitRange() as bits,)):
            return number - (bits.of(number) != 0) * (1 << bits.low)
    return number


# conditions nest as deep as they are written, which the parser limits
def holds(condition: NumberCall, number: int) -> bool:
    """Return whether a condition holds of a number."""
    match condition:
        case NumberCall("and", (NumberCall() as one, NumberCall() as other)):
            return holds(one, number) and holds(other, number)
        case NumberCall("or", (NumberCall() as one, NumberCall() as other)):
            return holds(one, number) or holds(other, number)
        case NumberCall("not", (NumberCall() as one,)):
            return not holds(one, number)
        case NumberCall("bit_clear" | "bit_set" as name, (int(bit),)):
            return (number >> bit & 1) == (name == "bit_set")
        case NumberCall("is_ones", (BitRange() as bits,)):
            return bits.of(number) == bits.ones
        case NumberCall("is_zeros", (BitRange() as bits,)):
            return bits.of(number) == 0
        case NumberCall(name, (BitRange() as bits, int(wanted))):
            found = bits.of(number)
            return _COMPARED[name[-2:]](found.bit_count() if name.startswith("bit_count_") else found, wanted)
    return True
