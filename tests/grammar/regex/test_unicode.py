"""The Unicode table against Python's own data, on what was assigned when that was made, and the ``regex`` package."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from stackmask.grammar.regex.flavours.python import unicode_space, unicode_word
from stackmask.grammar.regex.unicode.folding import PYTHON, SIMPLE, UPPER, fold
from stackmask.grammar.regex.unicode.properties import UnknownProperty, category, ecma_property, rust_property
from stackmask.grammar.source.charclass import Ranges

ASSIGNED = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]


def members(ranges: Ranges) -> set[str]:
    return {chr(c) for low, high in ranges for c in range(low, high + 1)}


@pytest.mark.parametrize("name", ["Lu", "Ll", "Nd", "Mn", "Zs", "Po", "Sm", "Cf"])
def test_categories(name: str) -> None:
    found = members(category(name))
    differing = [c for c in ASSIGNED if (c in found) != (unicodedata.category(c) == name)]
    assert len(differing) < 5  # a few characters have moved since


def test_python_sets() -> None:
    word = members(unicode_word())
    assert len([c for c in ASSIGNED if (c in word) != (re.match(r"\w", c) is not None)]) < 5
    space = members(unicode_space())
    assert [c for c in ASSIGNED if (c in space) != (re.match(r"\s", c) is not None)] == []


def test_names_and_values() -> None:
    assert ecma_property("Script=Greek") == ecma_property("sc=Grek") == rust_property("greek")
    assert ecma_property("General_Category=Uppercase_Letter") == ecma_property("Lu") == rust_property("lu")
    assert ecma_property("L") == rust_property("is_Letter") == category("L")
    assert len(members(ecma_property("Script_Extensions=Greek"))) > len(
        members(ecma_property("Script=Greek"))
    )
    assert members(ecma_property("ASCII_Hex_Digit")) == set("0123456789abcdefABCDEF")
    assert members(rust_property("gcb=ZWJ")) == {"\u200d"}
    for wrong in ("lu", "Greek", "Script=Nope", "InGreek"):
        with pytest.raises(UnknownProperty):
            ecma_property(wrong)
    with pytest.raises(UnknownProperty):
        rust_property("nope")


def test_scripts_against_the_regex_package() -> None:
    regex = pytest.importorskip("regex")
    for name in ("Latin", "Cyrillic", "Han", "Arabic", "Devanagari", "Old_Italic"):
        theirs = regex.compile(rf"\p{{Script={name}}}")
        ours = members(ecma_property(f"Script={name}"))
        assert [c for c in ASSIGNED[::7] if (c in ours) != bool(theirs.match(c))] == []


def test_folding() -> None:
    assert members(fold(((0x6B, 0x6B),), SIMPLE)) == {"k", "K", "\u212a"}
    assert members(fold(((0x6B, 0x6B),), UPPER)) == {"k", "K"}
    assert members(fold(((0x69, 0x69),), PYTHON)) == {"i", "I", "\u0130", "\u0131"}
    assert members(fold(((0x3C3, 0x3C3),), UPPER)) == {"σ", "ς", "Σ"}
    # wide ranges are not gone through character by character; the last one counts too
    assert "\u0430" in members(fold(((0x100, 0x410),), SIMPLE)), "of the capital \u0410"
    assert "\u0430" not in members(fold(((0x100, 0x40F),), SIMPLE))
    assigned = set(ASSIGNED)
    for code in (*range(0x80, 0x600), *range(0x1E00, 0x2000)):
        char = chr(code)
        equal = members(fold(((code, code),), PYTHON))
        for other in {char.lower(), char.upper(), char.swapcase()}:
            if len(other) == 1 and re.fullmatch(re.escape(char), other, re.IGNORECASE):
                assert other in equal, (char, other)
        assert all(re.fullmatch(re.escape(char), c, re.IGNORECASE) for c in equal if c in assigned), char
