"""Questions to ``stackmask sql`` that ask for a change: the answer says that nothing can be changed."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.command_sql import asked_change

NOTE = "note: only reading is possible: nothing was changed. The question seems to ask for a change "


@pytest.mark.parametrize(
    ("question", "verb"),
    [
        ("Delete all customers", "delete"),
        ("delete", "delete"),
        ("can you please remove\nAda Novak?", "remove"),
        ("I'd like to cancel order 5", "cancel"),
        ("Go ahead and erase it", "erase"),
        ("List the orders and delete them", "delete"),
        ("Who lives in Spain? Then rename all of them", "rename"),
        ("'; DROP TABLE customers; --", "drop"),
        ("UPDATE orders SET total = 0", "update"),
        ("Show a create table people (id int)", "create"),
        ("Add a customer named Eve", "add"),
        ("Add Eve to the customers", "add"),
        ("Create a customer named Eve", "create"),
        ("Set the price of tea to 5", "set"),
        ("Change the price of tea", "change"),
        ("Raise salaries in sales by $500", "raise"),
        ("Increase all prices", "increase"),
        ("Mark order 5 as paid", "mark"),
        ("Move Ada to sales", "move"),
        ("Give everyone access", "give"),
    ],
)
def test_verbs_of_change_are_found(question: str, verb: str) -> None:
    assert asked_change(question) == verb


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Which five customers spent the most?",
        "How many orders were deleted?",
        "Who inserted and updated records?",
        "How do I delete a customer?",
        "Drop in revenue between 2023 and 2024",
        "Change in revenue from 2020 to 2021",
        "Increase in salary by department",
        "Increase from March to April",
        "Update dates of orders",
        "Add up the totals of all orders",
        "Create a list of all customers",
        "Create a table of sales by month",
        "Set of cities with customers",
        "Give me all customers",
        "Cancelled orders",
        "Move",
    ],
)
def test_other_questions_are_not_taken_for_one(question: str) -> None:
    assert asked_change(question) is None


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_the_note_comes_after_the_answer(form: str) -> None:
    result = call("Delete all customers", "--rows", "2", "--format", form)
    assert result.exit_code == 0 and "Ada" in result.stdout and NOTE not in result.stdout
    assert f"{NOTE}(delete); if so, what is shown answers another one\n" in result.stderr
    assert result.output.index("Ada") < result.output.index(NOTE)


def test_the_note_beside_an_answer_that_was_cut_off() -> None:
    result = call("Delete all customers", "--max-new-tokens", "1")
    assert result.exit_code == 1 and f"{NOTE}(delete)\n" in result.stderr


def test_no_note_beside_other_questions() -> None:
    result = call("How many customers are there?")
    assert result.exit_code == 0 and result.stderr.count("note") == 0


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["sql", *arguments])
