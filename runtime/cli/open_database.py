"""Open the database that a file or a URL names."""

from __future__ import annotations

from pathlib import Path

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import is_url
from stackmask.runtime.cli.database import Database


def open_database(source: str | Path) -> Database:
    """Open a SQLite file, or what a URL names, in a process of its own.

    Raises: SQLError if it cannot be opened or has no tables: missing, locked, of another kind, not to be reached,
    a driver not installed. Messages show no password.
    """
    from stackmask.runtime.cli.query_process import ProcessDatabase

    return ProcessDatabase(source)


def refuse_other_products(url: str) -> None:
    """Refuse the URL of what cannot be read, before anything is installed for it. Raises: SQLError."""
    product = url.partition(":")[0].partition("+")[0].lower()
    if product not in ("sqlite", "postgres", "postgresql"):
        raise SQLError(
            f"no database is known under {product}:// that could be read: --db takes SQLite, CSV and Parquet files, and "
            "postgresql:// URLs"
        )


def open_directly(source: str | Path) -> Database:
    """Open the same in this process: what ``open_database`` does where it cannot harm anyone. Raises: SQLError."""
    if is_url(source):
        refuse_other_products(str(source))
    if is_url(source) and not str(source).startswith("sqlite:"):
        from stackmask.runtime.cli.server_database import ServerDatabase

        return ServerDatabase(str(source))
    from stackmask.runtime.cli.sqlite_database import SQLiteDatabase

    if is_url(source):
        from stackmask.grammar.sql.schema.inspect_server import sqlite_path

        return SQLiteDatabase(sqlite_path(str(source)))
    return SQLiteDatabase(Path(source))
