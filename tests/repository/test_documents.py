"""README and docs: the commands exist, the examples run, the links lead somewhere, every page is listed."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from repository.tree import REPO, tracked_files
from support.pages import BLOCK, blocks

import stackmask
from stackmask.grammar.source.files import bundled_names

NEED_SERVERS = (
    "vllm_backend",
    "vllm_drafts",
    "sglang_backend",
    "sglang_drafts",
    "sglang_reasoning",
    "continuous_batching",
)
README = (REPO / "README.md").read_text(encoding="utf-8")
PAGES = [path for path in tracked_files() if path.endswith(".md")]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
INSTALLS = (
    """pip install -c constraints.txt '.[hf,cli]' && stackmask sql "Which five customers spent the most?\"""",
    "pip install -c constraints.txt -e '.[test]' && pytest",
)


def run(*arguments: str | Path) -> str:
    """Return what a Python program prints; fail with its errors if it fails."""
    done = subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def words(page: str) -> int:
    return len((REPO / page).read_text(encoding="utf-8").split())


def test_pages_are_short() -> None:
    """More words are read by fewer people: what a page gains, another one loses."""
    shown = {page: words(page) for page in PAGES if page == "README.md" or page.startswith("docs/")}
    assert sum(shown.values()) <= 45_000
    assert shown["README.md"] <= 1_600
    assert shown["docs/architecture.md"] <= 2_600
    lines = {page: len((REPO / page).read_text(encoding="utf-8").splitlines()) for page in shown}
    decisions = {page: count for page, count in lines.items() if re.match(r"docs/decisions/\d", page)}
    assert decisions
    assert [page for page, count in decisions.items() if count > 40] == []


# a line of prose ends where a sentence does, or a list or a block follows
ENDS = re.compile(r"[.:?!)`*]$|\|$|^(?:#|!\[|<!--|    )")


FLOWING = [page for page in PAGES if page == "README.md" or page.startswith("docs/")]
FLOWING.remove("docs/installing.md")


@pytest.mark.parametrize("page", FLOWING)
def test_a_sentence_has_a_line(page: str) -> None:
    """Without hard wraps a change of a sentence is a change of a line."""
    text = re.sub(
        r"^```.*?^```$", "", (REPO / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    lines = [line for line in text.splitlines() if line.strip() and not re.match(r" *(?:[-*]|\d+\.) ", line)]
    assert [line for line in lines if not ENDS.search(line)] == []


def test_the_two_commands_stand_alone() -> None:
    lines = "".join(blocks("README.md", "sh")).splitlines()
    assert [line for line in INSTALLS if line not in lines] == []
    script = (REPO / ".ci" / "run").read_text(encoding="utf-8").replace('\\"', '"')
    assert [line for line in INSTALLS if f'readme "{line}"' not in script] == []


def test_commands_of_the_readme_exist() -> None:
    typer_main = pytest.importorskip("typer.main")
    from stackmask.runtime.cli.app import app

    known = set(typer_main.get_command(app).commands)
    calls = [
        shlex.split(line.rpartition("&& ")[2])
        for line in "".join(blocks("README.md", "sh")).splitlines()
        if line
    ]
    used = {call[1] for call in calls if call[0] == "stackmask"}
    assert used
    assert used <= known


FOLDERS = {path.partition("/")[0] for path in tracked_files() if "/" in path}


# words that the pages had for the field's own: after, is not a, strings, the caller, requested, return whether, continue
FOREIGN = re.compile(
    r"\bbehind\b|\b(?:is|are) no\b(?! longer)|\btexts\b|\bnobody\b|\bwhoever\b|\basked for\b"
    r"|\btells? whether\b|\bgo(?:es)? on\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", FLOWING)
def test_pages_use_the_words_of_the_field(page: str) -> None:
    text = (REPO / page).read_text(encoding="utf-8")
    prose = re.sub(
        r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|[Tt]here (?:is|are) no\b",
        "",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    assert FOREIGN.findall(prose) == []


def code_of(page: str) -> list[str]:
    """Return the lines of shell blocks and indented blocks, and inline code."""
    text = (REPO / page).read_text(encoding="utf-8")
    lines = [line for block in blocks(page, "sh") + blocks(page, "") for line in block.splitlines()]
    rest = BLOCK.sub("", text)
    lines += [line.strip() for line in rest.splitlines() if line.startswith("    ")]
    return lines + re.findall(r"`([^`\n]+)`", rest)


@pytest.mark.parametrize("page", PAGES)
def test_files_and_commands_of_a_page_exist(page: str) -> None:
    """A page that names a file, a command or a flag that is gone is wrong."""
    typer_main = pytest.importorskip("typer.main")
    from stackmask.runtime.cli.app import app

    commands = typer_main.get_command(app).commands
    scripts = {Path(path).stem for path in tracked_files() if re.match(r"(?:lab/)?benchmarks/\w+\.py$", path)}
    dev = (REPO / "dev").read_text(encoding="utf-8")
    gone = []
    for line in code_of(page):
        if re.fullmatch(r"[\w.]+(?:/[\w.*-]+)+/?", line) and line.partition("/")[0] in FOLDERS:
            made = re.search(r"[A-Z]{3}|\*|found/", line)  # a placeholder, several files, or one that is made
            gone += [line] if not made and not (REPO / line).exists() else []
        for command, name in re.findall(r"\./dev (\w+)(?: (\w+))?", line):
            gone += [line] if f"./dev {command}" not in dev else []
            gone += [line] if command == "bench" and name.islower() and name not in scripts else []
        for command, rest in re.findall(r"\bstackmask ([a-z]+)\b([^#]*)", line):
            flags = (
                {flag for option in commands[command].params for flag in option.opts}
                if command in commands
                else set()
            )
            known = not flags or {*re.findall(r"(?<=\s)--[a-z][\w-]*", rest)} <= flags | {
                "--help",
                "--engine",
            }
            gone += [line] if not known else []
    assert gone == []


def test_every_bundled_grammar_is_in_the_readme() -> None:
    assert [name for name in bundled_names() if f"| `{name}` |" not in README] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = BLOCK.sub("", (REPO / page).read_text(encoding="utf-8"))
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in links if not (REPO / page).parent.joinpath(link).exists()] == []


def test_every_page_is_listed() -> None:
    docs = REPO / "docs"
    listed = set(LINK.findall((docs / "README.md").read_text(encoding="utf-8")))
    decisions = LINK.findall((docs / "decisions" / "README.md").read_text(encoding="utf-8"))
    listed |= {f"decisions/{page}" for page in decisions}
    pages = {path.removeprefix("docs/") for path in PAGES if path.startswith("docs/")}
    assert sorted(pages - listed) == ["README.md"]


def test_limits_of_the_security_page() -> None:
    """The table has every field of ``Limits`` with its default, and the bounds of the command line as they are."""
    typer_main = pytest.importorskip("typer.main")
    from stackmask.runtime.cli import command_sql, query_process, sqlite_database
    from stackmask.runtime.cli.app import app
    from stackmask.runtime.fsm.compiling import DEFAULT_MEMORY
    from stackmask.runtime.matching.compiler import DEFAULT_CACHE_BYTES

    page = (REPO / "docs" / "security.md").read_text(encoding="utf-8")
    options = {option.name: option.default for option in typer_main.get_command(app).commands["sql"].params}
    rows = [
        (f"`{each.name}`", "none" if each.default is None else f"{each.default:,.0f}")
        for each in dataclasses.fields(stackmask.Limits)
    ]
    rows += [
        ("`Compiler(cache_bytes=…)`", f"{DEFAULT_CACHE_BYTES >> 20} MiB"),
        ("`fsm.compile(memory=…)`", f"{DEFAULT_MEMORY >> 20} MiB"),
        ("`--timeout`", f"{options['timeout']:g} s"),
        ("`--rows`", str(options["rows"])),
        ("`--max-size`", f"{options['max_size']} MiB"),
        ("one value in SQLite", f"{sqlite_database.LONGEST_VALUE >> 20} MiB"),
        ("memory of SQLite", f"{sqlite_database.HEAP_BYTES >> 20} MiB"),
        ("memory of the process", f"{query_process.MEMORY_BYTES >> 30} GiB"),
        ("opening", f"{query_process.OPEN_SECONDS:g} s"),
        ("one value in the table for people", f"{command_sql.LONGEST_CELL:,} characters"),
    ]
    assert [row for row in rows if "| {} | {} |".format(*row) not in page] == []


EXAMPLES = [path for path in tracked_files() if path.startswith("examples/") and path.endswith(".py")]
SAYS = {
    "examples/mask_loop.py": '"',
    "examples/custom_grammar.py": "error[G003]: undefined rule `KEYWORDS`",
    "examples/logits_processor.py": "SELECT COUNT(*) FROM customers",
    "examples/tool_loop.py": "answer: Berlin",
    "examples/from_xgrammar.py": "refused: root ::= [a-z",
    "examples/ray_batch.py": "How good is customer 7? {",
}


@pytest.mark.campaign
@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_run(path: str) -> None:
    if "logits" in path or "tool" in path or "xgrammar" in path:
        pytest.importorskip("transformers")
    if "ray" in path:
        pytest.importorskip("ray", reason="ray is in no extra: pip install ray")
    assert SAYS[path] in run(REPO / path)


@pytest.mark.campaign
def test_doctests() -> None:
    tried = 0
    for module in pkgutil.walk_packages(stackmask.__path__, "stackmask."):
        if ".cli" in module.name or ".generation." in module.name or ".kernels.gpu." in module.name:
            continue
        if module.name.rpartition(".")[2] in NEED_SERVERS:
            continue
        failed, count = doctest.testmod(importlib.import_module(module.name))
        assert failed == 0, module.name
        tried += count
    print(f"{tried} doctests")
