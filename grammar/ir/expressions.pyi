"""Stubs of the expression nodes; ``ir`` defines their meaning."""

from collections.abc import Iterator
from typing import TypeAlias, final

from stackmask.grammar.ir import Action, KeySpec, KeyTestKind, Resolver, Span

MAX_HASHED_DEPTH: int

class Expression:
    @property
    def span(self) -> Span | None: ...

@final
class Literal(Expression):
    """These exact bytes."""

    __match_args__ = ("data", "span")
    def __init__(self, data: bytes, span: Span | None = None) -> None: ...
    @property
    def data(self) -> bytes: ...

@final
class CharClass(Expression):
    """Invariant: ranges are inclusive, sorted, disjoint, not adjacent, and contain no surrogates."""

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
    """The concatenation of the items."""

    __match_args__ = ("items", "span")
    def __init__(self, items: tuple[Expr, ...], span: Span | None = None) -> None: ...
    @property
    def items(self) -> tuple[Expr, ...]: ...

@final
class Choice(Expression):
    """The alternatives of the items."""

    __match_args__ = ("items", "span")
    def __init__(self, items: tuple[Expr, ...], span: Span | None = None) -> None: ...
    @property
    def items(self) -> tuple[Expr, ...]: ...

@final
class Repeat(Expression):
    """Invariant: 0 <= min, and min <= max if max is given."""

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
    """The strings in all (regular) items."""

    __match_args__ = ("items", "span")
    def __init__(self, items: tuple[Expr, ...], span: Span | None = None) -> None: ...
    @property
    def items(self) -> tuple[Expr, ...]: ...

@final
class Complement(Expression):
    """Well-formed text that is not in the (regular) item."""

    __match_args__ = ("item", "span")
    def __init__(self, item: Expr, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...

@final
class RuleRef(Expression):
    """The language of the rule; ``nonempty`` excludes the empty string."""

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
    """Invariant: the mask contains all or none of the bytes 0x80–0xFF."""

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
    """The item, after which the semantic state is restored."""

    __match_args__ = ("item", "span")
    def __init__(self, item: Expr, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...

@final
class Keyed(Expression):
    """Invariant: the spec is satisfiable and matches the slots and tests of the item."""

    __match_args__ = ("item", "spec", "span")
    def __init__(self, item: Expr, spec: KeySpec, span: Span | None = None) -> None: ...
    @property
    def item(self) -> Expr: ...
    @property
    def spec(self) -> KeySpec: ...

@final
class Slot(Expression):
    """Invariant: an item of a sequence whose continuation there is not nullable."""

    __match_args__ = ("index", "span")
    def __init__(self, index: int, span: Span | None = None) -> None: ...
    @property
    def index(self) -> int: ...

@final
class KeyTest(Expression):
    """``"close"``: the object may end. ``"continue"``: another key may follow. ``"undeclared"``: a key
    without a slot may follow.

    Invariant: an item of a sequence whose continuation there is not nullable.
    """

    __match_args__ = ("kind", "span")
    def __init__(self, kind: KeyTestKind, span: Span | None = None) -> None: ...
    @property
    def kind(self) -> KeyTestKind: ...

@final
class Dynamic(Expression):
    """The resolver's answer for the current semantic state."""

    __match_args__ = ("resolver", "span")
    def __init__(self, resolver: Resolver = ..., span: Span | None = None) -> None: ...
    @property
    def resolver(self) -> Resolver: ...

@final
class Rule:
    """A name and an expression. Source positions of equal rules are ignored."""

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
    """Return whether the expression only has characters: no reference, token, restriction or state."""

def walk(expr: Expr) -> Iterator[Expr]: ...
