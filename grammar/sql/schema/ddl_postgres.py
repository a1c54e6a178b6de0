"""Read PostgreSQL's CREATE statements. sqlglot parses them; their effect on tables is computed here."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar.sql.schema.errors import SQLError, ddl_error
from stackmask.grammar.sql.schema.schema import Column, Schema, Table

if TYPE_CHECKING:
    from sqlglot import exp

    Token = Any  # sqlglot's, which moves between its modules from version to version

NAME_BYTES: Final = 63  # longer names are cut by the server
SYSTEM_COLUMNS: Final = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")
PUBLIC: Final = "public"
TEMPORARY: Final = "pg_temp"
MODIFIERS: Final = frozenset(
    "OR REPLACE GLOBAL LOCAL TEMP TEMPORARY UNLOGGED FOREIGN MATERIALIZED RECURSIVE".split()  # noqa: SIM905
)
ALTERED: Final = {"TABLE", "VIEW", "MATERIALIZED", "FOREIGN"}
# what may follow ADD and DROP in ALTER TABLE without being a column
CONSTRAINTS: Final = {"CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE", "NOT"}
NO_COLUMN: Final = CONSTRAINTS | {"DEFAULT", "IDENTITY", "EXPRESSION", "GENERATED"}

Key = tuple[str, str]  # schema, table

_COPY = re.compile(
    r"^(COPY\s[^;]*\sFROM\s+STDIN[^;]*;)(.*?)^\\\.[ \t]*$", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_META = re.compile(r"^\\\S.*$", re.MULTILINE)  # commands of psql, as dumps have them
_VISIBLE = re.compile(r"\S")
# what sqlglot raises besides its own errors, at an empty name, for one
_PARSER_FAULTS = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
_PLACE = re.compile(r"from (?:line )?(\d+):(\d+)")


def read_postgres(text: str) -> Schema:
    """Return the tables that statements create. Statements about rows, indexes, rights and the like are ignored.

    Raises: SQLError with the position if the text is not SQL, a statement about tables is unsupported, or a
    table does not exist; also without sqlglot, which the extra ``sql`` installs.
    """
    try:
        import sqlglot
        from sqlglot.errors import TokenError
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise SQLError(
            "DDL of PostgreSQL needs sqlglot, which is not installed: pip install 'stackmask[sql]'"
        ) from None
    # line by line, so that places stay what they are
    sql = _COPY.sub(lambda match: match[1] + _VISIBLE.sub(" ", match[2]) + "  ", text)
    sql = _META.sub(lambda match: " " * len(match[0]), sql)
    try:
        tokens = sqlglot.tokenize(sql, read="postgres")
    except TokenError as error:
        found = _PLACE.search(str(error))
        start = _offset(sql, int(found[1]), int(found[2]) - 1) if found else 0
        raise ddl_error(text, start, 1, "a quote or a comment that is not closed") from None
    reader = _Reader(sql)
    for statement in _statements(tokens):
        reader.read(statement)
    tables = tuple(reader.tables.values())
    temporary = any(table.schema == TEMPORARY for table in tables)
    return Schema("postgres", tables, (*([TEMPORARY] if temporary else []), *reader.path))


def _statements(tokens: Iterable[Token]) -> Iterable[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.text == ";" and token.token_type.name == "SEMICOLON":
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def _offset(text: str, line: int, column: int) -> int:
    """Return the offset of a 1-based line and a 0-based column."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return min(len(text), start + max(0, column))


class _Reader:
    """Applies statements to a set of tables."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tables: dict[Key, Table] = {}
        self.path: tuple[str, ...] = (PUBLIC,)
        self.parents: set[Key] = set()  # tables that others take their columns from, also later ones
        self.attached = False  # whether tables were attached to others afterwards
        self.place = (0, 1)  # of the statement being read: offset and length of its first word

    def read(self, tokens: list[Token]) -> None:
        """Apply one statement; statements that are not about tables change nothing."""
        self.place = (tokens[0].start, len(tokens[0].text))
        words = [token.text.upper() for token in tokens]
        verb = words[0]
        kind = next((word for word in words[1:] if word not in MODIFIERS), "")
        if verb == "CREATE" and kind in ("TABLE", "VIEW"):
            self.create(self.parse(tokens))
        elif verb == "CREATE" and words[1:2] == ["SCHEMA"] and {"TABLE", "VIEW"} & set(words):
            raise self.error(
                "tables inside of CREATE SCHEMA are not read: write them as statements of their own"
            )
        elif verb == "DROP" and kind in ("TABLE", "VIEW"):
            self.drop(self.parse(tokens))
        elif words[:2] in (["DROP", "SCHEMA"], ["ALTER", "SCHEMA"]):
            if {table.schema for table in self.tables.values()} & {token.text for token in tokens[2:]}:
                raise self.error(
                    "a schema with tables in it that changes: write its tables as they are in the end"
                )
        elif verb == "ALTER" and words[1:2] and words[1] in ALTERED:
            self.attached |= bool({"ATTACH", "INHERIT"} & set(words))
            if self.changes_names(words):
                self.alter(self.parse(tokens))
        elif verb == "SET" and "SEARCH_PATH" in words[1:3]:
            listed = [t for t, w in zip(tokens, words, strict=True) if w not in ("=", "TO", ",")]
            names = tuple(
                t.text for t in listed if t.text.upper() not in ("SET", "SESSION", "LOCAL", "SEARCH_PATH")
            )
            self.path = tuple(name for name in names if name not in ("$user", "pg_catalog")) or self.path

    @staticmethod
    def changes_names(words: list[str]) -> bool:
        """Return whether an ALTER TABLE adds, drops or renames something that queries can name."""
        depth = 0
        for word, follower in zip(words, [*words[1:], ""], strict=True):
            depth += (word == "(") - (word == ")")
            if depth == 0 and (
                word == "RENAME"
                or (word == "SET" and follower == "SCHEMA")
                or (word in ("ADD", "DROP") and follower not in NO_COLUMN)
            ):
                return True
        return False

    def parse(self, tokens: list[Token]) -> Any:
        """Parse a statement. Raises: SQLError with the position."""
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import ParseError, TokenError

        start, end = tokens[0].start, tokens[-1].end + 1
        sql = self.text[start:end]
        if tokens[1].text.upper() == "FOREIGN":  # sqlglot knows no foreign tables: read it as a plain one
            server = next((t for t in tokens if t.text.upper() == "SERVER"), None)
            cut = server.start if server else end
            sql = "CREATE" + " " * (tokens[2].start - start - 6) + self.text[tokens[2].start : cut]
        logger = logging.getLogger("sqlglot")
        level = logger.level
        logger.setLevel(logging.ERROR)  # what it does not know is an error here, not a warning
        try:
            parsed = sqlglot.parse_one(sql, read="postgres")
        except ParseError as error:
            first = error.errors[0]
            word = first.get("highlight") or ""
            at = start + _offset(sql, first["line"] or 1, (first["col"] or 1) - max(1, len(word)))
            message = str(first["description"]).rstrip(".")
            raise ddl_error(self.text, at, len(word), message[:1].lower() + message[1:]) from None
        except (TokenError, *_PARSER_FAULTS):
            # the whole text was cut into tokens before, but a part alone may not be
            raise self.error("this statement is not understood") from None
        finally:
            logger.setLevel(level)
        if isinstance(parsed, exp.Command):
            raise self.error("this statement about tables is not understood")
        return parsed

    def error(self, message: str) -> SQLError:
        return ddl_error(self.text, *self.place, message)

    def key(self, table: exp.Table) -> Key:
        """Return the schema and the name to which a reference in a new statement refers."""
        return (_name(table.args["db"]) if table.args.get("db") else self.path[0], _name(table.this))

    def find(self, table: exp.Table) -> Key:
        """Return the key of an existing table. Raises: SQLError."""
        schemas = [_name(table.args["db"])] if table.args.get("db") else [TEMPORARY, *self.path]
        for schema in schemas:
            if (schema, _name(table.this)) in self.tables:
                return schema, _name(table.this)
        raise self.error(f"there is no table {_name(table.this)!r}")

    def create(self, statement: exp.Create) -> None:
        from sqlglot import exp

        target: Any = statement.this
        definitions: list[Any] = []
        if isinstance(target, exp.Schema):
            definitions, target = list(target.expressions), target.this
        properties = statement.args.get("properties")
        marks = list(properties.expressions) if properties else []
        key = self.key(target)
        if any(isinstance(mark, exp.TemporaryProperty) for mark in marks):
            key = (TEMPORARY, key[1])
        is_view = statement.kind == "VIEW"
        materialized = any(isinstance(mark, exp.MaterializedProperty) for mark in marks)
        if key in self.tables and not statement.args.get("replace"):
            if statement.args.get("exists"):
                return
            raise self.error(f"{key[1]!r} is there already")
        columns: dict[str, Column] = {}
        for mark in marks:
            parents = mark.expressions if isinstance(mark, exp.InheritsProperty) else []
            if isinstance(mark, exp.PartitionedOfProperty):
                parents = [mark.this]
            for parent in parents:
                self.parents.add(self.find(parent))
                for column in self.tables[self.find(parent)].columns:
                    columns.setdefault(column.name, column)
        for definition in definitions:
            self.define(definition, columns, inherited=bool(marks))
        query = statement.expression
        if isinstance(query, exp.Query):
            names = list(columns) or self.columns_of(query, key[1])
            columns = {name: Column(name) for name in names}
        implicit = () if is_view and not materialized else SYSTEM_COLUMNS
        self.tables[key] = Table(key[1], tuple(columns.values()), key[0], is_view, implicit)

    def define(self, definition: Any, columns: dict[str, Column], *, inherited: bool) -> None:
        """Process one entry in the parentheses of CREATE TABLE; a constraint adds nothing."""
        from sqlglot import exp

        if isinstance(definition, exp.LikeProperty):
            for column in self.tables[self.find(definition.this)].columns:
                columns[column.name] = column
        elif isinstance(definition, exp.ColumnDef | exp.Identifier):
            column = _column(definition)
            if column.name in columns and not inherited:
                raise self.error(f"the column {column.name!r} is there twice")
            columns[column.name] = column
        elif not isinstance(
            definition, exp.Constraint | exp.PrimaryKey | exp.ForeignKey | exp.ColumnConstraintKind
        ):
            raise self.error("this definition of a column is not understood")

    def columns_of(self, query: exp.Query, view: str) -> list[str]:
        """Return the names of a query's columns. Raises: SQLError if PostgreSQL would generate a name."""
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
        from sqlglot.optimizer.qualify import qualify

        unclear = self.error(
            f"the columns of {view!r} do not follow from its text: write them, CREATE VIEW {view} (a, b) AS …"
        )
        if any(isinstance(e, exp.Star) or e.is_star for e in query.selects):
            known: dict[str, Any] = {}
            for (schema, name), table in self.tables.items():
                known.setdefault(schema, {})[name] = {c.name: c.type or "text" for c in table.columns}
            try:
                expanded: Any = qualify(
                    query.copy(),
                    dialect="postgres",
                    db=self.path[0],
                    schema=known,
                    validate_qualify_columns=False,
                    quote_identifiers=False,
                )
            except (SqlglotError, *_PARSER_FAULTS):
                raise unclear from None
            query = expanded
        names = []
        for e in query.selects:
            inner: Any = e
            while isinstance(inner, exp.Cast):  # a cast keeps the name of its column
                inner = inner.this
            if isinstance(e, exp.Alias):
                names.append(_name(e.args["alias"]))
            elif isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
                names.append(_name(inner.this))
            else:
                raise unclear
        if not names or len(set(names)) < len(names):
            raise unclear
        return names

    def drop(self, statement: exp.Drop) -> None:
        for table in statement.args["tables"]:
            try:
                key = self.find(table)
            except SQLError:
                if not statement.args.get("exists"):
                    raise
                continue
            if statement.args.get("cascade") and (
                key in self.parents or any(t.is_view for t in self.tables.values())
            ):
                raise self.error("other objects that CASCADE drops are not tracked: drop it by name")
            del self.tables[key]

    def alter(self, statement: exp.Alter) -> None:
        from sqlglot import exp

        try:
            key = self.find(statement.this)
        except SQLError:
            if statement.args.get("exists"):
                return
            raise
        changes_columns = not all(
            isinstance(action, exp.AlterRename | exp.AddConstraint) for action in statement.args["actions"]
        )
        if changes_columns and (self.attached or key in self.parents):
            raise self.error(
                "columns of a table that others inherit from: write its CREATE statement with them"
            )
        table = self.tables.pop(key)
        columns = {column.name: column for column in table.columns}
        for action in statement.args["actions"]:
            if isinstance(action, exp.ColumnDef):
                columns.setdefault(_name(action.this), _column(action))
            elif isinstance(action, exp.Drop) and action.args.get("kind") == "COLUMN":
                for dropped in action.args["tables"]:
                    columns.pop(_name(dropped.this), None)
            elif isinstance(action, exp.RenameColumn):
                old, new = _name(action.this.this), _name(action.args["to"].this)
                if old not in columns:
                    raise self.error(f"there is no column {old!r}")
                columns = {
                    (new if n == old else n): Column(new, c.type) if n == old else c
                    for n, c in columns.items()
                }
            elif isinstance(action, exp.AlterRename) and not statement.args.get("options"):
                key = (key[0], _name(action.this.this))
            elif not isinstance(action, exp.AddConstraint):
                raise self.error("this change of a table is not understood")
        self.tables[key] = Table(key[1], tuple(columns.values()), key[0], table.is_view, table.implicit)


def _name(identifier: Any) -> str:
    """Return a name as the server stores it: folded to lower case unless quoted, and truncated."""
    name = str(identifier.name)
    if not identifier.args.get("quoted"):
        name = "".join(c.lower() if c.isascii() else c for c in name)
    return name.encode()[:NAME_BYTES].decode(errors="ignore")


def _column(definition: Any) -> Column:
    kind = definition.args.get("kind")
    return Column(
        _name(definition if not hasattr(definition.this, "args") else definition.this),
        kind.sql("postgres").lower() if kind else "",
    )
