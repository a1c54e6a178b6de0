"""From a schema as Python values to rules by way of what they mean, and schemas that come again."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, NamedTuple

from stackmask.grammar.ir import RuleSet
from stackmask.grammar.json_schema.algebra.algebra import Algebra
from stackmask.grammar.json_schema.document.drafts import Draft
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.document.schema_size import has_own_parts
from stackmask.grammar.json_schema.sets.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.sets.string_sets import TextsTooLarge
from stackmask.grammar.json_schema.write.lowering import Lowering
from stackmask.grammar.json_schema.write.style import Style
from stackmask.grammar.source.work import spend_units

MAX_KNOWN: Final = 256  # schemas that are remembered as a whole
MAX_KNOWN_BYTES: Final = 4096  # of one
MAX_KNOWN_PARTS: Final = 2000
# a unit of work makes one to five bytes of rules, about half of which other grammars share: 4 to 20 MB
MAX_KNOWN_UNITS: Final = 8_000_000  # of all that are remembered
MAX_KNOWN_UNITS_EACH: Final = 500_000


class Asked(NamedTuple):
    """What was asked for beside the schema. ``draft``: where the schema does not say."""

    style: Style
    draft: Draft | None
    formats: str


def read_schema(
    schema: Any,
    asked: Asked,
    resources: Any = None,
    relax: bool = False,
    of_type: bool = False,
    write: Callable[[Lowering], RuleSet] = Lowering.run,
) -> tuple[RuleSet, Report]:
    """Return the rules and the report. Raises: SchemaError and its subclasses."""
    for share in (True, False):
        report = Report()
        algebra = Algebra(
            schema,
            report=report,
            share=share,
            draft=asked.draft,
            resources=resources,
            formats=asked.formats,
            leaves=asked.style.leaves,
            relax=relax,
            of_type=of_type,
        )
        try:
            return _written(algebra, asked, write), report
        except SchemaError:
            if not algebra.literals.repeats:
                raise
            # a part that was worked out once for several places has the place of the first: say the right one
    raise AssertionError("without sharing nothing repeats")


def _written(algebra: Algebra, asked: Asked, write: Callable[[Lowering], RuleSet]) -> RuleSet:
    """Return the rules. Raises: SchemaError and its subclasses."""
    lowering = Lowering(algebra, asked.style)
    root = algebra.registry.root.where
    try:
        return write(lowering)
    except UnicodeEncodeError as error:
        text = error.object.encode(errors="backslashreplace").decode()
        raise UnsupportedSchemaError(root, "", f"a lone surrogate is no character: {text:.80}") from None
    except UnsupportedNumber as error:
        raise UnsupportedSchemaError(root, "multipleOf", str(error)) from None
    except TextsTooLarge as error:
        raise UnsupportedSchemaError(root, "pattern", str(error)) from None
    finally:
        lowering.forget()


# -- schemas that come again -----------------------------------------------------------------------------


class Known(NamedTuple):
    """A schema that was read: its style, which has an address of its own so, its rules, its report, and its work."""

    style: Style
    rules: RuleSet
    report: Report
    units: int


class KnownSchemas:
    """Schemas that were read, by what they say: up to a number of them, and to the work that all of them took.

    The oldest ones are forgotten for new ones. Threads may share it.
    """

    __slots__ = ("_lock", "by_key", "units")

    def __init__(self) -> None:
        self.by_key: dict[tuple[Any, ...], Known] = {}
        self._lock = Lock()
        self.units = 0

    def add(self, key: tuple[Any, ...], known: Known) -> None:
        """Remember a schema, unless it took too much work."""
        if known.units > MAX_KNOWN_UNITS_EACH:
            return
        by_key = self.by_key
        with self._lock:
            old = by_key.pop(key, None)
            self.units += known.units - (0 if old is None else old.units)
            while by_key and (len(by_key) >= MAX_KNOWN or self.units > MAX_KNOWN_UNITS):
                self.units -= by_key.pop(next(iter(by_key))).units
            by_key[key] = known


_KNOWN: Final = KnownSchemas()


def key_of(schema: Any, options: tuple[Any, ...], style: Style) -> tuple[Any, ...] | None:
    """Return what a schema says and what else its grammar depends on; None for one not worth remembering.

    A large one is not, nor one that holds what is no plain JSON. Nor is one in which an object stands twice: the report names the places of equal parts, but that one only once.
    """
    if type(schema) is dict:
        if not has_own_parts(schema, MAX_KNOWN_PARTS, MAX_KNOWN_BYTES):
            return None
    elif type(schema) is not bool:
        return None
    try:
        said = marshal.dumps(schema, 2)
    except ValueError:  # it has a value that JSON does not have
        return None
    return (said, options, id(style)) if len(said) <= MAX_KNOWN_BYTES else None


def recall(key: tuple[Any, ...]) -> tuple[RuleSet, Report] | None:
    """Return the rules and the report of a schema that says the same, if it is remembered. Its work is charged again."""
    known = _KNOWN.by_key.get(key)
    if known is None:
        return None
    spend_units(known.units)
    return known.rules, known.report.copy()


def remember(key: tuple[Any, ...], style: Style, rules: RuleSet, report: Report, units: int) -> None:
    """Remember a schema that was read; the oldest ones are forgotten for it."""
    _KNOWN.add(key, Known(style, rules, report.copy(), units))
