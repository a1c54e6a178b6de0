"""Words of a question that a database does not know: an answer that passes over them looks right, and is not."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from stackmask.grammar.sql.schema.schema import Schema, Table
from stackmask.runtime.cli.database import Database, QueryError
from stackmask.runtime.cli.prompts import qualified, spell

SECONDS: Final = 5.0  # for all values together; a database of some thousand rows takes a tenth of one
LONGEST_WORD: Final = 2_000  # characters of a question that are looked at
MOST_WORDS: Final = 4
MOST_COLUMNS: Final = 200  # with text, of all tables
FEW: Final = 8  # values of a column that are listed
LONGEST_VALUE: Final = 40  # characters
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_PARTS: Final = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")  # of names such as orderItems and order_items
_NO_TEXT: Final = re.compile(
    r"int|real|floa|doub|num|dec|bool|date|time|blob|bytea|json|uuid|serial|money|\[\]", re.IGNORECASE
)
_ENDINGS: Final = (
    ("s", ""), ("es", ""), ("ies", "y"), ("d", ""), ("ed", ""), ("ied", "y"), ("ing", ""), ("ing", "e"), ("ings", ""),
    ("er", ""), ("ers", ""), ("er", "e"), ("ier", "y"), ("iers", "y"), ("est", ""), ("est", "e"), ("iest", "y"),
    ("ly", ""), ("y", ""), ("ment", ""), ("ments", ""), ("ion", ""), ("ions", ""), ("ion", "e"), ("ity", ""),
)  # fmt: skip
# what questions of any database are made of; verbs and nouns of trade, which no value needs to spell
_PLAIN: Final = frozenset(
    """
    a about above according acquire across active actual add address after afterwards again against age ago all alone along
    alphabet alphabetical already also altogether always am amid among amount an and annual another answer any anybody
    anyone anything anywhere apart appear approve apr april are around arrive article as ascend ask associate at attend aug
    august available average avg award away back bad base be bear became because become been before begin behind being
    belong below beneath beside best better between beyond big bigger bill birth birthday book born both bottom bought bring
    brought build built but buy buyer by calculate call came can case cash cause change character charge cheap choose chose
    citizen client code colleague column combine come common company compare compute consider consist contain correspond
    cost costly could count country create cumulative current customer data database date day dear dec december decrease
    delete deliver delivery demand depart depend descend describe detail determine diagnose did didn differ difference different
    display distinct distinctive diverse do doe doesn doing dollar don done down duplicate during each earlier early earn
    eight eighteen eighth eighty either elder eleven else email employ employee empty end enough entire entry equal eur euro
    even ever every everybody everyone everything exact exceed except exclude exist expect expensive expire fact fall far
    fast feb february female few fewest field fifteen fifth fifty figure final find finish first five fly follow for form
    former forty found four fourteen fourth frequency frequent friday from full further gain gave gender general generate
    get give given go goes gone good goods got great greater gross group grow grown had half handle happen hardly has hasn
    have haven having he heavy her here hers high highest him hire his hit hold host hour how however hundred i id
    identification identify ids if important in include inclusive income increase index indicate information inside instead
    into involve is isn it item its jan january job join jul july jun june just keep kept kind know known land large last
    late latter lead leaderboard least leave led left length less let letter level lexicographical light like list little
    live locate long look lose lost lot love low made main make male man manage many mar march match max maximal maximum may
    me mean median member men mention middle million min mind minimal minimum minus minute miss moment monday money month
    more most much multiple must my name nation nationality near need neither never new newest next nine nineteen ninety
    ninth no nobody non none nor normal not note nothing nov november now nowhere null number numeric observe obtain occur
    oct october of off offer often old on once one only onto onward operate or order other otherwise our out outside over
    overall own owner page paid pair paper parcel part participant participate particular pay people per percent percentage
    perform period person phone piece place play please plus point populace popular position possess possible posted
    predominant present previous price print prior produce profit proportion provide purchase put quantity quarter query
    question quick quite raise range rank rare rate ratio reach read receive recent record regard regarding region register
    relate relation release remain repeat report require respective respectively result return revenue reverse review role
    round row run said salary sale same sat saturday save say score search second see sell send sent sep sept september
    serve set seven seventeen seventh seventy several share she ship shop shopper short should show side sign similar simple
    since single sit situate six sixteen sixth sixty size small so sold some somebody someone something sometimes somewhere
    soon sort speak special specific specify spend spender spent spoke spoken staff stand star start state status stay still
    stop store substring such sum summary sunday supply sure table take taken tall team telephone tell ten tenth term test
    text than thank that the their them then there these they thing think third thirteen thirty this those though thousand
    three through throughout thursday time times title to today together told took top total toward town tuesday turnover
    twelve twenty twice two type under unique unit unless unlike until up upon ups us use usual value various vary vendor
    version versus very via wage want was wasn way we website wednesday week weekday weekend weigh weight well went were
    weren what whatever when whenever where whether which whichever while who whoever whole whom whose why wide will win
    with within without woman women won word work worker world worse worst worth would write written wrote year yearly yes
    yesterday yet you young your zero
    """.split()  # noqa: SIM905
)


Ask = Callable[[str, int], Sequence[Any]]  # a query and the most rows; the first column, or the only row


def note_unknown_words(question: str, query: str, database: Database) -> str | None:
    """Return a note about words that no table, column or value has; None if there are none, or too much to be read.

    It goes by English words, so it can name one too many, and miss one.
    Cost: ``SECONDS`` at most; no value is read where the names of tables and columns know all words.
    """
    schema = database.schema
    words = _strange_words(question, schema)[:MOST_WORDS]
    deadline = time.monotonic() + SECONDS

    def ask(sql: str, limit: int) -> Sequence[Any]:
        rows = database.run(sql, timeout=deadline - time.monotonic(), limit=limit).rows
        return rows[0] if limit == 1 else [row[0] for row in rows]

    texts = {table: _text_columns(table) for table in schema.tables}
    if sum(map(len, texts.values())) > MOST_COLUMNS:
        return None
    read = _read_tables(query, schema)
    try:
        for table in sorted(texts, key=lambda table: table not in read):
            if words and texts[table]:
                words = _not_in(table, texts[table], words, schema, ask)
    except QueryError:  # the time is over: a word may stand in what was not read
        return None
    if not words:
        return None
    listed: list[str] = []
    with contextlib.suppress(QueryError):
        for table in read:
            for column in texts[table]:
                listed += _listed(table, column, schema, ask)
    return _sentence(words, listed)


def _sentence(words: list[str], listed: list[str]) -> str:
    named = " or ".join(f"`{word}`" for word in words)
    if len(words) == len(listed) == 1:
        return f"{named} is not a value of {listed[0]}"
    return f"no table, column or value has the word {named}"


def _strange_words(question: str, schema: Schema) -> list[str]:
    """Return the words, as written, that are neither plain English nor of a name."""
    known = set(_PLAIN)
    for table in schema.tables:
        for name in (table.name, *(column.name for column in table.columns)):
            for part in (*_PARTS.findall(name), name):
                known |= _forms(part)
    found: dict[str, str] = {}
    for word in _WORD.findall(question[:LONGEST_WORD]):
        plain = re.split("['\u2019]", word)[0]
        if len(plain) > 2 and not _forms(plain) & known:  # codes and remains of words
            found.setdefault(plain.lower(), plain)
    return list(found.values())


def _forms(word: str) -> set[str]:
    """Return the word in lower case, and what it may be a form of."""
    word = word.lower()
    found = {word}
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending) + instead
        if word.endswith(ending) and len(stem) > 2:
            found.add(stem)
            if stem[-1] == stem[-2]:  # biggest, shipped
                found.add(stem[:-1])
    return found


def _text_columns(table: Table) -> list[str]:
    return [column.name for column in table.columns if not _NO_TEXT.search(column.type)]


def _read_tables(query: str, schema: Schema) -> list[Table]:
    """Return the tables that a query names."""
    folded = query.lower()
    return [t for t in schema.tables if re.search(rf"(?<!\w){re.escape(t.name.lower())}(?!\w)", folded)]


def _not_in(table: Table, columns: list[str], words: list[str], schema: Schema, ask: Ask) -> list[str]:
    """Return the words that no value of a table has a form of. Cost: one query."""
    tests = []
    for word in words:
        texts = [f"' ' || LOWER(CAST({spell(column, schema)} AS TEXT)) || ' '" for column in columns]
        forms = sorted(_forms(word) | {f"{word.lower()}s"})
        if schema.dialect == "postgres":
            ways = [f"{text} ~ '\\m({'|'.join(forms)})\\M'" for text in texts]
        else:  # SQLite's LOWER leaves letters beyond ASCII as they are
            forms += [form.capitalize() for form in forms if not form.isascii()]
            ways = [f"{text} GLOB '*[^a-z]{form}[^a-z]*'" for text in texts for form in forms]
        tests.append(f"EXISTS (SELECT 1 FROM {qualified(table, schema)} WHERE {' OR '.join(ways)})")
    found = ask(f"SELECT {', '.join(tests)}", 1)
    return [word for word, there in zip(words, found, strict=True) if not there]


def _listed(table: Table, column: str, schema: Schema, ask: Ask) -> list[str]:
    """Return a column with its values, if these are a few short texts, and not all different."""
    name, most = spell(column, schema), FEW + 2
    cells = f"{name} FROM {qualified(table, schema)} WHERE {name} IS NOT NULL LIMIT {most}"
    values = ask(f"SELECT DISTINCT {cells}", most)
    if len(values) > FEW or not all(isinstance(value, str) for value in values):
        return []
    if len(ask(f"SELECT {cells}", most)) <= len(values):
        return []
    if any(not value[:1].isalpha() or len(value) > LONGEST_VALUE for value in values):
        return []
    return [f"{table.name}.{column}; these are: {', '.join(sorted(values))}"]
