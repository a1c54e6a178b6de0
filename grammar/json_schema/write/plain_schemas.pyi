from collections.abc import Callable
from typing import Any

from stackmask.grammar.ir import Expr, Rule
from stackmask.grammar.json_schema.document.drafts import Draft
from stackmask.grammar.json_schema.write.whitespace import Whitespace

MAX_KEPT: int

class PlainSchemas:
    """The pieces of plain schemas for one kind of blanks and spelling. Threads may share it.

    ``narrow``: returns an expression in this spelling; None for every spelling. ``read_leaf``: returns the expression of a scalar value, or None, and the units that it took. It is given what
    the schema says, the schema, its draft, whether formats count, and whether to remember it.
    """

    def __init__(
        self,
        whitespace: Whitespace,
        plain_numbers: bool,
        narrow: Callable[[Expr], Expr] | None,
        read_leaf: Callable[[tuple[Any, ...], dict[str, Any], Draft, bool, bool], tuple[Expr | None, int]],
    ) -> None: ...
    def rules(
        self, schema: dict[str, Any], draft: Draft, formats: str, any_order: bool
    ) -> tuple[dict[str, Rule], bool] | None:
        """Return the rules of a schema by name, and whether an object may stand in it twice; or None.

        None: it is not plain. ``draft``: one of those there are.
        Cost: linear in what is reached of the schema; that of ``read_leaf`` for each new scalar value.
        """
