"""The entrance: a schema and options to rules and a report."""

from __future__ import annotations

import gc
from typing import Any

from stackmask.grammar.ir import RuleSet
from stackmask.grammar.json_schema.algebra import Algebra
from stackmask.grammar.json_schema.drafts import BY_NAME
from stackmask.grammar.json_schema.errors import (
    SchemaError,
    UnsupportedSchemaError,
)
from stackmask.grammar.json_schema.loading import is_type, load_schema
from stackmask.grammar.json_schema.lower import Lowering
from stackmask.grammar.json_schema.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.plain_texts import NARROWING as PLAIN
from stackmask.grammar.json_schema.plain_texts import with_plain_texts
from stackmask.grammar.json_schema.python_types import NARROWING
from stackmask.grammar.json_schema.report import Report
from stackmask.grammar.json_schema.texts import TextsTooLarge
from stackmask.grammar.json_schema.whitespace import Whitespace


def schema_rules(
    source: Any,
    *,
    draft: str | None = None,
    resources: Any = None,
    formats: str = "assert",
    whitespace: Any = None,
    property_order: str = "schema",
    on_unsupported: str = "error",
    spelling: str = "any",
) -> tuple[RuleSet, Report]:
    """Return the rules of a schema and the report; the arguments are those of ``Grammar.from_json_schema``.

    Raises: SchemaError and its subclasses.
    """
    if draft is not None and draft not in BY_NAME:
        raise SchemaError("", "draft", f"{draft!r} is none of 4, 6, 7, 2019-09, 2020-12")
    for name, option, known in (
        ("formats", formats, ("assert", "annotate")),
        ("property_order", property_order, ("schema", "any")),
        ("on_unsupported", on_unsupported, ("error", "relax")),
        ("spelling", spelling, ("any", "plain")),
    ):
        if option not in known:
            raise SchemaError("", name, f"{option!r} is none of {', '.join(known)}")
    report = Report()
    blanks = Whitespace.of(whitespace)
    of_type = is_type(source)
    algebra = Algebra(
        load_schema(source),
        draft=None if draft is None else BY_NAME[draft],
        resources=resources,
        assert_formats=formats == "assert",
        relax=on_unsupported == "relax",
        report=report,
        of_type=of_type,
    )
    lowering = Lowering(algebra, blanks, property_order == "any")
    collecting = gc.isenabled()
    gc.disable()  # nothing here is garbage that only it finds, but all that lives would be visited
    try:
        rules = lowering.run()
    except UnicodeEncodeError as error:
        text = error.object.encode(errors="backslashreplace").decode()
        raise UnsupportedSchemaError(
            algebra.registry.root.where, "", f"a lone surrogate is no character: {text:.80}"
        ) from None
    except UnsupportedNumber as error:
        raise UnsupportedSchemaError(algebra.registry.root.where, "multipleOf", str(error)) from None
    except TextsTooLarge as error:
        raise UnsupportedSchemaError(algebra.registry.root.where, "pattern", str(error)) from None
    finally:
        lowering.forget()
        if collecting:
            gc.enable()
    if of_type:
        report.add("narrowed", "", "type", NARROWING)
    if blanks.note:
        report.add("narrowed", "", "", f"whitespace: {blanks.note}")
    if spelling == "plain":
        rules = with_plain_texts(rules)
        report.add("narrowed", "", "", PLAIN)
    return rules, report
