"""Schemas of PostgreSQL: statements are read as a server understands them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.postgres_server import NoServer, Server, postgres_server

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.grammar.sql.schema.schema import Schema

DDL = r'''
-- a comment; with a semicolon
CREATE SCHEMA sales;
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE TABLE "Odd Names" ("a ""b""" int, "SELECT" text, "Ünï" numeric(10,2), Plain timestamp with time zone, ÄB int);
CREATE TABLE parent (id serial PRIMARY KEY, Name varchar(30) NOT NULL, m mood, tags text[], CONSTRAINT u UNIQUE (name));
CREATE TABLE child (x int, id int, CHECK (x > 0)) INHERITS (parent);
CREATE UNLOGGED TABLE IF NOT EXISTS likes (LIKE parent INCLUDING ALL, z jsonb);
CREATE TABLE IF NOT EXISTS likes (nothing int);
CREATE TABLE sales.orders (id bigint GENERATED ALWAYS AS IDENTITY, parent_id int REFERENCES public.parent, at date,
    total double precision DEFAULT 1.5 + 2, g int GENERATED ALWAYS AS (1 + 1) STORED, PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE TABLE sales.orders_1 PARTITION OF sales.orders FOR VALUES FROM (1) TO (100);
CREATE VIEW v AS SELECT p.*, o.total AS t FROM parent p JOIN sales.orders o ON o.parent_id = p.id;
CREATE VIEW w (a, b) AS SELECT 1, count(*) FROM parent;
CREATE OR REPLACE VIEW x AS SELECT name, id::text FROM parent;
CREATE VIEW y AS WITH c AS (SELECT id AS i, name FROM parent) SELECT * FROM c UNION ALL SELECT 1, 'b';
CREATE MATERIALIZED VIEW mv AS SELECT id, name AS "N" FROM parent;
CREATE TABLE made AS SELECT id, name FROM parent;
CREATE INDEX i ON parent (name);
COMMENT ON TABLE parent IS 'it''s; here';
CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE nope (a int); RETURN 1; END $$;
ALTER TABLE likes ADD COLUMN extra int, DROP COLUMN m;
ALTER TABLE likes ALTER COLUMN extra SET DEFAULT 3;
ALTER TABLE ONLY likes RENAME COLUMN z TO "ZZ";
ALTER TABLE likes ADD CONSTRAINT c CHECK (id > 0), ADD UNIQUE (extra);
ALTER TABLE made RENAME TO renamed;
DROP TABLE IF EXISTS never CASCADE;
CREATE TYPE view AS ENUM ('x');
CREATE TABLE gone (a int);
DROP TABLE IF EXISTS gone, never;
INSERT INTO parent (name) VALUES ('x;'), ('create table q (a int);');
CREATE TABLE very_long_name_very_long_name_very_long_name_very_long_name_very_long_name (a int);
SET search_path TO sales, public;
CREATE TABLE here (a int);
'''


def found(schema: Schema) -> dict[Any, list[str]]:
    return {(t.schema, t.name, t.is_view, t.implicit): [c.name for c in t.columns] for t in schema.tables}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    try:
        with postgres_server() as running:
            import psycopg

            with psycopg.connect(running.conninfo, autocommit=True) as connection:
                connection.execute(DDL)
            yield running
    except NoServer as reason:
        pytest.skip(str(reason))


def test_statements_mean_what_the_server_makes_of_them(server: Server) -> None:
    assert found(read_schema(DDL, "postgres")) == found(read_schema(server.url, "postgres"))


def test_every_name_it_reports_can_be_used(server: Server) -> None:
    import psycopg

    schema = read_schema(server.url, "postgres")
    assert len(schema.tables) == 14
    with psycopg.connect(server.conninfo) as connection:
        for table in schema.tables:
            where = f'"{table.schema}"."{table.name}"'
            names = [column.name for column in table.columns]
            star = connection.execute(f"SELECT * FROM {where}").description or []
            assert [column.name for column in star] == names
            for name in [*names, *table.implicit]:
                quoted = name.replace('"', '""')
                connection.execute(f'SELECT "{quoted}" FROM {where}')


def test_an_engine_and_a_connection(server: Server) -> None:
    import sqlalchemy

    wanted = read_schema(server.url, "postgres")
    assert wanted.default_schemas == ("public",)
    engine = sqlalchemy.create_engine(server.url)
    assert read_schema(engine, "postgres") == wanted
    with engine.connect() as connection:
        connection.exec_driver_sql("SET search_path TO sales, public, nowhere")
        connection.exec_driver_sql("CREATE TEMP TABLE brief (a int)")
        here = read_schema(connection, "postgres")
        assert here.default_schemas[1:] == ("sales", "public") and here.default_schemas[0].startswith(
            "pg_temp"
        )
        assert [t.name for t in here.tables if t.schema == here.default_schemas[0]] == ["brief"]
    engine.dispose()
    for url in (server.url.replace("+psycopg", ""), server.url.replace("postgresql+psycopg", "postgres")):
        assert read_schema(url, "postgres") == wanted
    with pytest.raises(SQLError, match="it is one of postgres, not of sqlite"):
        read_schema(server.url, "sqlite")


def test_only_what_the_role_may_read(server: Server) -> None:
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute('GRANT SELECT ON "Odd Names" TO reader')
        connection.execute("GRANT SELECT (id, name) ON parent TO reader")
        connection.execute("GRANT SELECT ON sales.orders TO reader")  # but not USAGE of the schema
    schema = read_schema(server.url.replace("stackmask@", "reader@"), "postgres")
    assert {t.name: [c.name for c in t.columns] for t in schema.tables} == {
        "Odd Names": ['a "b"', "SELECT", "Ünï", "plain", "Äb"],
        "parent": ["id", "name"],
    }


@pytest.mark.campaign
def test_a_thousand_tables(server: Server) -> None:
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE DATABASE many")
    many = server.url.replace("/postgres", "/many")
    with pytest.raises(SQLError, match="has no tables that may be read"):
        read_schema(many, "postgres")
    text = "".join(f"CREATE TABLE t{i} (id int, c{i} text);" for i in range(1000))
    with psycopg.connect(
        server.conninfo.replace("dbname=postgres", "dbname=many"), autocommit=True
    ) as connection:
        connection.execute(text)
    assert found(read_schema(many, "postgres")) == found(read_schema(text, "postgres"))


def test_servers_that_refuse(server: Server) -> None:
    for url, message in (
        (server.url.replace("stackmask@", "nobody:secret@"), 'role "nobody" does not exist'),
        (server.url + "x", 'database "postgresx" does not exist'),
        (server.url.replace("+psycopg", "+psycopg2"), "needs psycopg2, which is not installed"),
    ):
        with pytest.raises(SQLError, match=message) as caught:
            read_schema(url, "postgres")
        assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_dump_of_psql() -> None:
    dump = (
        "\\restrict abc\nSET statement_timeout = 0;\nSELECT pg_catalog.set_config('search_path', '', false);\n"
        "CREATE TABLE public.t (\n    a integer NOT NULL\n);\nALTER TABLE public.t OWNER TO me;\n"
        "COPY public.t (a) FROM stdin;\n1\n'); CREATE TABLE x (\n\\.\n\n"
        "ALTER TABLE ONLY public.t\n    ADD CONSTRAINT k PRIMARY KEY (a);\n\\unrestrict abc\n"
    )
    assert [(t.schema, t.name, len(t.columns)) for t in read_schema(dump, "postgres").tables] == [
        ("public", "t", 1)
    ]


@pytest.mark.parametrize(
    ("ddl", "place", "message"),
    [
        ("CREATE TABLE a (x int,\n y text 'b', z int);", "line 2, column 9", "expecting )"),
        ("CREATE TABLE a (x int", "line 1, column", "expecting )"),
        ("CREATE TABLE a (x text DEFAULT 'abc);", "line 1, column", "not closed"),
        ("CREATE TABLE a (x int); CREATE TABLE a (y int)", "line 1, column 25", "'a' is there already"),
        ("CREATE TABLE a (x int, X int)", "line 1, column 1", "'x' is there twice"),
        ("\n\nCREATE TABLE a OF b", "line 3, column 1", "not understood"),
        ("CREATE VIEW v AS SELECT 1", "line 1, column 1", "do not follow from its text"),
        ("CREATE VIEW v AS SELECT * FROM nowhere", "line 1, column 1", "do not follow from its text"),
        ("CREATE TABLE a (LIKE b)", "line 1, column 1", "there is no table 'b'"),
        ("ALTER TABLE a ADD COLUMN b int", "line 1, column 1", "there is no table 'a'"),
        ("CREATE TABLE a (x int); ALTER TABLE a RENAME COLUMN y TO z", "line 1, column 25", "no column 'y'"),
        ("DROP TABLE a", "line 1, column 1", "there is no table 'a'"),
        (
            "CREATE TABLE p (x int); CREATE TABLE c () INHERITS (p); ALTER TABLE p ADD y int",
            "column 57",
            "inherit",
        ),
        (
            "CREATE TABLE a (x int); CREATE VIEW v AS SELECT x FROM a; DROP TABLE a CASCADE",
            "column 59",
            "CASCADE",
        ),
        ("CREATE TABLE s.a (x int); DROP SCHEMA s CASCADE", "column 27", "a schema with tables"),
        ("CREATE SCHEMA s CREATE TABLE t (a int)", "line 1, column 1", "CREATE SCHEMA"),
        ('CREATE TABLE ""`z` $;\n', "line 1, column 1", "not understood"),
        ('CREATE TABLE t (a VARCHAR("" INTEGER))', "line 1, column 1", "not understood"),
        ("CREATE TABLE t (a int DEFAULT " + "(" * 3000 + "1", "line 1, column 1", "not understood"),
    ],
)
def test_statements_that_cannot_be_read(ddl: str, place: str, message: str) -> None:
    with pytest.raises(SQLError) as caught:
        read_schema(ddl, "postgres")
    text = str(caught.value)
    assert place in text and message in text, text
    assert "^" in text.splitlines()[-1] and "\x1b" not in text


def test_statements_without_tables() -> None:
    with pytest.raises(SQLError, match="there are no tables"):
        read_schema("CREATE TYPE mood AS ENUM ('a');", "postgres")
