"""Compare the language of structural tags with verdicts of XGrammar's own tests.

    python lab/benchmarks/structural_tags.py --data PATH_TO_DATA_PACK --write

A case is a tag, a text, and whether the text was accepted. Schemas without a tag are read as the content of one. Printed:
how many verdicts are equal, and every other one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pack import read_lines
from record import DATA, use_checkout, write_result

CASES = "structural_tags/cases_dev.jsonl.xz"


def tag_of(case: dict[str, Any]) -> dict[str, Any]:
    """Return the tag of a case."""
    if "structural_tag" in case:
        tag: dict[str, Any] = case["structural_tag"]
        return tag
    schema = case["json_schema"]
    written = json.loads(schema) if isinstance(schema, str) else schema
    style = case["options"].get("json_format", "json")
    content = {"type": "json_schema", "json_schema": written, "style": style}
    return {"type": "structural_tag", "format": content}


def judge(data: Path) -> dict[str, Any]:
    """Return how many verdicts are equal, and the others."""
    from support.byte_matcher import ByteMatcher

    import stackmask as sm

    cases = read_lines(data / CASES)
    matchers: dict[str, ByteMatcher] = {}
    differences = []
    for case in cases:
        tag = tag_of(case)
        key = json.dumps(tag)
        if key not in matchers:
            matchers[key] = ByteMatcher(sm.Grammar.from_structural_tag(tag))
        if matchers[key].matches(case["text"]) != case["accept"]:
            differences.append({"test": case["test"], "text": case["text"], "accept": case["accept"]})
    return {"verdicts": len(cases), "equal": len(cases) - len(differences), "differences": differences}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    result = judge(arguments.data)
    print(f"{result['equal']} of {result['verdicts']} verdicts are equal")
    for difference in result["differences"]:
        print(json.dumps(difference, ensure_ascii=False))
    if arguments.write:
        write_result(
            "structural_tags", "python lab/benchmarks/structural_tags.py --data PATH --write", result
        )


if __name__ == "__main__":
    main()
