"""The corpora: what the repository ships, and what the data pack has. Read as data; nothing is asked of an engine here."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from items import Corpus, Item, Source
from made import made_tools, random_grammar, random_schema

Any_ = TypeVar("Any_")
Rows = list[dict[str, Any]]
STYLES = (
    "llama",
    "qwen_3",
    "hermes",
    "pythonic",
    "exaone",
    "qwen_3_5",
    "qwen_3_coder",
    "mimo",
    "glm_4_7",
    "mistral",
)
DIALECTS = ("sqlite", "postgres")
TABLES = {"customers": ["id", "name", "city"], "orders": ["id", "customer_id", "total"]}
HEADER = re.compile(r"^=== (?:accepted|rejected|outside)((?: lines| escaped)*)(?: \(.*\))?\n", re.MULTILINE)


def corpora(source: Source) -> Iterator[Corpus]:
    """Yield all corpora; without the data pack, those of the repository alone."""
    yield from _shipped(source)
    if source.data is not None:
        yield from _of_pack(source, source.data)


def _some(source: Source, items: list[Any_], count: int) -> list[Any_]:
    """Return all, or a sample that is the same each time, in the order of the corpus."""
    count = source.number(count, len(items))
    if len(items) <= count:
        return items
    chosen = set(random.Random(count).sample(range(len(items)), count))
    return [item for i, item in enumerate(items) if i in chosen]


def _rows(path: Path) -> Rows:
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


# --- the repository --------------------------------------------------------------------------------


def _shipped(source: Source) -> Iterator[Corpus]:
    samples = {
        path.stem: _samples(path) for path in sorted((source.repository / "tests/grammars").glob("*.samples"))
    }
    bundled = [
        Item(name, "bundled", name, tuple(_some(source, texts, 25))) for name, texts in samples.items()
    ]
    yield Corpus("bundled grammars", "masks", bundled, ("large", "small"))
    count = source.number(500, 4000)
    rules = [Item(f"seed {seed}", "ebnf", random_grammar(seed)) for seed in range(count)]
    yield Corpus("random grammars", "walks", rules, ("letters",))
    schemas = [
        Item(
            f"seed {seed}", "schema", random_schema(seed), (), {"property_order": ("schema", "any")[seed % 2]}
        )
        for seed in range(source.number(400, 1500))
    ]
    yield Corpus("random schemas", "walks", schemas)
    yield Corpus("tools", "walks", list(_tools(source.number(60, 200))), ("marked",))
    yield Corpus("batches", "batches", [*bundled[:6], *schemas[:12]])
    yield Corpus("mistakes", "mistakes", list(_mistakes(source.repository)), ("letters",))
    ends = [
        *schemas[:40],
        *rules[:40],
        *(Item(f"tables, {d}", "sql", d, (), {"schema": TABLES}) for d in DIALECTS),
    ]
    yield Corpus("completions and budgets, made", "ends", ends, ("small",))


def _samples(path: Path) -> list[str | bytes]:
    text = path.read_text("utf-8")
    headers = list(HEADER.finditer(text))
    found: list[str | bytes] = []
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = text[header.end() : following.start() if following else len(text)].removesuffix("\n")
        for piece in body.split("\n") if "lines" in header[1] else [body]:
            raw = (
                piece.encode().decode("unicode_escape").encode("latin-1") if "escaped" in header[1] else None
            )
            found.append(piece if raw is None else raw)
    return found


def _tools(count: int) -> Iterator[Item]:
    for number in range(count):
        rng = random.Random(f"tools {number}")
        options = {
            "tools": made_tools(rng.choice((1, 3, 8)), number),
            "tool_choice": rng.choice(("auto", "auto", "required")),
            "reasoning": rng.choice(("auto", "off")),
            "parallel": rng.random() < 0.7,
        }
        yield Item(f"turn {number}", "tools", STYLES[number % len(STYLES)], (), options)


def _mistakes(repository: Path) -> Iterator[Item]:
    """Yield the code of each case of ``tests/mistakes``, but for those that run a command or a model."""
    for path in sorted((repository / "tests/mistakes/cases").glob("*.txt")):
        for case in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            title, _, rest = case.partition("\n")
            code = rest.partition("\n--- ")[0]
            if not re.search(r"\bcli\(|\bmodel|tokenizer|torch|Processor|TMP", code):
                yield Item(f"{path.stem}: {title}", "code", code)


# --- the data pack ---------------------------------------------------------------------------------


def _of_pack(source: Source, data: Path) -> Iterator[Corpus]:
    schemas = _rows(data / "maskbench_dev.jsonl.xz")
    for order, count in (("schema", 1500), ("any", 1200)):
        chosen = _some(source, schemas, count)
        items = [_schema_item(row, {"property_order": order}) for row in chosen]
        yield Corpus(f"MaskBench, {order} order", "masks", items)
    yield from _sql(source, data / "sql")
    yield Corpus("regular expressions", "masks", _some(source, list(_regexes(data / "regex")), 1500))
    yield Corpus(
        "grammar files", "masks", list(_grammar_files(source, data / "grammars")), ("large", "small")
    )
    lark = list(_lark_cases(data / "lark/xgrammar_cases_dev.jsonl.xz"))
    yield Corpus("Lark cases", "masks", lark, ("large",))
    tags = list(_tags(data / "structural_tags/cases_dev.jsonl.xz"))
    yield Corpus("structural tags", "masks", tags, ("large", "marked"))
    reports = [_schema_item(row, {"on_unsupported": "relax"}) for row in _some(source, schemas, 1500)]
    yield Corpus("reports of MaskBench", "reports", reports, ("letters",))
    groups = _some(source, _rows(data / "json_schema_test_suite/groups.jsonl.xz"), 1500)
    suite = [Item(f"{r['draft']}/{r['file']}: {r['group']}", "schema", r["schema"]) for r in groups]
    yield Corpus("reports of the test suite", "reports", suite, ("letters",))
    forced = [_schema_item(row, {"profile": "model"}) for row in _some(source, schemas, 600)]
    yield Corpus(
        "jump-forward",
        "forced",
        [*forced, *_tools(18), *_some(source, tags, 50)],
        ("large", "marked"),
    )
    ends = [_schema_item(row, {"property_order": "any"}, 1) for row in _some(source, schemas, 160)]
    yield Corpus("completions and budgets", "ends", ends, ("large", "small"))
    automata = _some(source, list(_regexes(data / "regex")), 300)
    yield Corpus("finite automata", "automata", automata, ("large", "small"))


def _schema_item(row: dict[str, Any], options: dict[str, Any], most: int = 3) -> Item:
    texts = tuple(json.dumps(test["data"], ensure_ascii=False) for test in row["tests"][:most])
    return Item(row["id"], "schema", row["schema"], texts, options)


def _sql(source: Source, folder: Path) -> Iterator[Corpus]:
    gold = [row for file in ("spider/dev.jsonl", "bird/dev.jsonl.xz") for row in _rows(folder / file)]
    written = {
        "sqlite": [r["query"] for r in gold + _rows(folder / "sql-eval/sqlite.jsonl")],
        "postgres": [r["query"] for r in _rows(folder / "sql-eval/postgres.jsonl")]
        + [r["query"] for r in _rows(folder / "postgres/regress_select.jsonl.xz")],
    }
    items = []
    for dialect in DIALECTS:
        queries = _some(source, list(dict.fromkeys(written[dialect])), 240)
        for first in range(0, len(queries), 30):
            part = tuple(queries[first : first + 30])
            items.append(Item(f"{dialect} {first}", "sql" if first % 60 else "bundled", dialect, part))
    yield Corpus("SQL", "masks", items, ("large", "large", "small"))
    tables = {}
    for file in ("spider/dev_schemas.json", "bird/dev_schemas.json"):
        for name, found in json.loads((folder / file).read_text("utf-8")).items():
            listed = found["tables"] if isinstance(found, dict) else found
            tables[name] = {table["name"]: [c["name"] for c in table["columns"]] for table in listed}
    items = []
    for number, name in enumerate(sorted(tables)):
        own = [row["query"] for row in gold if row["db_id"] == name]
        for dialect in DIALECTS if source.full else (DIALECTS[number % 2],):
            queries = tuple(_some(source, own, 4))
            items.append(Item(f"{name}, {dialect}", "sql", dialect, queries, {"schema": tables[name]}))
    items = [item for item in items if item.strings]
    yield Corpus("SQL with a schema", "masks", _some(source, items, 40), ("large", "large", "small"))


def _regexes(folder: Path) -> Iterator[Item]:
    for number, row in enumerate(_rows(folder / "jsonschemabench_patterns.jsonl.xz")):
        strings = (*row["accept"][:4], *row["reject"][:3])
        yield Item(f"pattern {number}", "regex", row["pattern"], strings, {"search": number % 3 > 0})
    for row in _rows(folder / "rust_regex_testdata.jsonl"):
        flags = "i" if row.get("case-insensitive") else ""
        options = {"flavor": "rust", "flags": flags, "search": True}
        yield Item(f"rust {row['file']}/{row['name']}", "regex", row["regex"], (row["haystack"],), options)
    for row in _rows(folder / "json_schema_test_suite_regex.jsonl"):
        texts = tuple(json.dumps(test["data"], ensure_ascii=False) for test in row["tests"])
        yield Item(f"{row['draft']}: {row['description']}", "schema", row["schema"], texts)


def _grammar_files(source: Source, folder: Path) -> Iterator[Item]:
    samples: dict[str, list[str | bytes]] = {}
    for row in _rows(folder / "samples.jsonl"):
        samples.setdefault(row["grammar"], []).append(row["text"])
    for row in json.loads((folder / "INDEX.json").read_text("utf-8")):
        texts = tuple(_some(source, samples.get(row["path"], []), 12))
        yield Item(row["path"], "file", str(folder / row["path"]), texts, {"start": row["start"]})


def _lark_cases(path: Path) -> Iterator[Item]:
    seen = set()
    for number, row in enumerate(_rows(path)):
        written = row["args"]["grammar"]
        text = written if isinstance(written, str) else written.get("args", [None])[0]
        texts = [
            t for key in ("accepted", "rejected") for t in row["args"].get(key, ()) if isinstance(t, str)
        ]
        if isinstance(text, str) and (text, *texts) not in seen:
            seen.add((text, *texts))
            yield Item(f"case {number}", "lark", text, tuple(texts))


def _tags(path: Path) -> Iterator[Item]:
    """Yield each tag with all strings that it has a verdict on."""
    strings: dict[str, list[str | bytes]] = {}
    for case in _rows(path):
        tag = case.get("structural_tag")
        if tag is None:
            schema = case["json_schema"]
            content = {
                "type": "json_schema",
                "json_schema": json.loads(schema) if isinstance(schema, str) else schema,
                "style": case["options"].get("json_format", "json"),
            }
            tag = {"type": "structural_tag", "format": content}
        strings.setdefault(json.dumps(tag), []).append(case["text"])
    for number, (tag, texts) in enumerate(strings.items()):
        yield Item(f"tag {number}", "tag", json.loads(tag), tuple(texts))
