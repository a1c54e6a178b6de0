"""The intermediate representation, which every front end produces, and from which the automaton is built.

A :class:`Grammar` is a set of named rules over :class:`Expr`. Expressions are immutable, compare by structure
(ignoring source positions) and denote a language of byte strings in which special tokens may occur as
additional letters:

===================  ===========================================================================
``Literal(data)``    exactly these bytes; ``Literal(b"")`` is the empty string
``CharClass(r)``     one character (well-formed UTF-8) whose code point lies in the ranges
``ByteClass(mask)``  one byte ``b`` with bit ``b`` of the 256-bit ``mask`` set
``Sequence(items)``  one after the other
``Choice(items)``    any of them; ``Choice(())`` is the empty language
``Repeat(x, m, n)``  between m and n times, ``n=None`` for no upper bound
``Intersection``     strings in all of the items (regular items only)
``Complement(x)``    well-formed UTF-8 strings that are not in x (x regular)
``RuleRef(name)``    what the rule means; ``nonempty=True`` leaves out the empty string
``TokenTerminal``    one of these special tokens, never text
``NotFollowedBy``    the empty string, where the next byte is not in the set (the end is fine)
``Capture(x, a)``    what x means; its text is handed to action ``a`` when it ends
``Scope(x)``         what x means; the semantic state afterwards is what it was before
``Dynamic(r)``       what resolver ``r`` answers for the semantic state at this point
``Keyed(x, spec)``   what x means; inside, the keys of one object are kept account of (:class:`KeySpec`)
``Slot(i)``          the empty string, where declared name ``i`` may still come; takes it
``KeyTest(kind)``    the empty string, where the keys so far let the object go on, or end
===================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar
from typing import Literal as _L

from stackmask.grammar.ir.expressions import (
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Complement,
    Dynamic,
    Intersection,
    Keyed,
    KeyTest,
    Literal,
    NotFollowedBy,
    Repeat,
    Rule,
    RuleRef,
    Scope,
    Sequence,
    Slot,
    TokenTerminal,
    children,
    is_pure,
    walk,
)

__all__ = [  # the nodes, which are extension types, are named here
    "ByteClass",
    "Capture",
    "CharClass",
    "Choice",
    "Complement",
    "Dynamic",
    "Intersection",
    "KeyTest",
    "Keyed",
    "Literal",
    "NotFollowedBy",
    "Repeat",
    "Rule",
    "RuleRef",
    "Scope",
    "Sequence",
    "Slot",
    "TokenLimit",
    "TokenTerminal",
    "children",
    "is_pure",
    "walk",
]

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

_T = TypeVar("_T")

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


# These are immutable, and type checkers see to it; a class that is frozen when it runs would take twice as long to
# make.
if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def immutable(cls: type[_T]) -> type[_T]: ...
else:
    immutable = dataclass(slots=True, unsafe_hash=True)


@immutable
class Span:
    """A range of source text: half-open, in characters; ``source`` indexes ``Grammar.sources``."""

    start: int
    end: int
    source: int = 0


class TokenLimit(NamedTuple):
    """An alternative to the action of a plain-text capture: a limit on the text's number of tokens.

    A token counts if it contains a byte of the text. If the last one ends inside a character, further tokens
    may complete it.
    """

    tokens: int


Action: TypeAlias = _L["push", "new", "key"] | Callable[[Hashable, bytes], Hashable | None] | TokenLimit
"""``"push"`` pushes the captured bytes on the stack of texts; so does ``"new"``, which forbids a text that it
has pushed since the last ``"push"``; a callable maps (value, captured bytes) to a
new value, or to None to forbid the return; see :func:`never_forbids`. Callables must be pure, deterministic
and bounded. ``"key"`` reads the captured bytes as a JSON string, whose value must not have been a key of this
object; see :class:`KeySpec`. A :class:`TokenLimit` receives no text, but counts tokens."""

Resolver: TypeAlias = _L["top", "level", "deeper"] | Callable[[Hashable], "Expr"]
"""``"top"`` means exactly the text on top of the stack; ``"level"`` and ``"deeper"`` mean an indentation of the same
width, and a wider one, by Python's rules; a callable maps the value to a regular expression."""


class Owed(NamedTuple):
    """The knowledge of a value about the rest of its text, beyond the grammar: see :class:`KnowsRest`."""

    size: int
    """The approximate number of bytes that the text needs beyond the grammar's requirements."""
    text: str
    """A continuation of the text that meets this need, at least partly; it need not be allowed everywhere."""
    in_name: bool
    """Whether the text of the open capture so far is a part of this continuation."""


class KnowsRest(Protocol):
    """A value, returned by actions, that guides the search for a short completion of the text.

    This is only a hint: the result of the search is always a string of the grammar.
    """

    def __owed__(self, begun: str | None) -> Owed:
        """Return the text that is still required. ``begun``: the text of the innermost open capture; None if
        no capture keeps all of its text.
        """


class HasStandIn(Protocol):
    """A value, returned by actions, with a stand-in that can represent the value for many texts at once.

    In the stand-in, equivalent names are one name, and so are all continuations. If the answer of an action
    or a resolver is not the same for all of them, it raises :class:`Undecided`, and the value itself is used.
    """

    stands_in: bool
    """Whether this is a stand-in, or was created from one."""

    def __stand_in__(self) -> Hashable:
        """Return the stand-in. A value that an action returned for a stand-in may drop more information."""


class Undecided(Exception):
    """Raised by actions and resolvers if the answer depends on information that the stand-in lacks."""


class KeySyntax(NamedTuple):
    """The syntax of object keys, which an engine needs to distinguish the keys of a `key` capture."""

    quote: bytes
    """The byte before and after a key."""
    escape: bytes
    """The byte that begins another spelling of a character."""
    least: int
    """Bytes below this one are always spelled with an escape."""
    spelling: str
    """The syntax of a quoted key: ``"json"`` (RFC 8259, section 7)."""


_Callable = TypeVar("_Callable", bound=Callable[..., Hashable | None])
_Resolver = TypeVar("_Resolver", bound=Callable[..., "Expr"])


def never_forbids(action: _Callable) -> _Callable:
    """Mark an action that never returns None, so that the masks around it can be cached independently of the state.

    Raises: ResolverError, from the step that runs the action, if it returns None.
    """
    action.__dict__["never_forbids"] = True
    return action


def may_forbid_if(test: Callable[[Hashable, bytes], bool]) -> Callable[[_Callable], _Callable]:
    """Mark an action that returns None only if ``test`` of the value and the text so far is true.

    The test must be true if any text that begins with the text so far would be forbidden; it is also called
    with the values and texts of other actions. So the action need not be called for every token that may end
    the capture.
    """

    def mark(action: _Callable) -> _Callable:
        action.__dict__["may_forbid"] = test
        return action

    return mark


def reads_at_most(count: int) -> Callable[[_Callable], _Callable]:
    """Mark an action that needs only the first ``count`` bytes of its text: only these are stored and passed.

    Texts of inner captures are excluded, since their own actions have processed them. Inside a capture that
    keeps all of its text, all bytes are stored for that one, but only the first bytes are passed here. Texts
    of any length with the same beginning then lead to the same state.
    """

    def mark(action: _Callable) -> _Callable:
        action.__dict__["reads_at_most"] = count
        return action

    return mark


def tells_apart(
    of: Callable[[Any], Hashable], test: Callable[[Any, bytes], bool]
) -> Callable[[_Callable], _Callable]:
    """Mark an action for which most texts are equivalent if its value is a stand-in; :data:`ALIKE` replaces
    them.

    ``test`` takes the result of ``of`` for the value, or None if it is undecided, and the text so far; it
    returns whether the text has no continuation among these texts.
    """

    def mark(action: _Callable) -> _Callable:
        action.__dict__["tells_apart"] = of, test
        return action

    return mark


def depends_on(of: Callable[[Any], Hashable]) -> Callable[[Callable[[Any], Expr]], Callable[[Any], Expr]]:
    """Create a resolver from a function of ``of(value)``, called once for values with the same ``of(value)``."""

    def mark(answer: Callable[[Any], Expr]) -> Callable[[Any], Expr]:
        def resolve(value: Any) -> Expr:
            return answer(of(value))

        resolve.__dict__["depends_on"] = of, answer
        return resolve

    return mark


ALIKE: Final = b"\0"
"""The text that represents equivalent texts in an action marked with :func:`tells_apart`."""


def answers_at_most(bound: Expr) -> Callable[[_Resolver], _Resolver]:
    """Mark a resolver whose answers contain only strings that match ``bound``, a regular expression.

    If the value is unknown, only strings of the bound are tried one by one; without a bound, all strings are.
    This pays off for a few words; for names, stepping through the trie is cheaper.
    """

    def mark(resolver: _Resolver) -> _Resolver:
        resolver.__dict__["answers_at_most"] = bound
        return resolver

    return mark


def follows_restrictions(resolver: _Resolver) -> _Resolver:
    """Mark a resolver of a rule that may occur while a follow restriction is pending.

    Strings that begin with a byte forbidden by the restriction are excluded there; the grammar must allow
    another continuation at such a position, such as leading whitespace.
    """
    resolver.__dict__["follows_restrictions"] = True
    return resolver


@immutable
class KeySpec:
    """The constraints on the keys of one object.

    ``slots``: the number of declared names, numbered from 0. Other keys are strings. ``required``: slots that
    must be taken before the object may end. ``ordered``: slots come in ascending order, and undeclared keys
    after them, once all required slots are taken. ``min_count``, ``max_count``: bounds on the number of all
    keys. ``open``: undeclared keys are allowed, and never run out.

    A slot may be taken if it is free and the object can still end afterwards: missing required slots must fit
    into ``max_count``, and if ordered, no required slot may be skipped, nor so many slots that ``min_count``
    cannot be reached. The same holds for undeclared keys. So if the spec is satisfiable
    (:meth:`is_satisfiable`), an object can always continue or end.
    """

    slots: int
    required: frozenset[int] = frozenset()
    ordered: bool = False
    min_count: int = 0
    max_count: int | None = None
    open: bool = False

    def is_satisfiable(self) -> bool:
        """Return whether any set of keys satisfies the spec."""
        most = self.slots if self.max_count is None else self.max_count
        if not self.open:
            most = min(most, self.slots)
        elif self.max_count is None:
            most = max(self.min_count, len(self.required))
        return len(self.required) <= most and self.min_count <= most


KeyTestKind: TypeAlias = _L["close", "continue", "undeclared"]


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

EPSILON = Literal(b"")
NOTHING = Choice(())
ANY_CHAR = CharClass(((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, MAX_CODE_POINT)))
ANY_TEXT = Repeat(ANY_CHAR, 0, None)


@dataclass(frozen=True, slots=True)
class SourceText:
    """One source file of a grammar, with its display name and its text, for diagnostics."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules by name, with a start rule and the initial semantic state.

    ``initial`` is a tuple of bytes (a stack of strings, bottom first) for the built-in ``push``/``top``, or
    any hashable value if actions and resolvers are callables.
    """

    rules: Mapping[str, Rule]
    start: str
    initial: Hashable = ()
    sources: tuple[SourceText, ...] = ()
    as_part: Any = field(default=None, init=False, compare=False, repr=False)
    """Cached data about these rules as a part of others; None until requested."""
