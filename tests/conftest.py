"""Options of the test suite: which tests run, and in how many processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Triton looks at these when it is imported. Without a GPU its kernels run in its interpreter.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

MOST_PROCESSES = 4  # each loads torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite golden files with what comes out")
    parser.addoption("--all", action="store_true", help="run the campaigns too, which take most of the time")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in a process for each core, where pytest-xdist is there and the command says nothing else."""
    given = config.option
    if (
        config.pluginmanager.hasplugin("xdist")
        and not hasattr(config, "workerinput")
        and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and given.numprocesses is None
        and given.dist == "no"
        and given.capture != "no"
        and not (given.usepdb or given.collectonly or given.update_goldens)
    ):
        given.numprocesses = min(MOST_PROCESSES, os.cpu_count() or 1)
        given.dist = "loadfile"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave campaigns out, but for tests that the command names one by one."""
    if config.option.all or "campaign" in config.option.markexpr:
        return
    named = [argument for argument in config.args if "::" in argument]
    left_out = {
        item.nodeid
        for item in items
        if item.get_closest_marker("campaign")
        and not any(
            item.nodeid == name or item.nodeid.startswith((f"{name}[", f"{name}::")) for name in named
        )
    }
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-goldens"))
