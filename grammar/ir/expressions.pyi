"""Stubs of the nodes of expressions; ``ir`` says what they mean."""

from collections.abc import Iterator
from typing import TypeAlias, final

from stackmask.grammar.ir import Action, KeySpec, KeyTestKind, Resolver, Span

MAX_HASHED_DEPTH: int

class Expression:
    @property
    def span(self) -> Span | None: ...

@final
class Literal(Expression):
    """Exactly these bytes."""

    __match_args__ = ("data", "span")
    def __init__(self, data: bytes, span: Span | None = None) -> None: ...
    @property
    def data(self) -> bytes: ...

@final
class CharClass(Expression):
    """Invariant: ranges are inclusive, sorted, disjoint, not adjacent, and hold no surrogates."""

    __match_args__ = ("ranges", "span")
    def __init__(self, ranges: tuple[tuple[int, int], ...], span: Span | None = None) -> None: ...
    @property
    def ranges(self) -> tuple[tuple[int, int], ...]: ...

@final
class ByteClass(Expression):
    """One byte with its bit set in the 256-bit mask."""

    __match_args__ = ("mask", "span")
    def __init__(self, mask: int, span: Span | None = None) -> None: ...
    @property
    def mask(self) -> int: ...

@final
class Sequence(Expression):
    """One item after the other."""

    __match_args__ = ("items", "span")
    def __init__(self, items: tuple[Expr, ...], span: Span | None = None) -> None: ...
    @property
    def items(self) -> tuple[Expr, ...]: ...

@final
class Choice(Expression):
    """Any of the items."""

    __match_args__ = ("items", "span")
    def __init__(self, items: tuple[Expr, ...], span: Span | None = None) -> None: ...
    @property
    def items(self) -> tuple[Expr, ...]: ...

@final
class Repeat(Expression):
    """Invariant: 0 <= min, and min <= max where max is given."""

    __match_args__ = ("item", "min", "max", "span")
    def __init__(self, item: Expr, min: int, max: int | None, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...
    @property
    def min(self) -> int: ...
    @property
    def max(self) -> int | None: ...

@final
class Intersection(Expression):
    """What all (regular) items hold."""

    __match_args__ = ("items", "span")
    def __init__(self, items: tuple[Expr, ...], span: Span | None = None) -> None: ...
    @property
    def items(self) -> tuple[Expr, ...]: ...

@final
class Complement(Expression):
    """Well-formed text that the (regular) item does not hold."""

    __match_args__ = ("item", "span")
    def __init__(self, item: Expr, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...

@final
class RuleRef(Expression):
    """What the rule means; ``nonempty`` leaves out the empty string."""

    __match_args__ = ("name", "nonempty", "span")
    def __init__(self, name: str, nonempty: bool = ..., span: Span | None = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def nonempty(self) -> bool: ...

@final
class TokenTerminal(Expression):
    """Special tokens by name (``<|tool|>``) or by id range; resolved against a vocabulary at compile."""

    __match_args__ = ("names", "id_ranges", "negated", "span")
    def __init__(
        self,
        names: tuple[str, ...] = ...,
        id_ranges: tuple[tuple[int, int], ...] = ...,
        negated: bool = ...,
        span: Span | None = None,
    ) -> None: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def id_ranges(self) -> tuple[tuple[int, int], ...]: ...
    @property
    def negated(self) -> bool: ...

@final
class NotFollowedBy(Expression):
    """Invariant: of the bytes 0x80–0xFF the mask holds all or none."""

    __match_args__ = ("mask", "span")
    def __init__(self, mask: int, span: Span | None = None) -> None: ...
    @property
    def mask(self) -> int: ...

@final
class Capture(Expression):
    """Invariant: item is not nullable."""

    __match_args__ = ("item", "action", "span")
    def __init__(self, item: Expr, action: Action = ..., span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...
    @property
    def action(self) -> Action: ...

@final
class Scope(Expression):
    """What the item means; the semantic state afterwards is what it was before."""

    __match_args__ = ("item", "span")
    def __init__(self, item: Expr, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...

@final
class Keyed(Expression):
    """Invariant: a satisfiable spec that the slots and tests of the item fit."""

    __match_args__ = ("item", "spec", "span")
    def __init__(self, item: Expr, spec: KeySpec, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...
    @property
    def spec(self) -> KeySpec: ...

@final
class Slot(Expression):
    """Invariant: an item of a sequence, and what follows in the sequence is not nullable."""

    __match_args__ = ("index", "span")
    def __init__(self, index: int, span: Span | None = None) -> None: ...
    @property
    def index(self) -> int: ...

@final
class KeyTest(Expression):
    """``"close"``: the object may end. ``"continue"``: another key may. ``"undeclared"``: one with no slot.

    Invariant: an item of a sequence, and what follows in the sequence is not nullable.
    """

    __match_args__ = ("kind", "span")
    def __init__(self, kind: KeyTestKind, span: Span | None = None) -> None: ...
    @property
    def kind(self) -> KeyTestKind: ...

@final
class Dynamic(Expression):
    """What the resolver answers for the semantic state at this point."""

    __match_args__ = ("resolver", "span")
    def __init__(self, resolver: Resolver = ..., span: Span | None = None) -> None: ...
    @property
    def resolver(self) -> Resolver: ...

@final
class Rule:
    """A name and what it means. Where equal rules come from does not count."""

    __match_args__ = ("name", "body", "span")
    def __init__(self, name: str, body: Expr, span: Span | None = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def body(self) -> Expr: ...
    @property
    def span(self) -> Span | None: ...

Expr: TypeAlias = (
    Literal
    | CharClass
    | ByteClass
    | Sequence
    | Choice
    | Repeat
    | Intersection
    | Complement
    | RuleRef
    | TokenTerminal
    | NotFollowedBy
    | Capture
    | Scope
    | Keyed
    | Slot
    | KeyTest
    | Dynamic
)

def children(expr: Expr) -> tuple[Expr, ...]: ...
def is_pure(expression: Expr) -> bool:
    """Return whether it holds characters alone: no reference, token, restriction or semantic state."""

def walk(expr: Expr) -> Iterator[Expr]: ...
