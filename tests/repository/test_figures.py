"""The tables of figures on the pages are what the result files say, and figures stand nowhere else."""

from __future__ import annotations

import re

import pytest
from repository.figures import MARKED, TABLES, figure, time
from repository.tree import REPO, tracked_files

PAGES = [path for path in tracked_files() if path == "README.md" or re.match(r"docs/.*\.md$", path)]
BLOCK = re.compile(r"^```.*?^```$|<!-- table: .*?<!-- end of table -->", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_those_of_the_results(page: str, update_goldens: bool) -> None:
    text = (REPO / page).read_text(encoding="utf-8")
    wanted = MARKED.sub(lambda found: "\n".join([found[1], *TABLES[found[2]](), "", found[4]]), text)
    if update_goldens:
        (REPO / page).write_text(wanted, encoding="utf-8")
    else:
        assert text == wanted, "run this test with --update-goldens"


def test_every_table_is_on_a_page() -> None:
    shown = {name for page in PAGES for _, name, _, _ in MARKED.findall((REPO / page).read_text("utf-8"))}
    assert shown == TABLES.keys()


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/installing.md"])
def test_measurements_stand_in_tables_alone(page: str) -> None:
    """A day in a sentence dates a figure that no test follows."""
    text = BLOCK.sub("", (REPO / page).read_text(encoding="utf-8"))
    assert re.findall(r"20\d\d-\d\d-\d\d", text) == []


def test_figures_have_three_digits() -> None:
    assert [figure(n) for n in (0.5594, 12.25, 151.2, 2795.4, 12, None)] == [
        "0.56",
        "12.2",
        "151",
        "2,795",
        "12",
        "–",
    ]
    assert [time(n) for n in (3.2e-6, 4.5e-3, 2.0)] == ["3.20 µs", "4.50 ms", "2.00 s"]
