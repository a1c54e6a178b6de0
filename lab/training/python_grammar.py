"""Write the bundled grammars of Python, one for each version: ``python lab/training/python_grammar.py``.

The rules are in ``python_rules.txt``. This module adds what the interpreters say or what differs by quotes: identifiers,
numbers, blanks, strings. ``--pythons FOLDER`` has the interpreters as pyenv has them, ``FOLDER/3.12.1/bin/python``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

REPO: Final = Path(__file__).resolve().parents[2]
RULES: Final = Path(__file__).with_name("python_rules.txt")
VERSIONS: Final = ((3, 10), (3, 11), (3, 12), (3, 13))
COPIES: Final = {"line": "", "b": "-b", "top": "", "in": "-in", "fn": "-fn"}
FIELDS: Final = (
    "f1",
    "f2",
    "f3",
    "f4",
    "f5",
)  # what may stand in f-strings before 3.12, by the quotes around
# the characters that `\N{…}` may name, besides those that the standard library names
NAMED: Final = (
    (0x20, 0x180),
    (0x391, 0x3CA),
    (0x2010, 0x2040),
    (0x20A0, 0x20C0),
    (0x2190, 0x2300),
    (0x2500, 0x27C0),
    (0xFE00, 0xFE10),
    (0x1D400, 0x1D800),
    (0x1F300, 0x1F700),
    (0x1F900, 0x1FA00),
)
# further names of characters that have no other name, or a longer one
ALIASES: Final = """
NULL|NUL|START OF HEADING|SOH|START OF TEXT|STX|END OF TEXT|ETX|END OF TRANSMISSION|EOT|ENQUIRY|ENQ|ACKNOWLEDGE|ACK|ALERT
BEL|BACKSPACE|BS|CHARACTER TABULATION|HORIZONTAL TABULATION|HT|TAB|LINE FEED|NEW LINE|END OF LINE|LF|NL|EOL|LINE TABULATION
VERTICAL TABULATION|VT|FORM FEED|FF|CARRIAGE RETURN|CR|SHIFT OUT|SO|SHIFT IN|SI|DATA LINK ESCAPE|DLE|DEVICE CONTROL ONE|DC1
DEVICE CONTROL TWO|DC2|DEVICE CONTROL THREE|DC3|DEVICE CONTROL FOUR|DC4|NEGATIVE ACKNOWLEDGE|NAK|SYNCHRONOUS IDLE|SYN
END OF TRANSMISSION BLOCK|ETB|CANCEL|CAN|END OF MEDIUM|EOM|EM|SUBSTITUTE|SUB|ESCAPE|ESC|FILE SEPARATOR|FS|GROUP SEPARATOR|GS
RECORD SEPARATOR|RS|UNIT SEPARATOR|US|SP|DELETE|DEL|NEXT LINE|NEL|NBSP|SHY|ZWSP|ZWNJ|ZWJ|LRM|RLM|LRE|RLE|PDF|LRO|RLO|NNBSP
WJ|LRI|RLI|FSI|PDI|BYTE ORDER MARK|BOM|ZWNBSP|ZERO WIDTH NO-BREAK SPACE|REPLACEMENT CHARACTER|OBJECT REPLACEMENT CHARACTER
"""
IDEOGRAPH: Final = "CJK UNIFIED IDEOGRAPH-"  # and the digits of its code

# asks an interpreter: the ranges of characters that identifiers begin with and continue with, names of characters, and the
# ranges of ideographs
QUESTION: Final = r"""
import glob, json, keyword, re, sys, sysconfig, unicodedata
def ranges(test):
    found = []
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000 and test(chr(code)):
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return found
names = set()
named, aliases, ideograph = json.loads(sys.argv[1])
names.update(aliases)
for low, high in named:
    names |= {unicodedata.name(chr(code), "") for code in range(low, high)}
for path in glob.glob(sysconfig.get_path("stdlib") + "/**/*.py", recursive=True):
    if "site-packages" not in path:
        names |= set(re.findall(r"\\N\{([^}\n]*)\}", open(path, encoding="utf-8", errors="replace").read()))
def known(name):
    try:
        return len(unicodedata.lookup(name)) == 1 and not name.startswith(ideograph)
    except KeyError:
        return False
ideographs = ranges(lambda c: unicodedata.name(c, "").startswith(ideograph))
print(json.dumps([ranges(str.isidentifier), ranges(lambda c: ("a" + c).isidentifier()), sorted(filter(known, names)), ideographs, keyword.kwlist]))
"""


def answers(python: Path) -> Any:
    """Return what an interpreter answers to the question."""
    question = [NAMED, ALIASES.strip().replace("\n", "|").split("|"), IDEOGRAPH]
    command = [str(python), "-c", QUESTION, json.dumps(question)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# -- The rules of the file -----------------------------------------------------------------------------------


def applies(line: str, version: tuple[int, int]) -> str | None:
    """Return a line without its versions; None if it does not count in this one."""
    while match := re.match(r"(>=|<)3\.(\d+) +", line):
        if (version[1] >= int(match[2])) != (match[1] == ">="):
            return None
        line = line[match.end() :]
    return line


def sections(version: tuple[int, int]) -> Iterator[tuple[list[str], dict[str, str], list[str]]]:
    """Yield the sections of the file: the copies, the bodies by name, and the lines of comments and names in order."""
    copies: list[str] = []
    bodies: dict[str, str] = {}
    order: list[str] = []
    for raw in RULES.read_text().splitlines():
        line = applies(raw, version)
        if line is None:
            continue
        if line.startswith("[copies "):
            if copies:
                yield copies, bodies, order
            copies, bodies, order = line[8:-1].split(), {}, []
        elif not copies or not line.strip():
            continue
        elif line.startswith("#"):
            order.append(line)
        elif match := re.match(r"(\w+) +::= (.*)", line):
            bodies[match[1]] = match[2]
            order.append(match[1])
        else:
            bodies[order[-1]] += "\n      " + line.strip()
    yield copies, bodies, order


def suffix(copy: str) -> str:
    return COPIES.get(copy, f"-{copy}")


def in_copy(body: str, copy: str, defined: dict[str, set[str]]) -> str:
    """Return a body with the names of a copy, and words with their end."""

    def name_of(match: re.Match[str]) -> str:
        text = match[0]
        if text.startswith("'"):
            return f'"{text[1:-1]}" end'
        if text[0] in '"[@':
            return text
        inner = {"line": "b", "top": "line", "in": "line", "fn": "line"}
        at = copy
        while at not in defined.get(text, {at}):
            at = inner[at]
        return text + suffix(at) if text in defined else text

    return re.sub(r"'\w+'|\"[^\"]*\"|\[(?:\\.|[^\]])*\]|@\w+|[A-Za-z_]\w*(?:-\w+)?", name_of, body)


# -- Strings -------------------------------------------------------------------------------------------------

HEX: Final = "[0-9A-Fa-f]"
HEX_UPPER: Final = "[0-9A-F]"
ESCAPE: Final = f'"x" {HEX}{{2}} | "u" {HEX}{{4}} | "U00" ("0" | "10") {HEX}{{4}} | "U000" {HEX}{{5}} | "N{{" character "}}"'


class Strings:
    """Writes the rules of strings. A kind is a quote, and whether it is written three times."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.nests = version >= (3, 12)
        self.rules: dict[str, str] = {}

    def add(self, name: str, body: str) -> str:
        self.rules.setdefault(name, body)
        return name

    def piece(self, quote: str, triple: bool, outside: str, raw: bool, data: bool, braces: str) -> str:
        """Return one character or escape of a text, within f-strings whose ``outside`` excludes characters or lines."""
        lines = "" if triple and "\n" not in outside else r"\r\n"
        others = "".join(char for char in outside if char not in "\n" + quote)
        not_in = rf"\0\\{lines}{quote}{others}{braces}"
        plain = f"[^{not_in}\\x80-\\u{{10FFFF}}]" if data else f"[^{not_in}]"
        if outside:
            return plain  # there are no escapes in the expressions of f-strings before 3.12
        ascii_only = r"\x80-\u{10FFFF}" if data else ""
        if raw:
            return rf'{plain} | "\\" ([^\0\r\n{braces}{ascii_only}] | line_break)'
        known = f'"x" {HEX}{{2}}' if data else ESCAPE
        letters = "x" if data else "xuUN"
        return rf'{plain} | "\\" ([^\0\r\n{letters}{braces}{ascii_only}] | line_break | {known})'

    def quoted(self, quote: str, triple: bool, piece: str, outside: str | None) -> str:
        """Return the quotes and what is in them. In a copy for f-strings no other quote of this kind may follow."""
        mark = f"'{quote}'" if quote == '"' else f'"{quote}"'
        if triple:
            three = mark[0] + quote * 3 + mark[0]
            two = mark[0] + quote * 2 + mark[0]
            return f"{three} (({mark} | {two})? ({piece}))* {three}"
        two = mark[0] + quote * 2 + mark[0]
        end = "" if outside is None else f" !>> [{quote}]"
        some = f"({piece})+"
        if (
            outside and outside != quote and "\n" not in outside
        ):  # in three quotes of the other kind, one or two may stand
            run = f"[{outside}] [{outside}]?"
            some = f"((({run})? ({piece}))+ ({run})? | {run})"
        return f"{mark} {some} {mark}{end} | {two} !>> [{quote}]"

    def copy(
        self, copy: str, kinds: dict[tuple[str, bool], str], outside: dict[tuple[str, bool], str]
    ) -> None:
        """Add the strings of a copy. ``kinds``: the copy of the expressions within f-strings of a kind."""
        at = suffix(copy) if copy in FIELDS else ""
        strings, data, formatted = [], [], []
        for (quote, triple), inner in kinds.items():
            out = outside[quote, triple]
            apart = out if copy in FIELDS else None
            label = ("double" if quote == '"' else "single") + ("3" if triple else "")
            for raw, prefixes in (
                (False, ("[uU]?", "[bB]", "[fF]")),
                (True, ("[rR]", "([bB] [rR] | [rR] [bB])", "([fF] [rR] | [rR] [fF])")),
            ):
                kind = ("raw_" if raw else "") + label + at
                text = self.quoted(quote, triple, self.piece(quote, triple, out, raw, False, ""), apart)
                strings.append(f"{prefixes[0]} " + self.add(f"text_{kind}", text))
                text = self.quoted(quote, triple, self.piece(quote, triple, out, raw, True, ""), apart)
                data.append(f"{prefixes[1]} " + self.add(f"bytes_{kind}", text))
                piece = self.piece(quote, triple, out, raw, False, "{}")
                slash = "" if out else '"\\\\"? '
                field = self.field(kind, quote, triple, piece, slash, inner, 0)
                text = self.quoted(quote, triple, f'{piece} | {slash}("{{{{" | "}}}}" | {field})', apart)
                formatted.append(f"{prefixes[2]} " + self.add(f"format_{kind}", text))
        if not kinds:
            return
        blank = "_" + suffix(copy)
        one = self.add("string" + at, " | ".join([*strings, *formatted]))
        byte = self.add("byte_string" + at, " | ".join(data))
        self.add("strings" + suffix(copy), f"{one} ({blank} {one})* | {byte} ({blank} {byte})*")
        if copy not in FIELDS:
            one = self.add("plain_string", " | ".join(strings))
            self.add("plain_strings" + suffix(copy), f"{one} ({blank} {one})* | {byte} ({blank} {byte})*")

    def field(
        self, kind: str, quote: str, triple: bool, piece: str, slash: str, inner: str, depth: int
    ) -> str:
        """Add the rule of what is in braces, and what it needs; return its name. A format may hold fields to some depth."""
        name = f"field_{kind}" + f"_{depth}" * (depth > 0)
        mark = f"'{quote}'" if quote == '"' else f'"{quote}"'
        at, blank = suffix(inner), "_" + suffix(inner)
        if depth == (2 if self.nests else 1):
            nested = piece
        else:
            nested = f"{piece} | {slash}" + self.field(kind, quote, triple, piece, slash, inner, depth + 1)
        quotes = f"({mark} {mark}?)?" if triple else ""
        spec = self.add(f"spec_{kind}_{depth}", f"({quotes} ({nested}))* {quotes}")
        begin = '"{" !>> "{"' if depth == 0 else '"{"'
        after = f" {blank}" if self.nests else ""
        conversion = f'("!" [rsa] end{after})?'
        last = "" if depth == 2 else f'(":" {spec})?'
        self.add(name, f'{begin} {blank} field{at} {blank} ("=" {blank})? {conversion} {last} "}}"')
        return name

    def all(self) -> dict[str, str]:
        """Return the rules of all copies."""
        one, double, three, triple = ("'", False), ('"', False), ("'", True), ('"', True)
        inner = dict.fromkeys((one, double, three, triple), "b")
        if not self.nests:
            inner = {one: "f1", double: "f2", three: "f4", triple: "f5"}
        for copy in ("line", "b"):
            self.copy(copy, inner, dict.fromkeys(inner, ""))
        if not self.nests:
            self.copy("f1", {double: "f3", triple: "f3"}, {double: "'\n", triple: "'\n"})
            self.copy("f2", {one: "f3", three: "f3"}, {one: '"\n', three: '"\n'})
            self.copy("f4", {one: "f1", double: "f3", triple: "f3"}, {one: "'", double: "'", triple: "'"})
            self.copy("f5", {double: "f2", one: "f3", three: "f3"}, {double: '"', one: '"', three: '"'})
        return self.rules


# -- Blanks, words and numbers, blocks -----------------------------------------------------------------------

BLANKS: Final = {
    "_": r'([ \t\f] | "\\" line_break)*',
    "_-b": r'([ \t\f\r\n] | "\\" line_break | "#" [^\0\r\n]* [\r\n])*',
    **{f"_-{copy}": r"[ \t\f]*" for copy in FIELDS[:3]},
    **{f"_-{copy}": r"[ \t\f\r\n]*" for copy in FIELDS[3:]},
    "line_break": r'"\r"? "\n"',
    "empty": r'[ \t\f]* ("#" [^\0\r\n]*)?',
    "newline": r'_ ("#" [^\0\r\n]*)? (line_break empty)* line_break feed',
    # a module may end without a line break, but not after a backslash
    "line_end": r'newline | ([ \t\f] | "\\" line_break [ \t\f])* ("#" [^\0\r\n]*)? !>> [^]',
    "feed": r'([ \t]* "\f")*',
}
BLOCKS: Final = {
    "root": "(empty line_break)* (empty | feed statement+ empty)",
    "function": '("@" _ named newline)* ("async" end _)? header function_block',
    "begin": r"newline @push([ \t]+)",
    "begin-in": "newline @push(@deeper)",
    "begin-fn": "newline @push(@deeper)",
    "next": '""',
    "next-in": "@level",
    "next-fn": "@level",
    "small": "simple",
    "small-in": "simple",
    "small-fn": "simple | return",
    "lines": "statement-in (next-in statement-in)*",
    "lines-fn": "statement-fn (next-fn statement-fn)*",
    "block": "_ simple_statements | @scope(begin lines)",
    "block-in": "_ simple_statements-in | @scope(begin-in lines)",
    "block-fn": "_ simple_statements-fn | @scope(begin-in lines-fn)",
    "block_case": "block-in",
    "block_case-in": "block-in",
    "block_case-fn": "block-fn",
    "class_block": "block",
    "class_block-in": "block-in",
    "class_block-fn": "block-in",
    "function_block": "_ simple_statements-fn | @scope(begin lines-fn)",
    "function_block-in": "block-fn",
    "function_block-fn": "block-fn",
}
# else, if, in, is, not, or may follow a number directly; so may `and` and `for`, but not `as`, `async` and `from`
NUMBERS: Final = {
    "number": '"0" ([xX] ("_"? [0-9A-Fa-f])+ !>> [0-9A-Za-hj-mp-z_\\x80-\\u{10FFFF}] | ([oO] ("_"? [0-7])+ | [bB] ("_"? [01])+) no_word)'
    " | REAL | IMAGINARY",
    "REAL": '("0" !>> [OoXxBb] | "0" ("_"? "0")+ | [1-9] ("_"? [0-9]){0,4299}) !>> [.] no_word'
    ' | (digits "." digits? | "." digits) exponent? no_word | digits exponent no_word',
    "IMAGINARY": '((digits "." digits? | "." digits) exponent? | digits exponent?) [jJ] no_word',
    "digits": '[0-9] ("_"? [0-9])*',
    "exponent": "[eE] [+\\-]? digits",
    "no_word": '"" !>> [0-9A-Za-df-hj-mp-z_\\x80-\\u{10FFFF}]',
}


def char_class(ranges: list[list[int]], *more: str) -> str:
    def one(code: int) -> str:
        return chr(code) if code < 0x7F else f"\\u{{{code:X}}}"

    return (
        "["
        + "".join(one(low) + (f"-{one(high)}" if high > low else "") for low, high in ranges)
        + "".join(more)
        + "]"
    )


def hex_range(low: str, high: str) -> str:
    """Return an expression for the hexadecimal numbers from low to high, which have as many digits."""
    if set(low) == {"0"} and set(high) == {"F"}:
        return f"{HEX_UPPER}{{{len(low)}}}"
    if len(low) == 1:
        return "[" + "".join("0123456789ABCDEF"[int(low, 16) : int(high, 16) + 1]) + "]"
    if low[0] == high[0]:
        return f'"{low[0]}" ({hex_range(low[1:], high[1:])})'
    parts, rest = [], len(low) - 1
    first, last = int(low[0], 16), int(high[0], 16)
    if set(low[1:]) != {"0"}:
        parts.append(f'"{low[0]}" ({hex_range(low[1:], "F" * rest)})')
        first += 1
    if set(high[1:]) != {"F"}:
        last -= 1
        ending = [f'"{high[0]}" ({hex_range("0" * rest, high[1:])})']
    else:
        ending = []
    if first <= last:
        parts.append("[" + "0123456789ABCDEF"[first : last + 1] + f"] {HEX_UPPER}{{{rest}}}")
    return " | ".join(parts + ending)


def grammar_of(version: tuple[int, int], python: Path) -> str:
    """Return the grammar of a version."""
    start, more, names, ideographs, keywords = answers(python)
    rules: dict[str, str] = {}
    found = list(sections(version))
    defined: dict[str, set[str]] = {"_": {"line", "b", *FIELDS}}
    for copies, bodies, _ in found:
        for name in bodies:
            defined.setdefault(name, set()).update(copies)
    for name in ("strings", "plain_strings"):
        defined[name] = {"line", "b", *FIELDS}
    for name in ("begin", "next", "small", "block", "block_case", "class_block", "function_block"):
        defined[name] = {"top", "in", "fn"}
    rules |= BLOCKS
    for copies, bodies, _ in reversed(found):
        for copy in copies:
            for name, body in bodies.items():
                text = body.replace(" | strings", "") if copy == "f3" else body
                rules[name + suffix(copy)] = in_copy(text, copy, defined)
    rules |= Strings(version).all()
    rules |= NUMBERS
    words = " | ".join(f'"{word}"' for word in keywords)
    rules |= {
        "NAME": f"(identifier - ({words})) end",
        "CAPTURED": f'(identifier - ("_" | {words})) end',
        "end": '"" !>> [A-Za-z0-9_\\x80-\\u{10FFFF}]',
        "character": " | ".join(
            [f'"{name}"' for name in names]
            + [
                f'"{IDEOGRAPH}" ({" | ".join(hex_range(f"{low:X}", f"{high:X}") for low, high in ideographs)})'
            ]
        ),
    } | BLANKS
    rules["identifier"] = f"{char_class(start)} {char_class(more)}*"
    return written(version, rules)


def written(version: tuple[int, int], rules: dict[str, str]) -> str:
    """Return the text of the rules that are used."""
    used, todo = {"root"}, ["root", "function", "expression"]
    while todo:
        for text in re.findall(
            r"\"[^\"]*\"|'[^']*'|\[(?:\\.|[^\]])*\]|@\w+|[A-Za-z_][\w]*(?:-\w+)?", rules[todo.pop()]
        ):
            if text in rules and text not in used:
                used.add(text)
                todo.append(text)
    head = f"# Modules of Python 3.{version[1]}, with blocks as its tokenizer reads tabs and blanks.\n#\n"
    head += "# Written by lab/training/python_grammar.py. Rules that end in `-b` are within brackets, in `-in` in a block, in\n"
    head += (
        "# `-fn` in a function"
        + (", in `-f1` to `-f5` within f-strings" if version < (3, 12) else "")
        + ".\n\n"
    )
    used |= {"function"}
    stack = '%stack " "\n\n'
    return head + stack + "".join(f"{name} ::= {body}\n" for name, body in rules.items() if name in used)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pythons", type=Path, default=Path.home() / ".pyenv" / "versions")
    folder = parser.parse_args().pythons
    for version in VERSIONS:
        python = next(folder.glob(f"3.{version[1]}.*")) / "bin" / "python"
        path = REPO / "grammars" / f"python-3.{version[1]}.ebnf"
        path.write_text(grammar_of(version, python))
        print(path.relative_to(REPO), path.stat().st_size)


if __name__ == "__main__":
    main()
