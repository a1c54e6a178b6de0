"""Build SQL text in one uniform style from tables, conditions and columns."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

# foreign key -> primary key; every join in the corpus is one of these
EDGES = (
    ("orders", "customers", "orders.customer_id = customers.id"),
    ("orders", "employees", "orders.employee_id = employees.id"),
    ("order_items", "orders", "order_items.order_id = orders.id"),
    ("order_items", "products", "order_items.product_id = products.id"),
    ("products", "categories", "products.category_id = categories.id"),
    ("products", "suppliers", "products.supplier_id = suppliers.id"),
    ("shipments", "orders", "shipments.order_id = orders.id"),
    ("reviews", "products", "reviews.product_id = products.id"),
    ("reviews", "customers", "reviews.customer_id = customers.id"),
)
TABLES = {table for left, right, _ in EDGES for table in (left, right)}
QUALIFIED = re.compile(r"\b(" + "|".join(sorted(TABLES)) + r")\.(?=[a-z_])")


def quote(value: str) -> str:
    """Write a text value as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def path(present: list[str], target: str) -> list[str]:
    """Return the tables that lead from those present to ``target``, nearest first, fewest joins."""
    if target in present:
        return []
    queue = deque([[table] for table in present])
    seen = set(present)
    while queue:
        way = queue.popleft()
        for left, right, _ in EDGES:
            for here, there in ((left, right), (right, left)):
                if way[-1] == here and there not in seen:
                    if there == target:
                        return [*way[1:], there]
                    seen.add(there)
                    queue.append([*way, there])
    raise ValueError(f"no way from {present} to {target}")


@dataclass
class Query:
    """One SELECT; columns are always written ``table.column`` and lose the table if there is only one."""

    base: str
    select: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    group: str = ""
    having: str = ""
    order: str = ""
    limit: int = 0
    distinct: bool = False

    def join(self, *tables: str) -> Query:
        """Add tables, and the tables between, in the order given."""
        for table in tables:
            self.joined += path([self.base, *self.joined], table)
        return self

    def sql(self) -> str:
        """Render the statement."""
        parts = ["SELECT DISTINCT" if self.distinct else "SELECT", ", ".join(self.select), "FROM", self.base]
        present = [self.base]
        for table in self.joined:
            condition = next(
                on
                for left, right, on in EDGES
                if (left == table and right in present) or (right == table and left in present)
            )
            parts.append(f"JOIN {table} ON {condition}")
            present.append(table)
        if self.where:
            parts.append("WHERE " + " AND ".join(self.where))
        if self.group:
            parts.append("GROUP BY " + self.group)
        if self.having:
            parts.append("HAVING " + self.having)
        if self.order:
            parts.append("ORDER BY " + self.order)
        if self.limit:
            parts.append(f"LIMIT {self.limit}")
        text = " ".join(parts)
        return text if self.joined else unqualified(text)


def unqualified(text: str) -> str:
    """Drop table names outside quotes."""
    pieces = re.split(r"('(?:[^']|'')*')", text)
    return "".join(piece if i % 2 else QUALIFIED.sub("", piece) for i, piece in enumerate(pieces))
