"""The bundled database is what its script makes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from stackmask.runtime.embedded import bundled_database

DIGEST = "485d3c9e3f84378acf15a8ede015c60df5ca259029a59b5e022eb6fe98be6c05"


def test_script_makes_the_same_content(tmp_path: Path) -> None:
    from training.make_database import content_digest, make_database

    made = make_database(tmp_path / "shop.sqlite")
    assert content_digest(made) == DIGEST
    assert content_digest(bundled_database()) == DIGEST


def test_another_seed_makes_other_rows() -> None:
    from training.make_database import SEED, rows

    assert rows() == rows(SEED)
    assert rows() != rows(SEED + 1)


def test_tables_are_related_and_filled() -> None:
    assert bundled_database().stat().st_size < 1_500_000
    connection = sqlite3.connect(f"{bundled_database().as_uri()}?mode=ro", uri=True)
    try:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        counts = {
            table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables
        }
        references = {
            table: {row[2] for row in connection.execute(f"PRAGMA foreign_key_list({table})")}
            for table in tables
        }
        assert len(tables) >= 6
        assert sum(counts.values()) >= 2000
        assert min(counts.values()) >= 10
        assert sum(len(targets) for targets in references.values()) >= 6
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        # an order's total is the sum of its items
        wrong = connection.execute(
            "SELECT orders.id FROM orders JOIN order_items ON order_items.order_id = orders.id "
            "GROUP BY orders.id HAVING SUM(quantity * unit_price) <> total"
        )
        assert wrong.fetchall() == []
    finally:
        connection.close()
