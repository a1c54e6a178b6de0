"""Stubs of the expression nodes, which ``expressions.pyx`` describes and ``ir`` defines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from stackmask.grammar.ir import Action, Expr, KeySpec, KeyTestKind, Resolver, Span

MAX_HASHED_DEPTH: int

class Expression:
    @property
    def span(self) -> Span | None: ...

@final
@dataclass(frozen=True)
class Literal(Expression):
    data: bytes
    span: Span | None = None

@final
@dataclass(frozen=True)
class CharClass(Expression):
    ranges: tuple[tuple[int, int], ...]
    span: Span | None = None

@final
@dataclass(frozen=True)
class ByteClass(Expression):
    mask: int
    span: Span | None = None

@final
@dataclass(frozen=True)
class Sequence(Expression):
    items: tuple[Expr, ...]
    span: Span | None = None

@final
@dataclass(frozen=True)
class Choice(Expression):
    items: tuple[Expr, ...]
    span: Span | None = None

@final
@dataclass(frozen=True)
class Repeat(Expression):
    item: Expr
    min: int
    max: int | None
    span: Span | None = None

@final
@dataclass(frozen=True)
class Intersection(Expression):
    items: tuple[Expr, ...]
    span: Span | None = None

@final
@dataclass(frozen=True)
class Complement(Expression):
    item: Expr
    span: Span | None = None

@final
@dataclass(frozen=True)
class RuleRef(Expression):
    name: str
    nonempty: bool = ...
    span: Span | None = None

@final
@dataclass(frozen=True)
class TokenTerminal(Expression):
    names: tuple[str, ...] = ...
    id_ranges: tuple[tuple[int, int], ...] = ...
    negated: bool = ...
    span: Span | None = None

@final
@dataclass(frozen=True)
class NotFollowedBy(Expression):
    mask: int
    span: Span | None = None

@final
@dataclass(frozen=True)
class Capture(Expression):
    item: Expr
    action: Action = ...
    span: Span | None = None

@final
@dataclass(frozen=True)
class Scope(Expression):
    item: Expr
    span: Span | None = None

@final
@dataclass(frozen=True)
class Keyed(Expression):
    item: Expr
    spec: KeySpec
    span: Span | None = None

@final
@dataclass(frozen=True)
class Slot(Expression):
    index: int
    span: Span | None = None

@final
@dataclass(frozen=True)
class KeyTest(Expression):
    kind: KeyTestKind
    span: Span | None = None

@final
@dataclass(frozen=True)
class Dynamic(Expression):
    resolver: Resolver = ...
    span: Span | None = None

@final
@dataclass(frozen=True)
class Rule:
    name: str
    body: Expr
    span: Span | None = None

def children(expr: Expr) -> tuple[Expr, ...]: ...
def is_pure(expression: Expr) -> bool: ...
def walk(expr: Expr) -> Iterator[Expr]: ...
