"""The examples of docs/grammar.md do what the page says, and its table of codes is the real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden import check_samples, page_examples

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostic_codes import CODES

PAGE = Path(__file__).parents[2] / "docs" / "grammar.md"


@pytest.mark.parametrize(
    "example", page_examples(PAGE, "ebnf"), ids=lambda example: example[0].split("\n")[0]
)
def test_example(example: tuple[str, list[str], list[str]]) -> None:
    text, accepted, rejected = example
    assert accepted, "an example shows something"
    check_samples(Grammar.from_ebnf(text, None).rules, accepted, rejected)


def test_every_code_is_on_the_page(update_goldens: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = re.compile(r"^(?:\| G\d+ \| .*\n)+", re.MULTILINE)
    wanted = "".join(
        f"| {code} | {title} | {explanation} |\n".replace("`|`", "`\\|`")
        for code, (title, explanation) in sorted(CODES.items())
    )
    if update_goldens:
        PAGE.write_text(table.sub(lambda _: wanted, page), encoding="utf-8")
    else:
        assert table.findall(page) == [wanted], "run this test with --update-goldens"
