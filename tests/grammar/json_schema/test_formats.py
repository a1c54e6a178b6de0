"""Formats, against the official suite, Python's own readers and predicates written for the purpose."""

from __future__ import annotations

import datetime
import ipaddress
import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest
from support.datapack import datapack, needs_datapack
from support.json_schema_engine import recognizer

from stackmask.grammar.json_schema import formats
from stackmask.grammar.json_schema.text import strings
from stackmask.grammar.languages.automaton import automaton_of
from stackmask.grammar.languages.classes import TooLarge

TESTED = 0.9  # of the official suite's tests must be right, of all formats together


@cache
def reader(make: Callable[[], object]) -> Callable[[bytes | str], bool]:
    return recognizer(make())


def accepts(name: str) -> Callable[[bytes | str], bool]:
    return reader(formats.FORMATS[name])


def mutate(text: str, rng: random.Random, alphabet: str) -> str:
    """Change a character or two."""
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(3)
        text = text[:at] + ("" if kind == 0 else rng.choice(alphabet)) + text[at + (kind != 1) :]
    return text


# -- the official suite ------------------------------------------------------------------------------------


@needs_datapack
def test_official_suite():
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    with lzma.open(datapack() / "json_schema_test_suite" / "groups.jsonl.xz", "rt") as lines:
        for group in map(json.loads, lines):
            name = group["schema"].get("format") if isinstance(group["schema"], dict) else None
            if group["kind"] != "format" or name not in formats.FORMATS:
                continue
            defined = formats.formats_of(group["draft"].removeprefix("draft"))
            read = reader(defined[name])
            for test in group["tests"]:
                if isinstance(test["data"], str):
                    accepted = read(test["data"].encode("utf-8", "surrogatepass"))
                    assert test["valid"] or not accepted, (name, test)
                    right[name] += accepted == test["valid"]
                    total[name] += 1
    assert set(total) == set(formats.FORMATS)
    assert sum(right.values()) >= TESTED * sum(total.values())
    exact = set(total) - {"hostname", "idn-hostname", "idn-email", "regex"}
    assert all(right[name] == total[name] for name in exact)


def test_drafts_have_their_formats():
    assert set(formats.formats_of("2020-12")) == set(formats.formats_of("2019-09")) == set(formats.FORMATS)
    assert set(formats.FORMATS) - set(formats.formats_of("7")) == {"duration", "uuid"}
    assert "uri-template" in formats.formats_of("6") and "date" not in formats.formats_of("6")
    assert set(formats.formats_of("4")) == {"date-time", "email", "hostname", "ipv4", "ipv6", "uri"}
    assert set(formats.NARROWINGS) <= set(formats.FORMATS)
    with pytest.raises(KeyError):
        formats.formats_of("5")


@pytest.mark.parametrize("name", formats.FORMATS)
def test_expressions_are_made_once_and_can_be_lifted(name):
    make = formats.FORMATS[name]
    assert make() is make()
    assert strings.lift(make()) is strings.lift(make())


# -- calendar ----------------------------------------------------------------------------------------------


def is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        datetime.date(year or 400, month, day)  # the year 0 is a leap year; datetime begins with 1
    except ValueError:
        return False
    return True


def is_time(text: str) -> bool:
    found = re.fullmatch(
        r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))", text
    )
    if not found:
        return False
    hour, minute, second = (int(found[i]) for i in (1, 2, 3))
    zone_hour, zone_minute = int(found[5] or 0), int(found[6] or 0)
    if hour > 23 or minute > 59 or zone_hour > 23 or zone_minute > 59 or second > 60:
        return False
    offset = (zone_hour * 60 + zone_minute) * (-1 if found[4] == "-" else 1)
    return second < 60 or (hour * 60 + minute - offset) % 1440 == 1439


@pytest.mark.parametrize("name", formats.FORMATS)
def test_endless_formats_go_on_after_each_prefix(name):
    try:
        endless = automaton_of(formats.FORMATS[name](), 1_000).is_endless()
    except TooLarge:
        endless = False
    assert (name in formats.ENDLESS) == endless


def test_dates():
    read, rng = accepts("date"), random.Random(1)
    for _ in range(6000):
        year = rng.choice((rng.randrange(10000), 100 * rng.randrange(100), 4 * rng.randrange(2500)))
        month = rng.choice((2, 2, rng.randrange(14)))
        day = rng.choice((28, 29, 30, 31, rng.randrange(34)))
        text = (
            mutate(f"{year:04}-{month:02}-{day:02}", rng, "0123456789-")
            if rng.random() < 0.2
            else (f"{year:04}-{month:02}-{day:02}")
        )
        assert read(text) == is_date(text), text


def test_times():
    read, rng = accepts("time"), random.Random(2)
    for _ in range(6000):
        hour, minute, second = rng.randrange(25), rng.randrange(61), rng.choice((rng.randrange(60), 60, 61))
        zone = rng.choice(
            ("Z", "z", f"+{rng.randrange(25):02}:{rng.randrange(61):02}", "-08:00", "+05:30", "")
        )
        text = mutate(
            f"{hour:02}:{minute:02}:{second:02}{rng.choice(('', '.5', '.123456'))}{zone}", rng, "0159:.+-Z"
        )
        leap = re.match(r"..:..:60", text) and not re.search(r"([Zz]|:00|:30)\Z", text)
        assert read(text) == (is_time(text) and not leap), text
    for minute in range(0, 1440, 30):
        for sign in (1, -1):
            local = (1439 + sign * minute) % 1440
            zone = f"{'+' if sign == 1 else '-'}{minute // 60:02}:{minute % 60:02}"
            text = f"{local // 60:02}:{local % 60:02}:60{zone}"
            assert read(text) and is_time(text), text


def test_date_times():
    read, rng = accepts("date-time"), random.Random(3)
    for _ in range(2000):
        date = f"{rng.randrange(10000):04}-{rng.randrange(14):02}-{rng.randrange(33):02}"
        time = f"{rng.randrange(25):02}:{rng.randrange(60):02}:{rng.randrange(60):02}{rng.choice(('Z', '+01:00', ''))}"
        letter = rng.choice("TTTt ")
        text = date + letter + time
        assert read(text) == (letter in "Tt" and is_date(date) and is_time(time)), text


def test_durations():
    read, rng = accepts("duration"), random.Random(4)
    units = r"\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D"
    clock = r"T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S)"
    meant = re.compile(rf"P(({units})({clock})?|{clock}|\d+W)", re.ASCII)
    for _ in range(8000):
        parts = [
            f"{rng.randrange(30)}{unit}" if unit != "T" else "T" for unit in "YMDTHMS" if rng.random() < 0.6
        ]
        text = mutate("P" + "".join(parts), rng, "0PYMWDTHS.")
        assert read(text) == (meant.fullmatch(text) is not None), text


# -- addresses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parse"), [("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)]
)
def test_ip_addresses(name, parse):
    read, rng = accepts(name), random.Random(5)
    for _ in range(8000):
        numbers = [rng.choice((0, 1, 9, 10, 99, 100, 199, 249, 250, 255, 256)) for _ in range(4)]
        text = ".".join(map(str, numbers))
        if name == "ipv6":
            groups = [f"{rng.choice((0, 1, 0xAB, 0xFFFF)):x}" for _ in range(rng.randrange(9))]
            if rng.random() < 0.7:
                groups.insert(rng.randrange(len(groups) + 1), "")
            text = ":".join([*groups, text] if rng.random() < 0.3 else groups)
            text = f":{text}" if text.startswith(":") else f"{text}:" if text.endswith(":") else text
        text = mutate(text, rng, "01.:fF") if rng.random() < 0.5 else text
        try:
            parse(text)
            expected = "%" not in text
        except ValueError:
            expected = False
        assert read(text) == expected, text


def test_host_names():
    old = reader(formats.formats_of("4")["hostname"])
    read, rng = accepts("hostname"), random.Random(6)
    label = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
    for _ in range(4000):
        text = ".".join(
            rng.choice(
                (
                    "a",
                    "xn--a",
                    "x",
                    "xn",
                    "xn-",
                    "Xn--",
                    "x-n",
                    "a-b",
                    "-a",
                    "a" * 63,
                    "a" * 64,
                    "x" * 61,
                    "ab--c",
                    "",
                )
            )
            for _ in range(rng.choice((1, 2, 3, 5)))
        )
        text = mutate(text, rng, "xn-a.0") if rng.random() < 0.5 else text
        expected = len(text) <= 253 and all(label.fullmatch(part) for part in text.split("."))
        assert old(text) == expected, text
        assert read(text) == (expected and not re.search(r"(^|\.)xn--", text, re.IGNORECASE)), text


def test_uuids():
    read, rng = accepts("uuid"), random.Random(7)
    for _ in range(2000):
        digits = f"{rng.getrandbits(128):032x}"
        text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        text = mutate(text, rng, "0aFg-")
        expected = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text, re.IGNORECASE) is not None
        assert read(text) == expected, text


# -- names beyond ASCII ------------------------------------------------------------------------------------


@pytest.mark.campaign
def test_idn_host_names_are_valid_and_short_enough():
    idna = pytest.importorskip("idna")
    read, rng = accepts("idn-hostname"), random.Random(8)
    pools = [
        "abcxyz019-äöüßéñçøłžāşğœ",
        "абвгдеёжзийклмнопрстуфхцчшщыьэюя-0",
        "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώ͵a",
        "אבגדהוזחטיךכלםמןנסעףפץצקרשת׳״0-a",
        "ابتثجحخدذرزسشصضطظعغفقكلمنهوي٠١۰۱0-\u200c",
        "あいうえおアイウエオ・ー日本語a-",
        "कखगघचछजझटठडढ़्ि\u200c\u200d0",
        "가나다라마ก้ข์中文字a0l·",
    ]
    accepted = 0
    for _ in range(6000):
        pool = rng.choice(pools)
        labels = ["".join(rng.choices(pool, k=rng.randrange(1, 12))) for _ in range(rng.randrange(1, 4))]
        text = rng.choice(".。").join(labels)
        if read(text) and not text.isascii():
            accepted += 1
            try:
                idna.encode(text.replace("。", "."))
            except idna.IDNAError as error:
                raise AssertionError(ascii(text)) from error
    assert accepted > 300
    low, wide = (sorted(set(map(chr, range(0xDF, 0x600))) | set("az")), list(map(chr, range(0xDF, 0xFFFF))))
    for _ in range(20000):
        letters, length = rng.choice(((low, 14), (wide, 10)))
        text = "".join(rng.choices(letters, k=length))
        if rng.random() < 0.5:
            text = "".join(sorted(rng.choices(rng.sample(letters, 5), k=length), key=lambda c: rng.random()))
        assert len(text.encode("punycode", "surrogatepass")) + 4 <= 60


# -- mail, resources, pointers -----------------------------------------------------------------------------


def test_mail():
    read = accepts("email")
    for text in (
        "a@b",
        "a.b+c@d-e.example",
        '"a b\\"c"@x',
        "x@[1.2.3.4]",
        "x@[IPv6:1::2]",
        "x@[ipv6:1:2:3:4:5:6:7:8]",
    ):
        assert read(text), text
    for text in (
        "",
        "a",
        "@b",
        "a@",
        "a@-b",
        "a@b-",
        "a@b..c",
        "a b@c",
        'a"b@c',
        "a@[1.2.3]",
        "a@[::1]",
        "ä@b",
        "a@ä",
    ):
        assert not read(text), text
    assert not read("x@[IPv6:1:2:3:4:5:6:7::]")  # in mail `::` stands for two groups at least
    international = accepts("idn-email")
    assert international("ä@b") and international("a@ä.b") and not international("a@ä-")
    assert international("a@cafe\u0301.b") and not international("a@\u0301.b")
    assert not accepts("idn-hostname")("cafe\u0301.b")
    assert international("a@l·l.b") and not any(
        international(f"a@l·l{mark}.b") for mark in "\u0301\u0327\u0323"
    )


def test_resources():
    component, user, host, first = (
        rf"(?:[a-z0-9._~!$&'()*+,;={extra}-]|%[0-9a-f]{{2}})" for extra in (":@", ":", "", "@")
    )
    authority = rf"//(?:{user}*@)?(?:{host}*|\[[0-9a-f:]+\])(?::[0-9]*)?(?:/{component}*)*"
    absolute = rf"/(?:{component}+(?:/{component}*)*)?"
    ending = rf"(?:\?(?:{component}|[/?])*)?(?:#(?:{component}|[/?])*)?"
    rootless, no_colon = (rf"{part}+(?:/{component}*)*" for part in (component, first))
    full = rf"[a-z][a-z0-9+.-]*:(?:{authority}|{absolute}|{rootless}|){ending}"
    relative = rf"(?:{authority}|{absolute}|{no_colon}|){ending}"
    is_uri = re.compile(full, re.IGNORECASE)
    is_reference = re.compile(f"{full}|{relative}", re.IGNORECASE)
    rng = random.Random(9)
    seeds = (
        "http://u:p@h.x:80/a/b;c?q=1#f",
        "a:b",
        "//h/p",
        "/a//b",
        "x/y:z",
        "#",
        "?a?b",
        "urn:a:%41",
        "s://[::1]:8/",
    )
    for _ in range(8000):
        text = mutate(mutate(rng.choice(seeds), rng, "a:/?#@%4[] ."), rng, "a:/?#@%4é ")
        if "[" in text or "]" in text:
            continue  # addresses have a test of their own
        assert accepts("uri")(text) == (is_uri.fullmatch(text) is not None), text
        assert accepts("uri-reference")(text) == (is_reference.fullmatch(text) is not None), text
        plain = text.replace("é", "~")
        assert accepts("iri")(text) == accepts("uri")(plain), text
        assert accepts("iri-reference")(text) == accepts("uri-reference")(plain), text
    assert accepts("iri")("s:?\ue000") and not accepts("iri")("s:\ue000") and not accepts("iri")("s:\ufdd0")


def test_pointers_and_templates():
    relative = accepts("relative-json-pointer")
    for text, expected in {
        "0": True,
        "0#": True,
        "1/a~1": True,
        "01": False,
        "0+1": False,
        "/a": False,
        "": False,
    }.items():
        assert relative(text) == expected, text
    later = reader(formats.formats_of("2020-12")["relative-json-pointer"])
    assert later("0+1/a") and later("2-1#") and not later("0+0") and not later("0+") and later("0")
    pointer = accepts("json-pointer")
    assert pointer("") and pointer("/a~0~1") and not pointer("a") and not pointer("/~") and not pointer("/~2")
    template = accepts("uri-template")
    for text, expected in {
        "{a}": True,
        "{+a,b*,c:3}": True,
        "{": False,
        "}": False,
        "{a:0}": False,
        "a%4": False,
    }.items():
        assert template(text) == expected, text


# -- patterns ----------------------------------------------------------------------------------------------


def test_patterns_read_by_python_too():
    read, rng = accepts("regex"), random.Random(10)
    accepted = 0
    for _ in range(8000):
        text = "".join(rng.choices(["a", "b", "0", "(", ")", "(?:", "(?=", "[", "]", "^", "-", "+", "*", "?", "|", "\\d",
            "\\w", "\\.", ".", "{2}", "{1,3}", "{3,1}", "$", "a-z", "\\", "\\("], k=rng.randrange(1, 9)))  # fmt: skip
        if read(text):
            accepted += 1
            python = text.replace("[]", r"[^\s\S]").replace("[^]", r"[\s\S]").replace("[[", r"[\[")
            re.compile(python)
    assert accepted > 500


def test_patterns():
    read = accepts("regex")
    for text in (
        "", "^[a-z]+$", "a|b", "(a(b(c)))*", "(?<n>a)b", "(?=a)b", "(?<!a)b", "[^]", "[]", "\\cA", "\\u00e9", "a{2,5}?",
        "^(?=.*[A-Z])(?=.*\\d)[A-Za-z\\d]{8,}$", "\\p{Lu}\\P{L}", "[\\w.-]+@[\\w-]+", "[^)(]*", "(?<n>a)(b)\\k<n>{2}", "\\[(a)", "{".replace("{", "a{3}"),
    ):  # fmt: skip
        assert read(text), text
    for text in (
        "(", ")", "(a", "a)", "[a", "*", "a**", "a{3,2}", "{", "}", "]", "\\", "\\a", "\\1", "(?P<n>a)", "(?i)a", "(?#a)b",
        "(?<n>a)(?<n>b)", "(?=a)*", "(?<1>a)", "[z-a]", "\\u00", "\\x1", "\\c1", "\\k<n>", "(?<n>a)\\k<m>", "(?", "(?a)", "[(]) ".strip() + ")",
    ):  # fmt: skip
        assert not read(text), text
