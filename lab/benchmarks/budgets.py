"""Generations from models that never want to stop, under budgets: do all of them end whole, and in time?

    python lab/benchmarks/budgets.py --data PATH_TO_DATA_PACK --seconds 6000 --tables 20000 --rounds 11

Four models (random tokens, one that loves blanks, one that loves digits, one that opens brackets) follow masks under budgets
from the minimum up, over MaskBench's schemas, the bundled grammars, and SQL with scopes and schemas where values and keys are captured. None takes a stop token as
long as anything else is allowed. Each text is judged by what shares no code with the engine: two validators for schemas, the language's own
parser for the bundled grammars, the databases' parsers for SQL. What is counted: texts that did not end, texts over budget, grammars whose start has no completion,
places where a budget was refused, limits that were met, and texts that ended whole but sooner because of one. ``--tables``: so many random context-free cases, over
three to eight tokens, compare the number of tokens with tables that share no code with the engine (``tests/oracle/fewest_tokens.py``).
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import random
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from pack import load_tokenizer, read_lines
from record import DATA, cpu_model, use_checkout, write_result

FAVOURITES = {"random": b"", "blanks": b" \n\t", "digits": b"0123456789", "brackets": b'[{("<'}
EXTRA = (0, 0, 1, 2, 4, 8, 16, 40, 100)
HEAVY = {"type": "object", "required": ["q" * 300]}
SEMANTIC = {
    "unique": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 3,
        "items": {"pattern": "^([a-f]+|z.{300})$"},
    },
    "unique of one letter": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 8,
        "items": {"pattern": "^a*$"},
    },
    "unique objects": {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"required": ["k"]}},
    "counted": {"type": "object", "minProperties": 5, "maxProperties": 7},
    "heavy values": {"type": "object", "properties": {"a": HEAVY}, "additionalProperties": HEAVY},
    "heavy names": {"type": "object", "propertyNames": {"pattern": "^([a-f]+|z.{300})$"}},
}
CITY = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"]}
ANSWER = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
TURNS: dict[str, dict[str, Any]] = {  # thoughts that a model would never end come first
    "turn: an answer": {"response_format": ANSWER},
    "turn: a call": {"tools": [{"name": "weather", "parameters": CITY}], "tool_choice": "required"},
    "turn: either": {"tools": [{"name": "weather", "parameters": CITY}], "response_format": ANSWER},
}
TABLES = {"customers": ["id", "name", "city"], "orders": ["id", "customer_id", "total"]}


def schema_judge(schema: Any) -> Any:
    """Return a function from a text to whether two validators of JSON Schema call it valid; None: they cannot say."""
    from stackmask.runtime.comparison.judges import SchemaJudge, Unjudgeable

    try:
        judge = SchemaJudge(json.dumps(schema))
    except Unjudgeable:
        return lambda text: None
    return lambda text: judge.judge(text).valid


def turn_judge(text: bytes) -> bool:
    """Return whether a turn of Qwen's style is whole: thoughts, then calls or an answer that fit their schemas."""
    from jsonschema import Draft202012Validator as Validator

    thoughts, end, rest = text.decode(errors="replace").partition("</think>")
    if not (end and thoughts.startswith("<think>") and rest.strip()):
        return False
    if "<tool_call>" not in rest:
        return Validator(ANSWER).is_valid(json.loads(rest))
    said, *calls = rest.split("<tool_call>")
    read = [json.loads(call.partition("</tool_call>")[0]) for call in calls]
    fits = all(call["name"] == "weather" and Validator(CITY).is_valid(call["arguments"]) for call in read)
    return fits and not said.strip()


def grammars(data: Path, rng: random.Random, only: str | None = None) -> Any:
    """Yield (kind, grammar, judge): in turns schemas, and the others again and again; or the others of one beginning."""
    from judges import JUDGES

    import stackmask as sm

    schemas = [record["schema"] for record in read_lines(data / "maskbench_dev.jsonl.xz")]
    rng.shuffle(schemas)
    others = [
        (name, sm.Grammar.bundled(name), lambda text, name=name: JUDGES[name](text).accepted)
        for name in ("json", "sql", "xml", "lua", "csv", "regex", "indented", "sqlite")
    ]
    others += [
        (name, sm.Grammar.from_json_schema(schema, property_order="any"), schema_judge(schema))
        for name, schema in SEMANTIC.items()
    ]
    others += [
        (name, sm.tools.grammar("qwen_3", reasoning="on", profile="model", **options), turn_judge)
        for name, options in TURNS.items()
    ]
    for dialect in ("sqlite", "postgres"):
        grammar = sm.Grammar.from_sql(dialect, schema=TABLES)
        others.append((f"scoped {dialect}", grammar, lambda text, name=dialect: JUDGES[name](text).accepted))
    if only:
        yield from itertools.cycle([one for one in others if one[0].startswith(only)])
    for i, schema in enumerate(schemas):
        try:
            grammar = sm.Grammar.from_json_schema(schema, property_order="any" if i % 4 == 0 else "schema")
        except sm.StackmaskError:
            continue
        yield "schema", grammar, schema_judge(schema)
        if i % 5 == 0:
            yield others[i // 5 % len(others)]


class Models:
    """Choose the next token of a mask as each model would."""

    def __init__(self, vocabulary: Any) -> None:
        size = 32 * -(-vocabulary.size // 32)
        firsts = np.full(size, 256, dtype=np.int16)
        for token, text in enumerate(vocabulary.token_bytes):
            if text:
                firsts[token] = text[0]
        self.liked = {name: np.isin(firsts, list(letters)) for name, letters in FAVOURITES.items()}
        self.stops = list(vocabulary.stop_ids)
        self.texts = [text or b"" for text in vocabulary.token_bytes]

    def choose(self, mask: Any, model: str, rng: np.random.Generator) -> int:
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little").astype(bool)
        may_stop = bits[self.stops].any()
        bits[self.stops] = False
        liked = np.flatnonzero(bits & self.liked[model])
        found = liked if len(liked) else np.flatnonzero(bits)
        if not len(found):
            return self.stops[0] if may_stop else -1
        return int(rng.choice(found))


def generate(compiled: Any, models: Models, model: str, extra: int, mask: Any, rng: Any) -> tuple[str, bytes]:
    """Return how one generation ended, and its text."""
    import stackmask as sm
    from stackmask.runtime.matching.budgets import CompletionError

    matcher = compiled.matcher()
    try:
        needed = matcher.needs_at_least()
    except CompletionError:
        return "no completion at the start", b""
    except sm.BudgetError:
        return "a limit was met", b""
    text = b""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always", RuntimeWarning)
        for left in range(needed + extra, 0, -1):
            try:
                matcher.fill_next_token_bitmask(mask, 0, budget=left)
            except CompletionError:
                return "a budget was refused", text
            except sm.BudgetError:
                return "a limit was met", text
            token = models.choose(mask[0], model, rng)
            if token < 0:
                return "an empty mask", text
            if not matcher.accept_token(token):
                return "a token was refused", text
            if matcher.is_terminated():
                return "whole, in time, shorter at a limit" if met else "whole, in time", text
            text += models.texts[token]
    return "over budget", text


def compare_tables(count: int) -> dict[str, int]:
    """Compare numbers of tokens with those of the tables."""
    from oracle.fewest_tokens import fewest_tokens, random_case, written

    import stackmask as sm

    found: collections.Counter[str] = collections.Counter()
    for seed in range(count):
        rng = random.Random(seed)
        rules, tokens = random_case(rng)
        vocabulary = sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)])
        try:
            matcher = (
                sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf(written(rules), start="r0")).matcher()
            )
        except (sm.StackmaskError, KeyError) as error:
            found[f"not compiled: {type(error).__name__}"] += 1
            continue
        text = b""
        for _ in range(rng.randint(0, 5)):
            allowed = [token for token in range(len(tokens)) if matcher.fork().accept_token(token)]
            if not allowed:
                break
            token = rng.choice(allowed)
            matcher.accept_token(token)
            text += tokens[token]
        want, have = fewest_tokens(rules, tokens, text), matcher.needs_at_least() - 1
        assert want is not None
        found["equal" if have == want else "more than needed" if have > want else "too few"] += 1
    return dict(found)


def main() -> None:
    use_checkout()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--tables", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=1, help="generations of each model under each grammar")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the beginning of names of grammars, such as `turn`")
    parser.add_argument("--most", type=int, default=1_000_000, help="generations")
    parser.add_argument("--save", help="write the result under this name, such as `budgets`")
    args = parser.parse_args()
    import stackmask as sm

    tables = compare_tables(args.tables)
    print("tables:", tables, flush=True)
    rng, draws = random.Random(args.seed), np.random.default_rng(args.seed)
    vocabulary = sm.Vocabulary.from_huggingface(
        load_tokenizer(Path(args.data) / "tokenizers" / "llama3-128k")
    )
    compiler = sm.Compiler(vocabulary)
    models = Models(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    ends: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    verdicts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    count = schemas = 0
    begin = time.monotonic()
    for kind, grammar, judge in grammars(Path(args.data), rng, args.only):
        if time.monotonic() - begin > args.seconds or count >= args.most:
            break
        try:
            compiled = compiler.compile(grammar)
        except sm.StackmaskError:
            continue
        schemas += kind == "schema"
        for model in [*FAVOURITES] * args.rounds:
            end, text = generate(compiled, models, model, rng.choice(EXTRA), mask, draws)
            ends[kind][end] += 1
            count += 1
            if not end.startswith("whole"):
                continue
            verdict = {True: "valid", False: "invalid", None: "not judged"}[judge(text)]
            verdicts[kind][verdict] += 1
            if verdict == "invalid":
                print(f"invalid: {kind}, {model}: {text[:1000]!r}", flush=True)
        if schemas % 100 == 0 and kind == "schema":
            print(f"{count} generations, {schemas} schemas, {time.monotonic() - begin:.0f} s", flush=True)
    result = {
        "generations": count,
        "schemas": schemas,
        "tables": tables,
        "ends": {k: dict(v) for k, v in ends.items()},
        "verdicts": {k: dict(v) for k, v in verdicts.items()},
        "cpu": cpu_model(),
    }
    print(count, "generations,", schemas, "schemas")
    for kind, found in sorted(ends.items()):
        print(f"{kind:18}", dict(found), dict(verdicts[kind]))
    command = f"python lab/benchmarks/budgets.py --data PATH_TO_DATA_PACK --seconds {args.seconds} --tables {args.tables} --rounds {args.rounds} --seed {args.seed} --save {args.save}"
    if args.save:
        write_result(args.save, command, result)


if __name__ == "__main__":
    main()
