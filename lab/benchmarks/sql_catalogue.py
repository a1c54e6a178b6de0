"""Make the lists of functions that `Grammar.from_sql` allows, from the catalogues of the databases themselves.

    python lab/benchmarks/sql_catalogue.py [--write]

Writes ``grammar/sql/calls/sqlite_functions.json`` and ``postgres_functions.json``: names by kind and by how many arguments they take.
SQLite is the one that Python has; PostgreSQL is a server of Debian's packages, started for the purpose. A function is
listed if the catalogue calls it harmless (innocuous; immutable or stable), it is there for queries, not for types,
operators, indexes or aggregates to be built from, and its name is not in ``LEFT_OUT`` below.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
from collections import defaultdict
from typing import Any

from record import REPO, use_checkout

use_checkout()

import psycopg
from support.postgres_server import postgres_server

FOLDER = REPO / "grammar" / "sql"
MOST = 8  # arguments are tried up to this many

# SQLite: what is about the connection, the library, one extension's tables, or memory
SQLITE_LEFT_OUT = re.compile(
    r"\W|sqlite_|fts|rtree|current_|total_changes$|changes$|last_insert_rowid$|load_extension$|likely$|unlikely$|"
    r"likelihood$|randomblob$|zeroblob$|subtype$|match|offsets$|optimize$|snippet$|highlight$|bm25$|soundex$|"
    r"readfile$|writefile$|edit$"
)
SQLITE_WINDOW_ONLY = {
    *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"),
    *("lag", "lead", "first_value", "last_value", "nth_value"),
}
SQLITE_JSON = re.compile(r"json")  # not flagged as innocuous before 3.45, and harmless
SQLITE_TABLES = {"json_each": (1, 2), "json_tree": (1, 2)}

# PostgreSQL: what is about the server, the session, privileges, transactions or the catalogue, copies data of tables
# that are named in a text, or stands behind a type, an operator or an index
POSTGRES_LEFT_OUT = re.compile(
    r"pg_(?!typeof$|size_pretty$)|has_|inet_(client|server)|txid_|(table|schema|database|query|cursor)_to_xml|to_reg|"
    r"acl|makeacl|.*_(canonical|subdiff|validator)$|.*description$|current_(setting|schemas|schema|user|query)$|"
    r"ts_(stat|rewrite|debug|parse|token_type|lexize)$|satisfies_|nameconcatoid|name$|oidvectortypes|format_type|"
    r"getdatabaseencoding|getpgusername|row_security|session_user|mxid_age|enum_|currtid|amvalidate|version$|"
    r"get_current_ts_config|macaddr8_set7bit|p(open|close)$|d(exp|log1|log10|round|trunc)$|int\d(inc|_sum)$|"
    r"numeric_|textlen|notlike|like|regclass$|xid$|oid$|lseg$|line$|path$|xmlvalidate$|set_config|ishorizontal|isvertical|"
    r"isparallel|isperp|tsquery_phrase|to_ascii|similar_|cash_words|xml$|bpchar$|multirange$|overlaps$|timezone$|"
    r"pg_lsn$|querytree$|extract$|overlay$|position$|substring$|normalize$|xmlexists$|time$|timestamp$|interval$|"
    r"numeric$|varchar$|char$|bit$|json$"
)
POSTGRES_ADDED = {
    *("random", "clock_timestamp", "timeofday", "gen_random_uuid"),  # volatile, and harmless
    *("array_append", "array_prepend", "array_cat", "starts_with", "sqrt", "mod", "power", "div"),
    *("json_extract_path", "json_extract_path_text", "jsonb_extract_path", "jsonb_extract_path_text"),
}
POSTGRES_TYPES_LEFT_OUT = [
    "internal",
    "cstring",
    "trigger",
    "event_trigger",
    "void",
    "fdw_handler",
    "index_am_handler",
]

POSTGRES_QUERY = """
select p.proname, p.prokind::text, p.pronargs, p.pronargdefaults, p.provariadic <> 0, coalesce(a.aggkind::text, ''),
       coalesce(a.aggnumdirectargs, 0)
from pg_proc p left join pg_aggregate a on a.aggfnoid = p.oid join pg_type r on r.oid = p.prorettype
where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a', 'w')
  and (p.proname = any(%(added)s) or p.provolatile <> 'v'
    and not exists (select from pg_operator o where p.oid in (o.oprcode, o.oprrest, o.oprjoin))
    and not exists (select from pg_amproc x where x.amproc = p.oid)
    and not exists (select from pg_aggregate x where p.oid in (x.aggtransfn, x.aggfinalfn, x.aggcombinefn,
      x.aggserialfn, x.aggdeserialfn, x.aggmtransfn, x.aggminvtransfn, x.aggmfinalfn))
    and not exists (select from pg_type t where p.oid in (t.typinput, t.typoutput, t.typreceive, t.typsend,
      t.typmodin, t.typmodout, t.typanalyze, t.typsubscript))
    and not exists (select from pg_proc q where q.prosupport = p.oid))
  and not r.typname = any(%(types)s)
  and not exists (select from unnest(p.proargtypes) u(o) join pg_type t on t.oid = u.o where t.typname = any(%(types)s))
"""

# types that queries compute with, beside those that are keywords (int, numeric, varchar, …)
POSTGRES_TYPES_QUERY = """
select t.typname from pg_type t
where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm') and t.typcategory <> 'A'
  and t.typname !~ '^(_|pg_|reg|gts|acl|txid|refc|cid$|xid|tid$|char$|bit$|numeric$|interval$|timestamp$|time$|varchar$)'
"""

Arities = dict[str, set[int | None]]  # None: any number beyond the largest


def shown(counts: set[int | None]) -> str:
    """Write down how many arguments a function takes: ``1``, ``2,3``, ``2+``."""
    numbers = sorted(n for n in counts if n is not None)
    if None not in counts:
        return ",".join(map(str, numbers))
    while len(numbers) > 1 and numbers[-1] == numbers[-2] + 1:
        numbers.pop()
    return ",".join(map(str, numbers)) + "+"


def grouped(kinds: dict[str, Arities]) -> dict[str, dict[str, list[str]]]:
    result: dict[str, dict[str, list[str]]] = {}
    for kind, names in kinds.items():
        groups: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names):
            groups[shown(names[name])].append(name)
        result[kind] = dict(sorted(groups.items()))
    return result


def sqlite_functions() -> dict[str, Any]:
    database = sqlite3.connect(":memory:")
    kinds: dict[str, Arities] = {"scalar": {}, "aggregate": {}, "window": {}, "table": {}}
    for name, kind, count, flags in database.execute(
        "select name, type, narg, flags from pragma_function_list"
    ):
        innocuous = flags & 0x200000 or SQLITE_JSON.match(name)
        if SQLITE_LEFT_OUT.match(name) or not innocuous:
            continue
        where = "scalar" if kind == "s" else "window" if name in SQLITE_WINDOW_ONLY else "aggregate"
        counts = kinds[where].setdefault(name, set())
        if count >= 0:
            counts.add(count)
            continue
        for many in range(MOST + 1):
            values = ", ".join(["'$.a'"] * many)
            try:
                database.execute(f"EXPLAIN SELECT {name}({values})")
            except sqlite3.Error as error:
                if "wrong number" not in str(error):
                    raise
            else:
                counts.add(many)
        if MOST in counts:
            counts.add(None)
    # min and max of one argument are aggregates
    for name in kinds["aggregate"]:
        if None in kinds["scalar"].get(name, ()):
            kinds["scalar"][name] -= {0, 1}
    kinds["table"] = {name: set(counts) for name, counts in SQLITE_TABLES.items()}
    return {"database": f"SQLite {sqlite3.sqlite_version}", **grouped(kinds)}


def postgres_functions() -> dict[str, Any]:
    kinds: dict[str, Arities] = {"scalar": {}, "aggregate": {}, "ordered_set": {}, "window": {}}
    parameters = {"added": sorted(POSTGRES_ADDED), "types": POSTGRES_TYPES_LEFT_OUT}
    with postgres_server() as server, psycopg.connect(server.conninfo) as connection:
        rows = connection.execute(POSTGRES_QUERY, parameters).fetchall()
        types = sorted(name for (name,) in connection.execute(POSTGRES_TYPES_QUERY))
        full = connection.execute("show server_version").fetchone()
    for name, kind, most, defaults, variadic, aggregate, direct in rows:
        if (name not in POSTGRES_ADDED and POSTGRES_LEFT_OUT.match(name)) or aggregate == "h":
            continue
        where = {"f": "scalar", "w": "window", "a": "ordered_set" if aggregate == "o" else "aggregate"}[kind]
        counts = kinds[where].setdefault(name, set())
        if aggregate == "o":
            counts.add(direct)
        else:
            counts.update(range(most - defaults, most + 1), [None] if variadic else [])
    assert full is not None
    return {"database": f"PostgreSQL {full[0].split()[0]}", **grouped(kinds), "types": {"names": types}}


def as_text(document: dict[str, Any]) -> str:
    """Write the lists with one line a group."""
    lines = ["{", f'  "database": {json.dumps(document.pop("database"))},']
    kinds = []
    for kind, groups in document.items():
        rows = [f"    {json.dumps(count)}: {json.dumps(names)}" for count, names in groups.items()]
        kinds.append(f'  "{kind}": {{\n' + ",\n".join(rows) + "\n  }")
    return "\n".join([*lines, ",\n".join(kinds), "}"]) + "\n"


def main() -> None:
    """Print or write both lists."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write grammar/sql/*_functions.json")
    options = parser.parse_args()
    for name, make in (("sqlite", sqlite_functions), ("postgres", postgres_functions)):
        text = as_text(make())
        if options.write:
            (FOLDER / f"{name}_functions.json").write_text(text, "utf-8")
        else:
            print(text)


if __name__ == "__main__":
    main()
