"""Audit this engine and its peers over a seeded sample of MaskBench, and write the figures.

    python lab/benchmarks/audit.py --data PATH_TO_DATA_PACK --sample 1000 --budget 900 --out FOLDER [--write]
    python lab/benchmarks/audit.py --data PATH_TO_DATA_PACK --suite --engines stackmask --out FOLDER2   # the official suite

The same command goes on with an audit that its budget ended. ``FOLDER/report.html`` shows the strings. Needs the extras
``bench`` and ``audit``.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import DATA, use_checkout, write_result

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
}


def suite_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the groups of the official JSON Schema test suite as records of cases, each with its draft."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            group = json.loads(line)
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema and group["draft"] in DRAFTS:
                schema = {"$schema": DRAFTS[group["draft"]], **schema}
            name = f"{group['draft']}/{group['file']} {number}: {group['group']}"
            yield {"id": name, "schema": schema, "tests": group["tests"]}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--engines", default="stackmask,xgrammar,llguidance")
    parser.add_argument("--tokenizer", help="the name of one in the data pack; by default the embedded one")
    parser.add_argument("--sample", type=int, default=1000, help="0: all")
    parser.add_argument(
        "--suite", action="store_true", help="the official suite's groups in place of MaskBench"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=900.0, help="seconds")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds that an engine may take for one call"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--name", default="audit", help="of the file of results")
    options = parser.parse_args()
    use_checkout()
    from stackmask.runtime.comparison.audit import about_audit, open_audit, run_audit
    from stackmask.runtime.comparison.auditor import Settings
    from stackmask.runtime.comparison.cases import read_cases, sample
    from stackmask.runtime.comparison.report import audit_json, report_page
    from stackmask.runtime.comparison.tokenizer import load_tokenizer

    settings = Settings(seed=options.seed, seconds=60.0, call_seconds=options.limit)
    path = options.data / "maskbench_dev.jsonl.xz"
    if options.suite:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / "suite.jsonl"
        records = suite_records(options.data / "json_schema_test_suite" / "groups.jsonl.xz")
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    cases = sample(list(read_cases(str(path))), options.sample, options.seed)
    folder = options.data / "tokenizers" / options.tokenizer if options.tokenizer else None
    tokenizer = load_tokenizer(str(folder) if folder else None)
    about = about_audit(tokenizer, options.engines.split(","), settings, len(cases))
    about["tokenizer"] = options.tokenizer or "embedded"
    audit = open_audit(options.out, about)

    def tell(done: int, planned: int, _: object) -> None:
        if done % 50 == 0:
            print(f"{done} of {planned}", flush=True)

    run_audit(audit, cases, tokenizer, options.out, settings, options.budget, tell)
    (options.out / "report.html").write_text(
        report_page(audit, "official suite" if options.suite else "MaskBench"), "utf-8", "backslashreplace"
    )
    figures = audit_json(audit)
    for name, engine in figures["engines"].items():
        print(name, engine["cases"], engine["cases_with_proven_errors"], engine["cases_affected"])
    if options.write:
        command = (
            f"python lab/benchmarks/audit.py --data PATH {'--suite ' * options.suite}--engines {options.engines} --sample {options.sample} "
            f"--seed {options.seed} --budget {options.budget:g} --out FOLDER --write"
        )
        versions = {name: version for name, version in figures["engines"].items() if name != "stackmask"}
        write_result(
            options.name, command, figures, **{name: each["version"] for name, each in versions.items()}
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
