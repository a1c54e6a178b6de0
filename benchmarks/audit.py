"""Audit this engine and its peers over a seeded sample of MaskBench, and write the figures.

    python benchmarks/audit.py --data PATH_TO_DATA_PACK --sample 1000 --budget 900 --out FOLDER [--write]

The same command goes on with an audit that its budget ended. ``FOLDER/report.html`` shows the texts. Needs the extras
``bench`` and ``audit``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from record import use_checkout, write_result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(os.environ.get("STACKMASK_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--engines", default="stackmask,xgrammar,llguidance")
    parser.add_argument("--tokenizer", help="the name of one in the data pack; by default the embedded one")
    parser.add_argument("--sample", type=int, default=1000, help="0: all")
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
    from stackmask.runtime.audit.auditor import Settings
    from stackmask.runtime.audit.cases import read_cases, sample
    from stackmask.runtime.audit.report import report_page
    from stackmask.runtime.audit.run import about_audit, open_audit, run_audit
    from stackmask.runtime.audit.summary import audit_json
    from stackmask.runtime.comparison.tokenizer import load_tokenizer

    settings = Settings(seed=options.seed, seconds=60.0, call_seconds=options.limit)
    cases = sample(
        list(read_cases(str(options.data / "maskbench_dev.jsonl.xz"))), options.sample, options.seed
    )
    folder = options.data / "tokenizers" / options.tokenizer if options.tokenizer else None
    tokenizer = load_tokenizer(str(folder) if folder else None)
    about = about_audit(tokenizer, options.engines.split(","), settings, len(cases))
    about["tokenizer"] = options.tokenizer or "embedded"
    audit = open_audit(options.out, about)

    def tell(done: int, planned: int, _: object) -> None:
        if done % 50 == 0:
            print(f"{done} of {planned}", flush=True)

    run_audit(audit, cases, tokenizer, options.out, settings, options.budget, tell)
    (options.out / "report.html").write_text(report_page(audit, "MaskBench"), "utf-8", "backslashreplace")
    figures = audit_json(audit)
    for name, engine in figures["engines"].items():
        print(name, engine["cases"], engine["cases_with_proven_errors"], engine["cases_affected"])
    if options.write:
        command = (
            f"python benchmarks/audit.py --data PATH --engines {options.engines} --sample {options.sample} "
            f"--seed {options.seed} --budget {options.budget:g} --out FOLDER --write"
        )
        versions = {name: version for name, version in figures["engines"].items() if name != "stackmask"}
        write_result(
            options.name, command, figures, **{name: each["version"] for name, each in versions.items()}
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
