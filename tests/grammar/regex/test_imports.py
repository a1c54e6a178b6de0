"""A pattern waits for what reads it, and for nothing else: the first mask of a process would wait, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

READ = """
import sys
from stackmask import Grammar
Grammar.from_json_schema({schema!r})
print(*sorted(name for name in sys.modules if name.startswith("stackmask.grammar.")))
"""


@pytest.mark.parametrize(
    ("schema", "needed", "spared"),
    [
        (
            {"pattern": "^a+$"},
            "regex.flavours.ecma",
            ("regex.flavours.rust", "regex.flavours.inline", "json_schema.formats"),
        ),
        ({"format": "date"}, "json_schema.formats", ("json_schema.formats.idn", "regex.compile")),
        ({"maxLength": 3}, "json_schema", ("regex", "json_schema.formats")),
    ],
)
def test_schema_imports_what_it_needs(
    schema: dict[str, object], needed: str, spared: tuple[str, ...]
) -> None:
    code = READ.format(schema={"type": "string", **schema})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert f"stackmask.grammar.{needed}" in imported
    assert not imported & {f"stackmask.grammar.{name}" for name in spared}
