"""Show rows: as a table for people, as CSV or JSON for programs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from rich.table import Table
from rich.text import Text

from stackmask.grammar.source.visible import visible, visible_in_json
from stackmask.runtime.cli.console import cell, output
from stackmask.runtime.cli.database import Rows

LONGEST_CELL: Final = 1_000  # characters shown of one value in the table for people
LONGEST_NAME: Final = 200
LONGEST_INTEGER: Final = 4_000  # digits; Python writes and reads no longer integers without being told to

Format = Literal["table", "csv", "json"]


def show_rows(rows: Rows, form: Format) -> None:
    """Write rows to standard output. No form sends control characters: JSON has escapes, the others show them."""
    if form == "table":
        output().print(make_table(rows))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([visible(name) for name in rows.columns])
        writer.writerows(
            ["" if value is None else visible(text_of(value)) for value in row] for row in rows.rows
        )
    else:
        names = unique_names(rows.columns)
        found = [dict(zip(names, map(json_value, row), strict=True)) for row in rows.rows]
        sys.stdout.write(visible_in_json(json.dumps(found, ensure_ascii=False, indent=2)) + "\n")
    sys.stdout.flush()


def make_table(rows: Rows) -> Table:
    """Lay out the rows; numbers to the right, NULL set apart from the text "NULL"."""
    table = Table()
    for i, name in enumerate(rows.columns):
        values = [row[i] for row in rows.rows if row[i] is not None]
        numbers = bool(values) and all(isinstance(value, int | float | Decimal) for value in values)
        table.add_column(
            cell(shortened(name, LONGEST_NAME)), justify="right" if numbers else "left", overflow="fold"
        )
    for row in rows.rows:
        table.add_row(
            *(
                Text("NULL", style="dim") if value is None else cell(shortened(text_of(value), LONGEST_CELL))
                for value in row
            )
        )
    return table


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text that is longer than ``most``, and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def text_of(value: Any) -> str:
    """Return a value as text; bytes in hexadecimal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: numbers where they are exact, else text; bytes in hexadecimal."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > LONGEST_INTEGER:
            return str(value)
        if value == value.to_integral_value():
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    return text_of(value)


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names for the keys of an object: the second ``n`` is ``n_2``."""
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        wanted = name
        while wanted in found:
            numbers[name] = numbers.get(name, 1) + 1
            wanted = f"{name}_{numbers[name]}"
        found[wanted] = None
    return list(found)
