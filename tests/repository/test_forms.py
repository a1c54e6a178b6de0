"""Forms for issues and the citation can be read, and ask for what a report needs."""

from __future__ import annotations

from typing import Any

import pytest
from repository.tree import REPO, tracked_files

FORMS = [
    path for path in tracked_files() if path.startswith(".github/ISSUE_TEMPLATE/") and "config" not in path
]


def read(path: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load((REPO / path).read_text(encoding="utf-8"))


def test_there_is_a_form_for_each_kind_of_report() -> None:
    kinds = {path.rpartition("/")[2].removesuffix(".yml") for path in FORMS}
    assert kinds == {"wrong-mask", "crash", "slow", "server", "feature"}


@pytest.mark.parametrize("path", FORMS)
def test_a_form_has_labelled_fields(path: str) -> None:
    form = read(path)
    assert form["name"] and form["description"] and form["labels"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert [field for field in fields if not field["attributes"]["label"]] == []
    assert len({field["id"] for field in fields}) == len(fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_citation_names_the_authors() -> None:
    citation = read("CITATION.cff")
    assert citation["authors"] == [{"name": "the stackmask authors"}]
    assert citation["license"] == "Apache-2.0"
