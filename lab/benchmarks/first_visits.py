"""Time masks at places that are seen for the first time, on any grammar, and say what the worst ones were made of.

    python lab/benchmarks/first_visits.py [--only GROUP,…] [--sample N] [--engines stackmask,llguidance] [--write]
    python lab/benchmarks/first_visits.py --only grammars,bundled,sql --engines stackmask --steps [--write]

Every mask along real strings, on a new compiler, with Llama-3's vocabulary and one thread. Groups: *grammars* of the data pack with strings that they
accept; *bundled* grammars along queries of Spider and BIRD, JSON documents, and files below ``--files``; *sql* over
the schemas of these queries' databases, where one compiler meets one new query after the other. Each place counts with the best of three new compilers, the collector frozen, and without
the time that other processes took of it. ``--steps``: also steps of 64 rows at seen places, one of which comes to each of the worst places in turn;
``--write`` then writes results/waiting_rows.json. Peers follow the same strings where they load the same grammar.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from record import cpu_model, use_checkout, write_result

use_checkout()

from engines import ENGINES, Grammars, Refused, versions
from pack import documents, load_tokenizer
from sql import read_rows
from sql_walks import schemas
from support.datapack import datapack

import stackmask as sm

Texts = list[list[int]]
QUERIES = {"Spider": "spider/dev.jsonl", "BIRD": "bird/dev.jsonl.xz"}
MOST = {"grammars": 40, "bundled": 40, "sql": 60}
LONG = 400  # tokens of a text that are followed
ROUNDS = 3
ENOUGH_S = 5.0  # what took longer is not repeated
ROWS = 64
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Item:
    """One grammar with its texts. ``kind`` says what ``source`` is."""

    group: str
    name: str
    kind: str
    source: Any
    texts: Texts


@dataclass
class Found:
    """What came out for the items of one row: µs by place, ms to compile."""

    compile_ms: list[float] = field(default_factory=list)
    masks_us: list[float] = field(default_factory=list)
    items_ms: list[float] = field(default_factory=list)
    refused: int = 0
    errors: list[str] = field(default_factory=list)

    def add(self, compile_ms: float, masks: list[float], refused: int) -> None:
        self.compile_ms.append(compile_ms)
        self.masks_us += masks
        self.items_ms.append(sum(masks) / 1e3)
        self.refused += refused

    def figures(self) -> dict[str, float]:
        masks, compiles, items = sorted(self.masks_us), sorted(self.compile_ms), sorted(self.items_ms)
        if not masks:
            return {"errors": len(self.errors)}
        values = {
            "compile ms": compiles[len(compiles) // 2], "compile worst ms": compiles[-1], "mean us": sum(masks) / len(masks),
            "p50 us": masks[len(masks) // 2], "p99 us": masks[int(0.99 * len(masks))], "worst us": masks[-1],
            "total ms": sum(masks) / 1e3, "item p50 ms": items[len(items) // 2],
        }  # fmt: skip
        rounded = {name: float(f"{value:.4g}") for name, value in values.items()}
        return {**rounded, "masks": len(masks), "refused": self.refused, "errors": len(self.errors)}


# -- what is measured -----------------------------------------------------------------------------------


class Pack:
    """Makes the items from the data pack and from files."""

    def __init__(self, folder: Path, tokenizer: Any, sample: int | None, files: list[Path]) -> None:
        self.folder, self.tokenizer, self.sample, self.files = folder, tokenizer, sample, files

    def items(self, group: str) -> Iterator[Item]:
        yield from getattr(self, group)(min(MOST[group], self.sample or MOST[group]))

    def ids(self, texts: Iterable[str]) -> Texts:
        return [self.tokenizer.encode(text, add_special_tokens=False)[:LONG] for text in texts]

    def queries(self, dialect: str, file: str) -> list[dict[str, Any]]:
        """Return the gold queries of a file that the parser of a dialect takes."""
        rows = read_rows(self.folder, file)
        return [
            r
            for r in rows
            if (r.get("pg") if dialect == "postgres" else r.get("sqlite") in ("ok", "semantic"))
        ]

    def grammars(self, most: int) -> Iterator[Item]:
        base = self.folder / "grammars"
        starts = {
            entry["path"]: entry.get("start")
            for entry in json.loads((base / "INDEX.json").read_text("utf-8"))
        }
        texts: dict[str, list[str]] = {}
        for line in (base / "samples.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            if row["accept"] and row["text"]:
                texts.setdefault(row["grammar"], []).append(row["text"])
        for name, found in sorted(texts.items()):
            yield Item("grammars", name, "file", (str(base / name), starts.get(name)), self.ids(found[:most]))

    def bundled(self, most: int) -> Iterator[Item]:
        for dialect in ("sqlite", "postgres"):
            for title, file in QUERIES.items():
                found = [row["query"] for row in self.queries(dialect, file)[:most]]
                yield Item("bundled", f"{dialect}, {title}", "bundled", dialect, self.ids(found))
        yield Item(
            "bundled",
            "json",
            "bundled",
            "json",
            [d[:LONG] for d in documents(self.folder, self.tokenizer)[:most]],
        )
        for name in ("xml", "lua"):
            found = sorted(
                (p for f in self.files for p in f.rglob(f"*.{name}") if p.is_file()),
                key=lambda p: (p.stat().st_size, p),
            )
            own = [path.read_text("utf-8", errors="strict") for path in found[:most] if _is_text(path)]
            if own:
                yield Item("bundled", name, "bundled", name, self.ids(own))

    def sql(self, most: int) -> Iterator[Item]:
        tables = schemas(self.folder)
        rows = [row for file in QUERIES.values() for row in self.queries("sqlite", file)]
        random.Random(1).shuffle(rows)
        for number, row in enumerate(rows[:most]):
            yield Item(
                "sql",
                f"{row['db_id']}, query {number}",
                "sql",
                tables[row["db_id"]],
                self.ids([row["query"]]),
            )


def _is_text(path: Path) -> bool:
    try:
        return bool(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def grammar_of(item: Item) -> sm.Grammar:
    """Read the grammar of an item as stackmask does."""
    if item.kind == "bundled":
        return sm.Grammar.bundled(item.source)
    if item.kind == "sql":
        return sm.Grammar.from_sql("sqlite", schema=item.source)
    path, start = item.source
    if not path.endswith(".lark"):
        return sm.Grammar.from_file(path, start=start or "root")
    try:
        return sm.Grammar.from_file(path)
    except sm.GrammarError:  # a terminal is declared only: nothing stands there
        text = Path(path).read_text("utf-8")
        return sm.Grammar.from_lark(
            text, on_unsupported="relax", start="start" if "\nstart:" in text else "file_input"
        )


def compile_item(engine: Any, item: Item) -> Any:
    """Compile an item. Raises: Refused where the engine has no way to load the same."""
    if isinstance(engine, ENGINES["stackmask"]):
        return engine.compiler.compile(grammar_of(item))
    if item.kind != "file":
        raise Refused("not of this engine")
    text = Path(item.source[0]).read_text("utf-8")
    if item.source[0].endswith(".lark"):
        return engine.compile_grammar(Grammars("", text, text))
    if engine.__class__ is ENGINES["llguidance"]:
        from llguidance.gbnf_to_lark import any_to_lark

        return engine.compile_grammar(Grammars("", None, any_to_lark(text)))
    return engine.compile_grammar(Grammars("", text, None))


# -- measuring ------------------------------------------------------------------------------------------


def pass_over(engine: Any, compiled: Any, texts: Texts) -> tuple[list[float], int]:
    """Return the µs of every mask along the texts, and how many of them were refused."""
    times, refused = [], 0
    clock, computed = time.perf_counter_ns, time.thread_time_ns
    for ids in texts:
        matcher = engine.matcher(compiled)
        fill, accept = engine.filler(matcher), engine.accepter(matcher)
        for token in (*ids, None):
            before, begin = computed(), clock()
            fill()
            passed = clock() - begin
            times.append(min(passed, computed() - before) / 1e3)
            if token is not None and not accept(token):
                refused += 1
                break
    return times, refused


def measure(
    engine: Any, items: list[Item], rounds: int, shared: bool, show: Any
) -> list[tuple[float, list[float], int] | str]:
    """Return for each item ms to compile, µs by place and how many texts were refused, the best of some rounds; or why not."""
    best: dict[int, tuple[float, list[float], int] | str] = {}
    for _ in range(rounds if shared else 1):
        if shared:
            engine.fresh()
        for number, item in enumerate(items):
            started = time.monotonic()
            for _ in range(1 if shared else rounds):
                if not shared:
                    engine.fresh()
                if isinstance(known := best.get(number), str) or (
                    known and not shared and time.monotonic() - started > ENOUGH_S
                ):
                    break
                begin = time.process_time_ns()
                try:
                    compiled = compile_item(engine, item)
                    took = (time.process_time_ns() - begin) / 1e6
                    times, refused = pass_over(engine, compiled, item.texts)
                except (Refused, sm.StackmaskError) as error:
                    best[number] = f"{item.name}: {type(error).__name__}: {str(error).splitlines()[0][:100]}"
                    break
                if known:
                    took, times = min(took, known[0]), list(map(min, times, known[1]))
                best[number] = took, times, refused
            show(number)
    return [best[number] for number in range(len(items))]


def place_of(texts: Texts, number: int) -> tuple[int, int]:
    """Return the text of a mask, and how many tokens come before it."""
    for k, ids in enumerate(texts):
        if number <= len(ids):
            return k, number
        number -= len(ids) + 1
    raise IndexError(number)


def follow(engine: Any, item: Item, text: int, at: int) -> Any:
    """Return a matcher of stackmask on the way to a place as in the first pass, one mask before it."""
    compiled = compile_item(engine, item)
    for k in range(text + 1):
        matcher = compiled.matcher()
        fill = engine.filler(matcher)
        for token in item.texts[k][: at if k == text else None]:
            fill()
            matcher.accept_token(token)
        if k < text:
            fill()
    return matcher


def explain(engine: Any, item: Item, text: int, at: int) -> dict[str, int]:
    """Return what the first mask at a place took."""
    engine.fresh()
    matcher = follow(engine, item, text, at)
    found = matcher.explain()
    operands = {"operands": len(found["operands"]), "parallel readings": len(found["configuration"])}
    return {**operands, **{name: value for name, value in found["cost"].items() if value}}


# -- a step in which one row is at a worst place ----------------------------------------------------------


def step_times(engine: Any, item: Item, text: int, at: int, units: int) -> dict[str, Any]:
    """Return ms of a step of 63 rows at seen places, and of those with a row at a new place until its mask is there."""
    whole = engine.mask[0].copy()
    follow(engine, item, text, at).fill_next_token_bitmask(whole)
    times: list[float] = []
    for _ in range(ROUNDS):
        engine.compiler = sm.Compiler(engine.vocabulary, limits=sm.Limits(max_fill_work=units))
        late = follow(engine, item, text, at)
        others = [engine.compile_json().matcher() for _ in range(ROWS - 1)]
        mask = sm.StepMask(ROWS, engine.vocabulary.size)
        none: list[None] = [None] * ROWS
        alone = min(_timed(others, none[1:], mask)[0] for _ in range(9))
        took, result = _timed([*others, late], none, mask)
        found = [took]
        while result.waiting:
            took, result = _timed([*others, late], none, mask)
            found.append(took)
        if result.errors:
            raise RuntimeError(result.errors)
        times = list(map(min, times, found)) if times else found
    figures = {
        "alone ms": alone,
        "p50 ms": sorted(times)[len(times) // 2],
        "worst ms": max(times),
        "all ms": sum(times),
    }
    return {
        **{name: float(f"{value:.3g}") for name, value in figures.items()},
        "steps": len(times),
        "same bits": bool((whole == mask.array[ROWS - 1]).all()),
    }


def _timed(matchers: list[Any], tokens: list[None], mask: Any) -> tuple[float, Any]:
    computed, begin = time.thread_time(), time.perf_counter()
    result = sm.step(matchers, tokens, mask)
    return 1e3 * min(time.perf_counter() - begin, time.thread_time() - computed), result


# -- the table --------------------------------------------------------------------------------------------


def progress(group: str, count: int) -> Any:
    """Return a call that shows how far a group is, once a second."""
    shown = [time.monotonic()]

    def show(number: int) -> None:
        if time.monotonic() - shown[0] > 1:
            shown[0] = time.monotonic()
            print(f"{group}: {number + 1} of {count}", file=sys.stderr, flush=True)

    return show


def run_group(
    group: str, items: list[Item], engines: dict[str, Any], rounds: int, worst: list[Any]
) -> dict[str, Any]:
    """Measure a group on all engines, print its rows and return them; note the worst places of stackmask."""
    rows: dict[str, Any] = {}
    for name, engine in engines.items():
        found: dict[str, Found] = {}
        measured = measure(
            engine,
            items,
            rounds,
            group == "sql" and name == "stackmask",
            progress(f"{name}, {group}", len(items)),
        )
        for item, result in zip(items, measured, strict=True):
            row = found.setdefault(item.name if group in ("grammars", "bundled") else group, Found())
            if isinstance(result, str):
                row.errors.append(result)
                continue
            row.add(*result)
            if name == "stackmask":
                worst += [(us, item, place) for place, us in enumerate(result[1])]
        worst.sort(key=lambda entry: -entry[0])
        del worst[100:]
        for label, row in found.items():
            figures = row.figures()
            if row.masks_us or name == "stackmask":
                rows.setdefault(label, {})[name] = figures
                shown = "  ".join(f"{key} {value:g}" for key, value in figures.items())
                print(f"{name:11} {label:30} {shown}", flush=True)
            for error in row.errors[:3] if name == "stackmask" else ():
                print(f"    {error}")
    return rows


def main() -> None:
    """Run all of it, and print or write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(MOST), help="groups")
    parser.add_argument("--names", help="items with these words in their names alone")
    parser.add_argument("--sample", type=int, help="so many items of a group, or texts of a grammar, at most")
    parser.add_argument(
        "--engines", default="stackmask,llguidance", help="peers are left out where they are not installed"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--files", type=Path, action="append", default=[], help="a folder with files of XML and Lua"
    )
    parser.add_argument("--worst", type=int, default=20, help="so many worst places are explained")
    parser.add_argument(
        "--steps", type=int, nargs="?", const=10_000, help="also time steps with slices of so much work"
    )
    parser.add_argument("--write", action="store_true", help="write build/results/first_visits.json")
    options = parser.parse_args()
    folder = datapack()
    if folder is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA")
    tokenizer = load_tokenizer(folder / "tokenizers" / "llama3-128k")
    engines: dict[str, Any] = {}
    for name in options.engines.split(","):
        try:
            engines[name] = ENGINES[name](tokenizer)
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)
    pack = Pack(folder, tokenizer, options.sample, options.files or [Path("/usr/share/xml")])
    words = options.names.split(",") if options.names else [""]
    worst: list[Any] = []
    document: dict[str, Any] = {"rows": {}}
    for group in options.only.split(","):
        items = [item for item in pack.items(group) if any(word in item.name for word in words)]
        gc.collect()
        gc.freeze()
        if items:
            document["rows"] |= run_group(group, items, engines, options.rounds, worst)
    document["worst places"] = []
    ours = engines.get("stackmask")
    for us, item, number in worst[: options.worst] if ours else ():
        place = place_of(item.texts, number)
        row = {
            "group": item.group,
            "name": item.name,
            "us": round(us),
            "after": tokenizer.decode(item.texts[place[0]][: place[1]])[-60:],
        }
        row |= {"made of": explain(ours, item, *place)}
        if options.steps:
            row["step"] = step_times(ours, item, *place, options.steps)
        document["worst places"].append(row)
        print(json.dumps(row, ensure_ascii=False), flush=True)
    print(cpu_model())
    if options.write:
        command = "python lab/benchmarks/first_visits.py " + " ".join(word for word in sys.argv[1:])
        if options.steps:
            document = {"units": options.steps, "worst places": document["worst places"]}
        print(
            write_result(
                "waiting_rows" if options.steps else "first_visits",
                command,
                document,
                **versions([n for n in engines if n != "stackmask"]),
            )
        )


if __name__ == "__main__":
    main()
