"""The official JSON Schema test suite: no wrong verdict, and the table of docs/json-schema.md is what comes out."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.datapack import datapack, needs_datapack
from support.json_schema_engine import COMPILER

import stackmask as sm

PAGE = Path(__file__).parents[3] / "docs" / "json-schema.md"
DRAFTS = {f"draft{name}": name for name in ("4", "6", "7", "2019-09", "2020-12")}


def verdicts(group: dict[str, Any], remotes: dict[str, Any], **options: Any) -> list[str]:
    """Return for each test of a group: right, refused, or what was wrong."""
    try:
        grammar = sm.Grammar.from_json_schema(
            group["schema"],
            draft=DRAFTS[group["draft"]],
            resources=remotes,
            property_order="any",
            **options,
        )
    except sm.UnsatisfiableSchemaError:
        return ["wrong: refused valid" if test["valid"] else "right" for test in group["tests"]]
    except sm.UnsupportedSchemaError:
        return ["refused"] * len(group["tests"])
    compiled = COMPILER.compile(grammar)
    found = []
    for test in group["tests"]:
        matcher = compiled.matcher()
        text = json.dumps(test["data"], ensure_ascii=False).encode()
        accepted = matcher.accept_string(text) and matcher.is_accepting()
        if accepted == test["valid"]:
            found.append("right")
        else:
            found.append("wrong: accepted" if accepted else "wrong: rejected")
    return found


@cache
def suite() -> tuple[Counter[tuple[str, str, str]], list[str], Counter[tuple[str, str]]]:
    """Return the counts of verdicts per kind and file, the wrong ones that must not be, and the counts per draft."""
    folder = datapack()
    assert folder is not None
    folder = folder / "json_schema_test_suite"
    remotes = json.loads((folder / "remotes.json").read_text(encoding="utf-8"))
    counts: Counter[tuple[str, str, str]] = Counter()
    drafts: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    with lzma.open(folder / "groups.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            group = json.loads(line)
            kind, file, draft = group["kind"], group["file"].removesuffix(".json"), group["draft"]
            # in the required tests `format` is an annotation, as the newer drafts have it
            options = {"formats": "annotate" if kind == "required" else "assert"}
            for test, verdict in zip(group["tests"], verdicts(group, remotes, **options), strict=True):
                counts[kind, file, verdict.split(":")[0]] += 1
                drafts[draft.removeprefix("draft"), verdict] += 1
                # whether the text of a string is JSON or base64 may be checked or not: here it is not
                unseen = verdict == "wrong: accepted" and file != "optional/content"
                if unseen or (kind == "required" and verdict.startswith("wrong")):
                    wrong.append(f"{draft} {file}: {group['group']}: {test['description']}: {verdict}")
    return counts, wrong, drafts


def required() -> Counter[tuple[str, str]]:
    """Return the counts of verdicts per file of required tests."""
    return Counter(
        {(file, verdict): n for (kind, file, verdict), n in suite()[0].items() if kind == "required"}
    )


@needs_datapack
def test_no_verdict_is_wrong() -> None:
    assert not suite()[1]
    counts = required()
    right = sum(n for (_, verdict), n in counts.items() if verdict == "right")
    assert right >= 0.97 * sum(counts.values())


@needs_datapack
def test_every_draft_is_right_almost_everywhere() -> None:
    """Required and optional tests and those of formats, together."""
    drafts = suite()[2]
    for draft in {draft for draft, _ in drafts}:
        total = sum(n for (name, _), n in drafts.items() if name == draft)
        assert drafts[draft, "right"] >= 0.985 * total, draft


@needs_datapack
def test_the_table_of_keywords(update_goldens: bool) -> None:
    counts, drafts = required(), suite()[2]
    rows = ["| tests | correct | refused |", "|---|---|---|"]
    for file in sorted({file for file, _ in counts}, key=str.lower):
        rows.append(f"| `{file}` | {counts[file, 'right']} | {counts[file, 'refused'] or ''} |")
    rows += ["", "With the optional tests and those of formats:", ""]
    rows += [
        "| draft | correct | refused | content not checked | valid but rejected |",
        "|---|--:|--:|--:|--:|",
    ]
    for draft in DRAFTS.values():
        total = sum(n for (name, _), n in drafts.items() if name == draft)
        right, *others = (
            drafts[draft, word] for word in ("right", "refused", "wrong: accepted", "wrong: rejected")
        )
        rows.append(
            f"| {draft} | {right} of {total}, {100 * right / total:.2f}% | {' | '.join(map(str, others))} |"
        )
    table = "\n".join(rows)
    page = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(r"(?<=--update-goldens -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
    assert pattern.search(page)
    if update_goldens:
        PAGE.write_text(pattern.sub(lambda _: f"\n{table}\n\n", page), encoding="utf-8")
    else:
        found = pattern.search(page)
        assert found is not None
        assert found[0].strip() == table, "run this test with --update-goldens"


@pytest.mark.parametrize(
    ("schema", "accepted", "rejected"),
    [
        (
            {"properties": {"a": {"const": 1}}},
            ['{"a": 1.0}', "[]"],
            ['{"\\u0061": 2}', '{"a": 1, "\\u0061": 1}'],
        ),
        ({"type": "integer"}, ["1", "1.0", "1e9"], ["1.5", '"1"']),
        ({"enum": [[1, {"a": None}]]}, ['[1.0, {"a": null}]'], ["[1]", '[1, {"a": null, "b": 1}]']),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
            ['{"a": 1}', '{"c": 0, "b": 1}'],
            ["{}", '{"a": 1, "b": 1}'],
        ),
    ],
)
def test_values(schema: Any, accepted: list[str], rejected: list[str]) -> None:
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, property_order="any"))
    for text in accepted + rejected:
        matcher = compiled.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == (text in accepted), text
