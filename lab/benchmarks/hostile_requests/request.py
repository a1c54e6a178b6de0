"""What a hostile request is: a grammar to compile, and what is done with a matcher of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

Kind = Literal[
    "ebnf", "lark", "json_schema", "regex", "choices", "sql", "sql_schema", "structural_tag", "tools",
]  # fmt: skip
Driver = Literal[
    "walk", "long", "text", "rollback", "draft", "fork", "jump", "reset", "explain", "budget", "complete", "strings",
    "storm",
]  # fmt: skip

LARGEST = 64 * 1024  # bytes of a request


@dataclass(frozen=True, slots=True)
class Request:
    """A grammar as the tenant sends it, and how it is driven after it is compiled.

    source: the text of the grammar; for a schema, choices or the tables of a database, their JSON; for a
        structural tag, that of its format; for tools, that of the arguments of ``stackmask.tools.grammar``.
    options: further arguments of the function that reads the grammar.
    driver: "walk" takes a random allowed token at each step, "long" the longest of some allowed tokens; the others
        follow ``text``: "text" one mask and one accept for each token, "rollback" goes back and forth, "draft" asks
        for trees of drafts, "fork" keeps a fork for each token, "jump" asks for forced bytes as well, "reset" begins
        again now and then, "explain" asks for warnings, a sample and why text is refused, "budget" walks under a token
        budget, "complete" asks at each step for the shortest end, "strings" first draws samples and judges them,
        "storm" goes back to random places and asks for drafts on the way. Without a text they walk.
    steps: the most tokens that are accepted.
    """

    name: str
    family: str
    kind: Kind
    source: str
    options: dict[str, Any] = field(default_factory=dict)
    driver: Driver = "walk"
    text: str = ""
    steps: int = 120
    seed: int = 0

    @property
    def bytes(self) -> int:
        """The size of the request."""
        return len(self.source.encode())


def grow(
    kind: Kind, family: str, sizes: Iterable[int], make: Callable[[int], Any], **fields: Any
) -> Iterator[Request]:
    """Make one request of a family for each size; ``fields`` may hold functions of the size."""
    for number, size in enumerate(sizes):
        source = make(size)
        values = {name: value(size) if callable(value) else value for name, value in fields.items()}
        values.setdefault("driver", "long" if number % 2 else "walk")
        yield Request(
            f"{family}-{size}",
            family,
            kind,
            source if isinstance(source, str) else json.dumps(source, separators=(",", ":")),
            seed=number,
            **values,
        )


grow_ebnf = partial(grow, "ebnf")
grow_regex = partial(grow, "regex")
grow_schema = partial(grow, "json_schema")
grow_tag = partial(grow, "structural_tag")


def chain(count: int, line: str, last: str, root: str = "root ::= r0") -> str:
    """Return rules r0, r1, … of one form, in which ``{i}`` is the rule's number and ``{j}`` the next one's."""
    lines = [line.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(count)]
    return "\n".join([root, *lines, last.replace("{i}", str(count))]) + "\n"
