"""Run the comparison of ``stackmask compare`` on the languages of docs/fsm.md, and draw pictures.

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

from record import DATA, RESULTS, use_checkout, write_result

use_checkout()

from stackmask.runtime.cli.comparing import show
from stackmask.runtime.comparison.measuring import Limits
from stackmask.runtime.comparison.result import compare, draw
from stackmask.runtime.comparison.subject import Subject, read_subject
from stackmask.runtime.comparison.tokenizer import load_tokenizer

MEMORY = 512 << 20
IMAGES = Path(__file__).resolve().parents[2] / "build" / "images"

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


def table(documents: dict[str, Any], figure: str) -> list[str]:
    """Return the lines of a Markdown table: a language each row, an engine each column, one figure."""
    names = [n for n in next(iter(documents.values()))["engines"] if "depth" not in n]
    lines = [f"| {FIGURES[figure]} | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for language, document in documents.items():
        cells = [cell(document["engines"][name], figure) for name in names]
        lines.append(f"| {language} | " + " | ".join(cells) + " |")
    return lines


def cell(engine: dict[str, Any], figure: str) -> str:
    """Return one figure of one engine for reading."""
    if engine["refusal"] is not None:
        return "–"
    if figure == "memory_bytes":
        own, growth = engine["memory_bytes"], engine["process_growth_bytes"]
        size = growth if own is None else own
        return "" if size is None else ("≈ " if own is None else "") + f"{size / 1024:,.0f} KiB"
    value = engine[figure]
    if value is None:
        return ""
    if figure.endswith("_ms"):
        return f"{value:,.1f} ms" if value < 1000 else f"{value / 1000:,.1f} s"
    return f"{value:,.1f} µs" if value < 1000 else f"{value / 1000:,.1f} ms"


FIGURES = {
    "compile_ms": "compile",
    "first_mask_us": "first mask",
    "first_pass_mean_us": "mask at first visit, mean",
    "again_mean_us": "mask later, mean",
    "memory_bytes": "memory",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument(
        "--only", default="", help="only these languages, by commas; the others stay as they were"
    )
    parser.add_argument("--limit", type=float, default=60, help="seconds for an engine and a language")
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if folder.is_dir():
        tokenizer = load_tokenizer(str(folder))
    else:
        print(f"no tokenizer at {folder}: the embedded one instead", file=sys.stderr)
        tokenizer = load_tokenizer(None)
    only = [name for name in args.only.split(",") if name]
    limits = Limits(MEMORY, seconds=args.limit)
    documents: dict[str, Any] = {}
    versions: dict[str, str] = {}
    equal = True
    for name, (subject, text, depths) in LANGUAGES.items():
        if only and name not in only:
            continue
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
    from PIL import Image  # matplotlib brings it

    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, document in documents.items():
        file = IMAGES / f"pda-vs-fsm-{name.replace(' ', '-')}.png"
        draw(document, file)
        Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE, colors=48).save(file, optimize=True)
        for engine in document["engines"].values():  # they are in the pictures
            del engine["first_pass_us"], engine["again_us"], engine["details"]
        for key in ("date", "cpu", "python"):
            del document[key]
    if only:
        before = json.loads((RESULTS / "pda_vs_fsm.json").read_text("utf-8"))["languages"]
        documents = {name: documents.get(name) or before[name] for name in LANGUAGES}
    for figure in FIGURES:
        print("\n".join(["", *table(documents, figure)]))
    command = f"python lab/benchmarks/pda_vs_fsm.py --tokenizer {args.tokenizer}"
    print("written:", write_result("pda_vs_fsm", command, {"languages": documents}, **versions))


if __name__ == "__main__":
    main()
