"""What goes through the pipes between the command line and the process that asks the database: frames of JSON.

JSON rather than pickle: what comes back is data only, whatever became of the process that wrote it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, BinaryIO, Final

from stackmask.grammar.sql.schema.schema import Column, Schema, Table
from stackmask.runtime.cli.database import Keys, Reference, weight

LENGTH_BYTES: Final = 8
STEP_BYTES: Final = 1 << 20  # a frame of rows is sent when it is so long
LONGEST_CODE: Final = 6  # bytes of JSON for one byte of a text: \u0000


class FrameError(Exception):
    """The pipe ended in the middle of a frame, or holds what no frame is."""


class OversizeError(FrameError):
    """A frame is longer than the reader takes."""


def write_frame(pipe: BinaryIO, message: dict[str, Any]) -> None:
    """Write one message."""
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    pipe.write(len(data).to_bytes(LENGTH_BYTES, "big"))
    pipe.write(data)
    pipe.flush()


def read_frame(pipe: BinaryIO, most: int) -> tuple[dict[str, Any], int] | None:
    """Read one message of at most ``most`` bytes and return it with its size; None where the pipe has ended.

    Raises: FrameError, OversizeError.
    """
    header = pipe.read(LENGTH_BYTES)
    if not header:
        return None
    size = int.from_bytes(header, "big")
    if len(header) == LENGTH_BYTES and size > most:
        raise OversizeError(size)
    data = pipe.read(size) if len(header) == LENGTH_BYTES else b""
    if len(header) < LENGTH_BYTES or len(data) < size:
        raise FrameError("the pipe ended early")
    message = json.loads(data.decode("utf-8", "surrogatepass"))
    if not isinstance(message, dict):
        raise FrameError("a frame is an object")
    return message, size


def packed(value: Any) -> Any:
    """Return a value of a row as JSON has it; what JSON lacks is a list that begins with the name of its type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return ["bytes", base64.b64encode(value).decode("ascii")]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    if isinstance(value, list | tuple):
        return ["list", [packed(item) for item in value]]
    if isinstance(value, dict):
        return ["dict", [[str(key), packed(item)] for key, item in value.items()]]
    return str(value)


def unpacked(value: Any) -> Any:
    """Return the value that ``packed`` was given; other types come back as their text."""
    if not isinstance(value, list):
        return value
    name, content = value
    if name == "bytes":
        return base64.b64decode(content)
    if name == "decimal":
        return Decimal(content)
    if name == "list":
        return [unpacked(item) for item in content]
    return {key: unpacked(item) for key, item in content}


def in_steps(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield packed rows in groups of about ``STEP_BYTES``."""
    group: list[Any] = []
    size = 0
    for row in rows:
        group.append([packed(value) for value in row])
        size += sum(map(weight, row)) + 8
        if size >= STEP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def packed_schema(schema: Schema, keys: Keys) -> dict[str, Any]:
    """Return a schema and its keys as JSON has them."""
    return {
        "dialect": schema.dialect,
        "default_schemas": schema.default_schemas,
        "tables": [
            [t.name, [[c.name, c.type] for c in t.columns], t.schema, t.is_view, t.implicit, t.key]
            for t in schema.tables
        ],
        "primary": [[*key, columns] for key, columns in keys.primary.items()],
        "foreign": [
            [*key, [[r.columns, *r.table] for r in references]] for key, references in keys.foreign.items()
        ],
    }


def unpacked_schema(found: dict[str, Any]) -> tuple[Schema, Keys]:
    """Return what ``packed_schema`` was given."""
    tables = tuple(
        Table(
            name, tuple(Column(*column) for column in columns), schema, is_view, tuple(implicit), tuple(key)
        )
        for name, columns, schema, is_view, implicit, key in found["tables"]
    )
    primary = {(schema, table): tuple(columns) for schema, table, columns in found["primary"]}
    foreign = {
        (schema, table): tuple(
            Reference(tuple(columns), (place, name)) for columns, place, name in references
        )
        for schema, table, references in found["foreign"]
    }
    return Schema(found["dialect"], tables, tuple(found["default_schemas"])), Keys(primary, foreign)
