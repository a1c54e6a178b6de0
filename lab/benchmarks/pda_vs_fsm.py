"""Run the comparison of ``stackmask compare`` on the languages of docs/fsm.md.

    python lab/benchmarks/pda_vs_fsm.py --data PATH_TO_DATA_PACK

Each engine runs in a process of its own; masks are the best of three cold passes and of five warm ones, where those
take less than a second. Masks of the
pushdown engine and of the finite-state machine must be equal bit for bit, or the program fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from record import DATA, use_checkout, write_result

use_checkout()

from stackmask.runtime.cli.comparing import show
from stackmask.runtime.comparison.measuring import Limits
from stackmask.runtime.comparison.result import compare
from stackmask.runtime.comparison.subject import Subject, read_subject
from stackmask.runtime.comparison.tokenizer import load_tokenizer

MEMORY = 512 << 20

PHONE = r"\(\d{3}\) \d{3}-\d{4}"
DATE_TIME = (
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
)
KINDS: tuple[dict[str, Any], ...] = (
    {"type": "string", "maxLength": 64},
    {"type": "integer", "minimum": 0},
    {"enum": ["new", "paid", "sent", "returned"]},
    {"type": "boolean"},
    {"type": "string", "format": "date"},
    {"type": "array", "items": {"type": "string", "maxLength": 32}, "maxItems": 8},
    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{6}$"},
    {"type": ["number", "null"]},
)
VALUES: tuple[Any, ...] = (
    "Ada Lovelace, 12 St James's Square",
    1843,
    "paid",
    True,
    "2025-02-28",
    ["first", "second edition"],
    "AB123456",
    19.99,
)
NAMES = (
    *("customer", "quantity", "state", "gift", "ordered", "tags", "code", "price", "address", "weight"),
    *(
        "payment",
        "insured",
        "shipped",
        "notes",
        "voucher",
        "discount",
        "comment",
        "rank",
        "channel",
        "active",
    ),
)
FIELDS = {
    "type": "object",
    "properties": {name: KINDS[i % len(KINDS)] for i, name in enumerate(NAMES)},
    "required": list(NAMES),
    "additionalProperties": False,
}
TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["name", "children"],
    "additionalProperties": False,
}
JSON_TEXT = '{"name": "Ada", "born": 1815, "works": [{"title": "Notes", "year": 1843, "pages": [1, 2, 3]}], "alive": false}'
TREE_TEXT = (
    '{"name": "root", "children": [{"name": "left", "children": []}, {"name": "right", "children": []}]}'
)
QUERY = (
    "SELECT c.name, COUNT(*) AS orders, SUM(o.total) FROM customers AS c JOIN orders AS o ON o.customer_id = c.id "
    "WHERE o.total > 100 AND c.city IN ('London', 'Paris') GROUP BY c.name ORDER BY orders DESC LIMIT 5"
)
LONG = "It was a bright cold day in April, and the clocks were striking thirteen; few people on the stairs took notice."

# name → what is compared, the text, depths of recursion
LANGUAGES: dict[str, tuple[Subject, str, tuple[int, ...]]] = {
    "phone": (Subject("regex", PHONE), "(415) 555-0132", ()),
    "date-time": (Subject("regex", DATE_TIME), "2025-02-28T23:59:59.5+01:30", ()),
    "bounded text": (Subject("regex", ".{1,256}"), LONG, ()),
    "counted twice": (Subject("regex", "(.{100}){100}"), LONG * 3, ()),
    "20 fields": (
        Subject("schema", json.dumps(FIELDS)),
        json.dumps({name: VALUES[i % len(VALUES)] for i, name in enumerate(NAMES)}),
        (),
    ),
    "tree": (Subject("schema", json.dumps(TREE)), TREE_TEXT, (1, 2, 3)),
    "json": (read_subject("json"), JSON_TEXT, (1, 2, 3, 4, 5)),
    "sql": (read_subject("sql"), QUERY, (1, 2)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--limit", type=float, default=60, help="seconds for an engine and a language")
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if folder.is_dir():
        tokenizer = load_tokenizer(str(folder))
    else:
        print(f"no tokenizer at {folder}: the embedded one instead", file=sys.stderr)
        tokenizer = load_tokenizer(None)
    limits = Limits(MEMORY, seconds=args.limit)
    documents: dict[str, Any] = {}
    versions: dict[str, str] = {}
    equal = True
    for name, (subject, text, depths) in LANGUAGES.items():
        print(f"\n== {name}")
        result = compare(subject, tokenizer, text=text, depths=depths, limits=limits)
        show(result)
        equal = equal and result.is_equal
        document = result.document()
        document["tokenizer"]["name"] = args.tokenizer if folder.is_dir() else "embedded"
        if document["subject"]["origin"]:
            document["subject"] |= {"origin": f"{name}.ebnf", "source": ""}
        versions = document.pop("versions")
        documents[name] = document
    if not equal:
        sys.exit("the masks of the two modes differ")
    for document in documents.values():
        for engine in document["engines"].values():  # times of single masks, which are long lists
            del engine["first_pass_us"], engine["again_us"], engine["details"]
        for key in ("date", "cpu", "python"):
            del document[key]
    if args.write:
        command = f"python lab/benchmarks/pda_vs_fsm.py --tokenizer {args.tokenizer} --write"
        print("written:", write_result("pda_vs_fsm", command, {"languages": documents}, **versions))


if __name__ == "__main__":
    main()
