"""date, time, date-time (RFC 3339) and duration (RFC 3339, appendix A)."""

from __future__ import annotations

from functools import cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.parts import DIGIT, alt, chars, opt, rep, seq

MOST_DECIMALS: Final = 9  # of seconds that a model writes: nanoseconds


@cache
def date() -> ir.Expr:
    """Return full-date: real days of the Gregorian calendar, years 0000 to 9999. Source: RFC 3339, 5.6."""
    two = rep(DIGIT, 2, 2)
    to_28 = alt(seq("0", chars("1-9")), seq("1", DIGIT), seq("2", chars("0-8")))
    to_30 = alt(seq("0", chars("1-9")), seq(chars("12"), DIGIT), "30")
    day = alt(
        seq(alt("01", "03", "05", "07", "08", "10", "12"), "-", alt(to_30, "31")),
        seq(alt("04", "06", "09", "11"), "-", to_30),
        seq("02-", to_28),
    )
    # a multiple of 4 in two digits, and of 400 in four
    fourth = alt(seq("0", chars("48")), seq(chars("2468"), chars("048")), seq(chars("13579"), chars("26")))
    leap_year = alt(seq(two, fourth), seq(alt("00", fourth), "00"))  # mutant: centuries
    return alt(seq(rep(DIGIT, 4, 4), "-", day), seq(leap_year, "-02-29"))


@cache
def time(plain: bool = False) -> ir.Expr:
    """Return full-time: a time of day with its offset from UTC. ``plain``: ``Z`` alone, and nanoseconds at most.

    A leap second is the last of a day of UTC, so its hour and minute depend on the offset. Narrowing: leap
    seconds with an offset that is no multiple of half an hour are left out; there are 1,440 for each sign.
    """
    hour = alt(seq(chars("01"), DIGIT), seq("2", chars("0-3")))
    minute = seq(chars("0-5"), DIGIT)
    fraction = opt(".", rep(DIGIT, 1, MOST_DECIMALS if plain else None))
    utc = chars("Z" if plain else "Zz")
    offset = alt(utc, seq(chars("+-"), hour, ":", minute))
    usual = seq(hour, ":", minute, ":", minute, fraction, offset)
    leap: list[ir.Expr] = []
    for local in range(24):
        zones = [f"-{23 - local:02}:00", f"+{(local + 1) % 24:02}:00"]
        zone = alt(*zones, utc) if local == 23 else alt(*zones)
        leap.append(seq(f"{local:02}:59:60", fraction, zone))
        leap.append(seq(f"{local:02}:29:60", fraction, alt(f"-{23 - local:02}:30", f"+{local:02}:30")))
    return alt(usual, *leap)


@cache
def date_time(plain: bool = False) -> ir.Expr:
    """Return date-time: a date and a time with ``T`` between them. ``plain``: not ``t``; else as for ``time``."""
    return seq(date(), chars("T" if plain else "Tt"), time(plain))


@cache
def duration(plain: bool = False) -> ir.Expr:
    """Return duration; a unit may only be left out at either end. Source: RFC 3339, appendix A.

    ``plain``: with at most so many digits in a row.
    """
    digits = rep(DIGIT, 1, MOST_DECIMALS if plain else None)
    minutes = seq("M", opt(digits, "S"))
    hours = seq("H", opt(digits, minutes))
    clock = seq("T", digits, alt(hours, minutes, "S"))
    months = seq("M", opt(digits, "D"))
    years = seq("Y", opt(digits, months))
    return seq("P", alt(seq(digits, alt("W", seq(alt(years, months, "D"), opt(clock)))), clock))
