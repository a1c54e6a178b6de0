"""Write ``grammar/regex/unicode/unicode_data.json``: general categories, scripts, properties and case folding, compactly.

    python lab/training/unicode_table.py

Source: the Unicode Character Database as the PyPI package ``regex`` carries it; the spelling of script names is
that of ``fonttools``. Neither is needed at run time.
"""

from __future__ import annotations

import base64
import json
import zlib
from itertools import groupby, pairwise
from pathlib import Path

import regex
from fontTools.unicodedata import Scripts
from regex import _regex, _regex_core

TARGET = Path(__file__).resolve().parents[2] / "grammar" / "regex" / "unicode" / "unicode_data.json"
LAST = 0x10FFFF

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
# long name, then short name where there is one
BINARY = """ASCII_Hex_Digit AHex, Alphabetic Alpha, Bidi_Control Bidi_C, Bidi_Mirrored Bidi_M, Case_Ignorable CI,
Cased, Changes_When_Casefolded CWCF, Changes_When_Casemapped CWCM, Changes_When_Lowercased CWL,
Changes_When_Titlecased CWT, Changes_When_Uppercased CWU, Dash, Default_Ignorable_Code_Point DI, Deprecated Dep,
Diacritic Dia, Emoji, Emoji_Component EComp, Emoji_Modifier EMod, Emoji_Modifier_Base EBase,
Emoji_Presentation EPres, Extended_Pictographic ExtPict, Extender Ext, Grapheme_Base Gr_Base,
Grapheme_Extend Gr_Ext, Hex_Digit Hex, IDS_Binary_Operator IDSB, IDS_Trinary_Operator IDST, ID_Continue IDC,
ID_Start IDS, Ideographic Ideo, Join_Control Join_C, Logical_Order_Exception LOE, Lowercase Lower, Math,
Noncharacter_Code_Point NChar, Pattern_Syntax Pat_Syn, Pattern_White_Space Pat_WS, Quotation_Mark QMark, Radical,
Regional_Indicator RI, Sentence_Terminal STerm, Soft_Dotted SD, Terminal_Punctuation Term, Unified_Ideograph UIdeo,
Uppercase Upper, Variation_Selector VS, White_Space space, XID_Continue XIDC, XID_Start XIDS"""
# properties with values that Rust's regexes know
BREAKS = {
    "gcb": "GRAPHEMECLUSTERBREAK",
    "wb": "WORDBREAK",
    "sb": "SENTENCEBREAK",
}
BREAK_VALUES = {
    "gcb": "Control CR Extend L LF LV LVT Prepend Regional_Indicator SpacingMark T V ZWJ",
    "wb": """ALetter CR Double_Quote Extend ExtendNumLet Format Hebrew_Letter Katakana LF MidLetter MidNum MidNumLet
Newline Numeric Regional_Indicator Single_Quote WSegSpace ZWJ""",
    "sb": "ATerm CR Close Extend Format LF Lower Numeric OLetter SContinue STerm Sep Sp Upper",
}


def members(name: str, value: str) -> list[tuple[int, int]]:
    """Return the ranges of the characters whose property has the value."""
    number, values = _regex_core.PROPERTIES[name.replace("_", "").upper()]
    code = number << 16 | values[value.replace("_", "").upper()]
    ranges = []
    start = 0
    for inside, run in groupby(bool(_regex.has_property_value(code, c)) for c in range(LAST + 1)):
        length = sum(1 for _ in run)
        if inside:
            ranges.append((start, start + length - 1))
        start += length
    return ranges


def numbers(values: list[int]) -> bytes:
    """Return whole numbers as bytes, seven bits each, the high bit where more follow."""
    out = bytearray()
    for value in values:
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)


def deltas(ranges: list[tuple[int, int]]) -> bytes:
    """Return ranges as the distances between their ends."""
    values, last = [], 0
    for low, high in ranges:
        values += [low - last, high - low]
        last = high
    return numbers(values)


def foldings() -> list[list[int]]:
    """Return the sets of more than one character that simple case folding makes equal."""
    flags = regex.UNICODE | regex.IGNORECASE
    classes: dict[int, list[int]] = {}
    turkic = {0x130, 0x131}
    for code in range(0x80, LAST + 1):
        if code in turkic:
            continue
        cases = [c for c in _regex.get_all_cases(flags, code) if isinstance(c, int) and c not in turkic]
        if len(cases) > 1:
            classes.setdefault(min(cases), sorted(cases))
    return list(classes.values())


def main() -> None:
    """Make the tables and write them."""
    entries: list[tuple[str, bytes]] = []
    entries += [(f"gc {name}", deltas(members("GENERALCATEGORY", name))) for name in CATEGORIES.split()]
    known = _regex_core.PROPERTIES["SCRIPT"][1]
    for short, name in sorted(Scripts.NAMES.items()):
        if name.replace("_", "").upper() not in known or name == "Unknown":
            continue
        script = deltas(members("SCRIPT", name))
        extended = deltas(members("SCRIPTEXTENSIONS", name))
        entries.append((f"sc {name} {short}", script))
        if extended != script:
            entries.append((f"scx {name} {short}", extended))
    for names in BINARY.replace("\n", " ").split(","):
        entries.append((f"bin {names.strip()}", deltas(members(names.split()[0], "YES"))))
    for short, name in BREAKS.items():
        for value in BREAK_VALUES[short].split():
            entries.append((f"{short} {value}", deltas(members(name, value))))
    fold: list[int] = []
    for group in foldings():
        fold += [len(group), group[0], *(b - a for a, b in pairwise(group))]
    entries.append(("fold simple", numbers(fold)))
    index = "\n".join(f"{len(data)} {names}" for names, data in entries)
    packed = zlib.compress((index + "\n\n").encode() + b"".join(data for _, data in entries), 9)
    text = base64.b85encode(packed).decode()
    made = {"source": f"regex {regex.__version__} (PyPI)", "packed": text}
    TARGET.write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")
    print(f"{TARGET}: {len(entries)} sets, {len(text):,} characters")


if __name__ == "__main__":
    main()
