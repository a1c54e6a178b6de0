"""What leads a random generation into the corners of each bundled grammar, and out of them again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Steering:
    """Texts, one a line, that the sampler proposes; a proposal that does not fit is not taken.

    ``phrases`` are proposed before the target length and ``endings`` past it; ``text_endings`` in free text
    (inside quotes or a comment). ``closers`` are the signs that close brackets, ``quotes`` those that end text.
    Free text is where more than ``free_text_kinds`` kinds of tokens are allowed. A final ``_`` of a line stands for a blank, ``~`` for a line break.
    """

    closers: str = ""
    quotes: str = ""
    phrases: str = ""
    endings: str = ""
    text_endings: str = ""
    free_text_kinds: int = 25


def proposals(lines: str) -> tuple[bytes, ...]:
    """Return the texts of a field of :class:`Steering`."""
    texts = (line.removesuffix("_") + " " * line.endswith("_") for line in lines.splitlines() if line)
    return tuple(text.replace("~", "\n").encode() for text in texts)


STEERING = {
    "arithmetic": Steering(
        closers=")",
        phrases="**\n//\nsqrt(\nmax(1,\n1.5e-3\npi\ncos(",
        endings="1\ne",
    ),
    "csv": Steering(quotes='"', phrases='"\n""\n",\n~\n,\n,,', endings='1\n"', text_endings='",\n"\n"~'),
    "indented": Steering(
        closers=")]",
        quotes="\"'\n",
        phrases="""\
if x:~   _
while x:~    _
for i in x:~     _
def f(x, y):~  _
if x:~       _
if x: return
if x: break
if x:~            _
elif x: ~            _
while x:~        _
for i in x:~      _
def f(x):~       _
~elif x:~        _
~else:~         _
elif x:~          _
elif x:~   _
elif x:~    _
elif x:~       _
else:~  _
else:~    _
else:~       _
return x~
return~
break~
continue~
pass~
~_
~~
~   _
~     _
~       _
 and_
 or_
not_
 not in_
None
.x
[0]
(1)
 += 1~
# _
"a"
x = _""",
        endings="1\nx\npass\n = 1\n(1)\n in x\nx = 1\n"
        + "\n".join(f"~{' ' * n}pass" for n in (4, 9, 16, 24, 40, 70)),
        text_endings="\"\n'\n~",
    ),
    "json": Steering(
        closers="]}",
        quotes='"',
        phrases='{"\n": \n, \n[\n\\u00e9\n\\n\ntrue\nfalse\nnull\n-0.5E+3\n"a": ',
        endings="0\n: 1",
        text_endings='"\n\\u00e9\n\\n"',
    ),
    "lua": Steering(
        closers=")]}",
        quotes="\"'\n",
        phrases="""\
#!/usr/bin/lua~
local x <const>
local x <close>
 = 1_
 = x_
, y
function f(a, b)_
function a.b:c(...)_
local function f(...)_
local f = function(a)_
local f = function(a, b)_
return_
return 1,_
while x do_
while x do break end_
for k in x do if y then break elseif z then break else end end_
repeat_
 until_
if x then_
if x then elseif y then else_
elseif x then_
else_
for i = 1, 2 do_
for k, v in_
 in_
do_
do break end_
 end_
break_
goto l_
::l::_
 and_
 or_
not_
nil
true
false
...
 .._
0x1F
0x.8p1
1e-5
[[a]]
--[==[ a ]==]
(f).x = 1_
(f).x, y = g_
(f)()_
(f):m{}_
.y
[1]
:m
{1; x =
{
}
()
;
//
~=
==
<<
#
(function() return 1 end)()
function() x = y; (f).x, z.w = 1, -2 return f end
function() while a do if b then break elseif c then break else end end end
function(x) repeat local function g() end goto l ::l:: until nil (g)[1] = {[x] = 2; y = -1, z} end
function() for i = 1, 2 do do break end end for k in f(x) do end if a then elseif b then else end end
function() x = y, -1 (f).y = 2 end
function() do end (f).x = g (h)() (k).a = 1 f{} f"" f.g:h() local a <const>, b = c end""",
        endings=" end_\n end\n until x\n do end\n then end\n()\n = 1\n in x do end\n()\n1",
        text_endings="]]\n]=]\n]==]\n]===]\n]====]\n]=====]\n]======]\n]=======]\n]========]\n]=========]\n~\n\\n\n\\z  ~",
    ),
    "postgres": Steering(
        closers=")]",
        quotes="\"'$",
        phrases="""\
SELECT DISTINCT ON (a)_
SELECT ALL_
SELECT *_
WITH RECURSIVE a(b) AS (
WITH a AS (
 AS NOT MATERIALIZED (
 SEARCH DEPTH FIRST BY a SET b
 CYCLE a SET b TO 1 DEFAULT 2 USING c
VALUES (
TABLE t
 FROM t
 FROM ONLY t
 FROM t JOIN u ON_
 FROM t JOIN u JOIN v ON 1 ON_
 FROM t LEFT JOIN u USING (a) AS b
 FROM t RIGHT OUTER JOIN u ON_
 FROM t NATURAL FULL JOIN u CROSS JOIN v
 FROM t TABLESAMPLE system (1) REPEATABLE (2)
 FROM generate_series(1, 3) WITH ORDINALITY AS g(n)
 FROM ROWS FROM (f(1), g(2) AS (a int))
 FROM LATERAL (
 FROM (t JOIN u ON_
 FROM xmltable('/a' PASSING b COLUMNS c int PATH 'd')
 WHERE_
 GROUP BY_
 GROUP BY DISTINCT ROLLUP (a, b), CUBE (c)
 GROUP BY GROUPING SETS ((), (a, b), c)
 HAVING_
 ORDER BY a USING <, b DESC NULLS FIRST
 LIMIT 1 OFFSET_
 OFFSET 2 ROWS FETCH NEXT 3 ROWS WITH TIES
 FETCH FIRST ROW ONLY
 UNION ALL_
 INTERSECT_
 EXCEPT DISTINCT_
 IN (
 NOT IN_
 LIKE_
 NOT ILIKE_
 SIMILAR TO_
 LIKE a ESCAPE b
 BETWEEN SYMMETRIC 1 AND 2
 BETWEEN_
 AND_
 OR_
 NOT_
 IS NOT NULL
 IS DISTINCT FROM_
 IS UNKNOWN
 IS NFC NORMALIZED
 ISNULL
 NOTNULL
 < ANY (
 = ALL (
 AT TIME ZONE 'UTC'
 COLLATE "C"
 OPERATOR(pg_catalog.+)_
::int[]
::numeric(10, 2)
::timestamp with time zone
::character varying(3)
CAST(a AS double precision)
CASE_
 WHEN a THEN b ELSE c END
EXTRACT(year FROM_
SUBSTRING(a FROM 1 FOR 2)
TRIM(BOTH 'x' FROM_
POSITION('a' IN_
OVERLAY(a PLACING b FROM 1)
COALESCE(
GREATEST(
NULLIF(a, b)
ARRAY[
ARRAY(
ROW(
(a, b) OVERLAPS (c, d)
EXISTS (
INTERVAL '1' DAY
INTERVAL(3) '1'
DATE '2024-01-01'
TIMESTAMP '2024-01-01'
xmlelement(name a, xmlattributes(b AS c))
count(DISTINCT_
count(*)
f(a, VARIADIC b)
f(a => 1)
string_agg(a, b ORDER BY c)
percentile_cont(0.5) WITHIN GROUP (ORDER BY a)
 FILTER (WHERE_
 OVER (
 OVER w
sum(a) OVER (PARTITION BY b ORDER BY c
sum(a) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS)
sum(a) OVER (ORDER BY b GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP)
 WINDOW w AS (
NULL
CURRENT_DATE
CURRENT_TIME(2)
b'01'
x'1F'
E'a\\n'
$$a$$
U&'b'
1.5e3
'a'
"b"
a.b
a[1]
a[1:2]
,_
||
->>
@>
!~*
 -_""",
        endings=(
            " SELECT 1\nVALUES (1\n WHEN 1 THEN 1\n THEN 1\n END\n FROM t\n AS x\n AS (SELECT 1\n AND 1\n1\n a\n BY 1\n (1\n)\n"
            "FIRST\n ROW\n FOLLOWING\n PRECEDING\n TIES\n JOIN t\n ON 1\n NULL\n''\n OTHERS\n USING (a)\n int\n IN 1\n ONLY"
        ),
        text_endings="'\n\"\n$$\n*/\n~",
    ),
    "python": Steering(
        closers=")]}",
        quotes="\"'\n",
        phrases="""\
def f(a, /, b: int = 1, *args, c, **kw) -> None:~   _
def f(*, a):~\t_
def f[T: int = str, *Ts, **P](a): return_
async def f(self):~    _
class A(B, *c, m=d, **e):~ _
class A[T]:~        _
@a.b(c)~_
lambda a, /, *b, c=1: (yield)
lambda: 0
if x:~    _
if (y := x):~            _
~    elif x:~        _
~    else:~      _
~elif x:~\t_
~else:~   _
while x:~\t\t_
for a, *b in c:~\t        _
async for a[0] in b:~                _
with (a as b, c as (d, e),):~                 _
with a as b.c, d:~    _
try:~    _
~except* A as e:~     _
~except (A, B):~     _
~    finally:~       _
~finally:~     _
match a, *b:~    case [1, -2.5j, *_] | {"a": b, **c} | A(x=1) if d:~     _
~    case_
match_
case_
type X[T] = int
type_
_ =_
x: int = 1~
x += yield~
del (a, [b.c]), d[0]~
import a.b as c, d~
from . .a import (b as c,)~
from .... import *~
global a, b~
return *a, b~
raise a from b~
assert a, b~
break;_
~_
~    _
~   \t_
~\t_
~        _
~~\f  # a~~
 \\~_
 and_
 or_
not_
await_
 is not_
 not in_
 if a else_
[a for b in c if d async for e in f]
(a for b in c)
{a: b for c in d}
{**a, b: c}
{*a, b}
f(a, *b, c=d, **e)
a[1:2, ::3, *b]
f'a{b!r:>{c}}{{{d = }\\n'
rf"\\{a:\\d}"
f'''{f"{f'{a}'}"~}'''
b'a' rb"\\"
'\\x41\\u0042\\N{BULLET}\\~'
\"\"\"a~'b'~\"\"\"
r'''\\'''
0xFF
0b1_0
0o17
1_000.5e-3j
1if_
00
..._
.a
**
//
>>=_
->_
 = _
é
# a~
""",
        endings="1\npass\nx\n: pass\n in x: pass\n in x\n else x\n = 1\nimport a\n~pass\n"
        + "\n".join(f"~{' ' * n}pass" for n in (1, 3, 4, 8, 12, 16, 20)),
        text_endings="\"\n'\n\"\"\"\n'''\n}\n}'\n}\"\n~",
    ),
    "regex": Steering(
        closers=")]}",
        phrases="""\
{2}
{2,}
{1,9}
{3,12}
{10,20}
{12,120}
{100,200}
{17,19}
{123,129}
{123,140}
{5,5}
[a-z]
[^
[0-9
[A-Z
[Z-a
\\d
\\x41
\\u00e9
[\\x00-\\x9f]
(?:
(?=
(?!
(?<=
(?<!
\\b
\\.
|
&
*?
+?""",
        endings="1\n}\n,}\n41\na",
        free_text_kinds=99,  # nearly everything is allowed nearly everywhere
    ),
    "sql": Steering(
        closers=")]",
        quotes="\"'`]",
        phrases="""\
SELECT DISTINCT_
SELECT ALL_
SELECT *_
WITH RECURSIVE a(b) AS (
WITH a AS (
 AS MATERIALIZED (
 AS NOT MATERIALIZED (
VALUES (
 FROM t
 FROM t JOIN u ON_
 FROM t LEFT JOIN u USING (a)
 FROM t RIGHT OUTER JOIN u FULL JOIN v INNER JOIN w CROSS JOIN x
 FROM t NATURAL JOIN u NATURAL LEFT JOIN v
 FROM t INDEXED BY i
 FROM t NOT INDEXED
 FROM f(1), (SELECT
 WHERE_
 GROUP BY_
 GROUP BY a HAVING_
 ORDER BY_
 ORDER BY a ASC, b DESC NULLS FIRST, c NULLS LAST
 LIMIT_
 LIMIT 1 OFFSET_
 UNION_
 UNION ALL_
 INTERSECT_
 EXCEPT_
 IN (
 NOT IN_
 LIKE_
 GLOB_
 REGEXP_
 MATCH_
 LIKE a ESCAPE b
 BETWEEN 1 AND 2
 BETWEEN_
 AND_
 OR_
 NOT_
 IS_
 IS NOT_
 IS NOT DISTINCT FROM_
 ISNULL
 NOTNULL
 NOT NULL
 COLLATE NOCASE
CASE_
 WHEN a THEN b ELSE c END
 WHEN_
 THEN_
CAST(a AS DECIMAL(10, -2))
EXISTS (
count(DISTINCT_
sum(ALL_
count(*)
 FILTER (WHERE_
 OVER (
 OVER w
sum(a) OVER (PARTITION BY b ORDER BY c
sum(a) FILTER (WHERE b) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS)
sum(a) OVER (ORDER BY b RANGE CURRENT ROW EXCLUDE TIES)
sum(a) OVER (ORDER BY b GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP)
sum(a) OVER (ORDER BY b ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)
 WINDOW w AS (
NULL
CURRENT_DATE
CURRENT_TIME
CURRENT_TIMESTAMP
x'00'
0x1F
1.5e3
'a'
"b"
`c`
[d]
a.b
,_
||
->>
 -_""",
        endings=(
            " SELECT 1\nVALUES (1\n WHEN 1 THEN 1\n THEN 1\n END\n FROM t\n AS x\n AS (SELECT 1\n AND 1\n1\n a\n BY 1\n (1\n)\n"
            "FIRST\n ROW\n FOLLOWING\n PRECEDING\n TIES\n JOIN t\n NULL\n''\n OTHERS"
        ),
        text_endings="'\n\"\n`\n]\n*/\n~",
    ),
    "xml": Steering(
        closers=">",
        quotes="\"'<",
        phrases="""\
<?xml version="1.0"
 encoding='utf-8'
 standalone="yes"
?>
<!DOCTYPE a
 SYSTEM "b"
 PUBLIC "c" 'd'
<!-- e -->
<![CDATA[ f ]]>
<?g h?>
&lt;
&amp;
&#65;
&#128512;
&#x41;
</
/>
<a
<b>
<日本
 c="
é""",
        endings='</\n/>\n>\n?>\n;\n1;\n=""\n=\'\n "',
        text_endings="-->\n]]>\n?>\n\"\n'\n</\n\"/>\n'/>",
    ),
}
STEERING["sqlite"] = STEERING["sql"]
