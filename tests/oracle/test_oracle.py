"""Check the oracle itself: against Lark's Earley, against ``re``, and on cases small enough to see."""

from __future__ import annotations

import itertools
import random
import re

import lark
import pytest

from oracle.earley import Recognizer
from oracle.masks import brute_force_mask
from oracle.regular import compile_dfa
from stackmask.grammar.ir import (
    ANY_CHAR,
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Complement,
    Dynamic,
    Expr,
    Intersection,
    Literal,
    NotFollowedBy,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    TokenTerminal,
)


def rule_set(start: str = "s", /, **rules: Expr) -> RuleSet:
    return RuleSet({name: Rule(name, body) for name, body in rules.items()}, start)


def seq(*items: Expr | str) -> Expr:
    return Sequence(tuple(Literal(i.encode()) if isinstance(i, str) else i for i in items))


def alt(*items: Expr | str) -> Expr:
    return Choice(tuple(Literal(i.encode()) if isinstance(i, str) else i for i in items))


def mask(data: str) -> int:
    return sum(1 << b for b in data.encode())


def language(rules: RuleSet, alphabet: bytes, length: int) -> set[bytes]:
    """Return all strings up to a length; check that viability agrees with what is found further on."""
    recognizer = Recognizer(rules)
    found = set()
    todo = [(b"", recognizer.start())]
    for text, state in todo:
        if state.accepting:
            found.add(text)
        if len(text) < length and state.viable:
            todo += [(text + bytes([b]), recognizer.advance(state, b)) for b in alphabet]
    return found


# --- against Lark -----------------------------------------------------------------------------------


def random_plain(rng: random.Random) -> tuple[RuleSet, str]:
    """Return a random context-free grammar twice: as a RuleSet and in Lark's notation."""
    names = [f"r{i}" for i in range(rng.randint(1, 4))]

    def expression(depth: int) -> tuple[Expr, str]:
        kind = rng.choice(["lit", "lit", "ref", "seq", "seq", "alt", "rep"] if depth else ["lit", "ref"])
        if kind == "lit":
            char = rng.choice("abc")
            return Literal(char.encode()), f'"{char}"'
        if kind == "ref":
            name = rng.choice(names)
            return RuleRef(name), name
        if kind == "rep":
            item, text = expression(depth - 1)
            low, high, mark = rng.choice([(0, 1, "?"), (0, None, "*"), (1, None, "+"), (2, 3, "~2..3")])
            return Repeat(item, low, high), f"({text}){mark}"
        pairs = [expression(depth - 1) for _ in range(rng.randint(0 if kind == "seq" else 2, 3))]
        items = tuple(p[0] for p in pairs)
        if kind == "seq":
            return Sequence(items), "(" + " ".join(p[1] for p in pairs) + ")" if pairs else '("a" "b")?'
        return Choice(items), "(" + " | ".join(p[1] for p in pairs) + ")"

    rules, lines = {}, []
    for name in names:
        while True:
            body, text = expression(3)
            if '("a" "b")?' not in text:
                break
        rules[name] = Rule(name, body)
        lines.append(f"{name}: {text}")
    return RuleSet(rules, names[0]), "\n".join(lines)


@pytest.mark.campaign
def test_random_grammars_agree_with_lark() -> None:
    rng = random.Random(20240)
    words = ["".join(w) for n in range(5) for w in itertools.product("abc", repeat=n)]
    judged = 0
    for _ in range(120):
        rules, text = random_plain(rng)
        try:
            parser = lark.Lark(text, start=rules.start, parser="earley", lexer="basic", ambiguity="resolve")
        except lark.exceptions.GrammarError:
            continue  # a grammar that Lark will not take, say two equal alternatives
        recognizer = Recognizer(rules)
        for word in words:
            try:
                parser.parse(word)
                expected = True
            except (lark.exceptions.UnexpectedInput, lark.exceptions.ParseError):
                expected = False
            assert recognizer.accepts(word.encode()) == expected, (text, word)
        judged += 1
    assert judged >= 60


def test_viability_is_a_prefix_of_an_accepted_string() -> None:
    rng = random.Random(7)
    for _ in range(60):
        rules, text = random_plain(rng)
        recognizer = Recognizer(rules)
        accepted = language(rules, b"abc", 6)
        prefixes = {w[:i] for w in accepted for i in range(len(w) + 1)}
        for word in ("".join(w).encode() for n in range(3) for w in itertools.product("abc", repeat=n)):
            if word in prefixes:
                assert recognizer.viable_prefix(word), (text, word)
            elif recognizer.viable_prefix(word):  # then a string beyond the length must show it
                state = recognizer.run(word)
                for _ in range(200):
                    if state.accepting:
                        break
                    after = [a for b in b"abc" if (a := recognizer.advance(state, b)).viable]
                    assert after, (text, word)
                    state = rng.choice(after)


# --- against re -------------------------------------------------------------------------------------


def random_regular(rng: random.Random, depth: int) -> tuple[Expr, str]:
    kind = rng.choice(["lit", "class", "seq", "alt", "rep"] if depth else ["lit", "class"])
    if kind == "lit":
        char = rng.choice("abé€😀")
        return Literal(char.encode()), char
    if kind == "class":
        low, high = sorted(rng.sample(["a", "b", "ÿ", "Ā", "ࠀ", "￿", "😀"], 2))
        return CharClass(((ord(low), ord(high)),)), f"[{low}-{high}]"
    if kind == "rep":
        item, text = random_regular(rng, depth - 1)
        low, high = rng.choice([(0, 1), (0, None), (1, None), (1, 3), (0, 2), (2, 2)])
        return Repeat(item, low, high), f"(?:{text}){{{low},{'' if high is None else high}}}"
    pairs = [random_regular(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    items = tuple(p[0] for p in pairs)
    if kind == "seq":
        return Sequence(items), "".join(f"(?:{p[1]})" for p in pairs)
    return Choice(items), "(?:" + "|".join(p[1] for p in pairs) + ")"


@pytest.mark.campaign
def test_random_regular_expressions_agree_with_re() -> None:
    rng = random.Random(11)
    for _ in range(150):
        expr, pattern = random_regular(rng, 3)
        other, other_pattern = random_regular(rng, 2)
        recognizers = [
            Recognizer(rule_set(s=e))
            for e in (
                expr,
                Intersection((expr, other)),
                Intersection((expr, Complement(other))),
                Complement(expr),
            )
        ]
        for _ in range(12):
            word = "".join(rng.choice("abé€😀ÿĀࠀ") for _ in range(rng.randint(0, 4)))
            a = re.fullmatch(pattern, word) is not None
            b = re.fullmatch(other_pattern, word) is not None
            assert [r.accepts(word.encode()) for r in recognizers] == [a, a and b, a and not b, not a], (
                pattern,
                other_pattern,
                word,
            )


def test_every_character_is_spelled_as_python_spells_it() -> None:
    dfa = compile_dfa(ANY_CHAR, {})
    for point in [*range(0x900), *range(0xD700, 0xE100), *range(0xFFF0, 0x10020), 0x10FFFF, 0x10FFFE]:
        try:
            data = chr(point).encode()
        except UnicodeEncodeError:
            data = chr(point).encode("utf-8", "surrogatepass")
        state: int | None = 0
        for byte in data:
            state = None if state is None else dfa.steps[state].get(byte)
        assert (state in dfa.accepting) == (not 0xD800 <= point <= 0xDFFF)
    for bad in (b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\x80"):
        assert not Recognizer(rule_set(s=ANY_CHAR)).accepts(bad)


# --- restrictions -----------------------------------------------------------------------------------


def test_restriction_kills_the_prefix_before_it_is_read() -> None:
    rules = rule_set(s=alt(seq("x", "a", NotFollowedBy(mask("b")), "b"), "xc"))
    recognizer = Recognizer(rules)
    assert recognizer.viable_prefix(b"x")
    assert not recognizer.viable_prefix(b"xa")


def test_restriction_crosses_rule_ends_and_empty_rules() -> None:
    word = seq("a", NotFollowedBy(mask("ab")))
    rules = rule_set(
        s=seq(RuleRef("w"), RuleRef("e"), Repeat(RuleRef("t"), 0, None)),
        w=word,
        e=alt("", "-"),
        t=alt("b", "c"),
    )
    assert language(rules, b"abc-", 3) == {
        b"a", b"a-", b"ac", b"a-b", b"a-c", b"acb", b"acc",
    }  # fmt: skip


def test_restriction_inside_a_repetition_applies_to_the_next_round() -> None:
    rules = rule_set(s=Repeat(alt(seq("a", NotFollowedBy(mask("a"))), "b"), 0, None))
    found = language(rules, b"ab", 5)
    assert found == {
        "".join(w).encode()
        for n in range(6)
        for w in itertools.product("ab", repeat=n)
        if "aa" not in "".join(w)
    }


@pytest.mark.campaign
def test_restrictions_agree_with_lookahead_of_re() -> None:
    rng = random.Random(5)

    def expression(depth: int) -> tuple[Expr, str]:
        kind = rng.choice(["lit", "not", "seq", "seq", "alt", "rep"] if depth else ["lit", "not"])
        if kind == "lit":
            char = rng.choice("abc")
            return Literal(char.encode()), char
        if kind == "not":
            chars = "".join(sorted(rng.sample("abc", rng.randint(1, 2))))
            return NotFollowedBy(mask(chars)), f"(?![{chars}])"
        if kind == "rep":
            item, text = expression(depth - 1)
            low, high = rng.choice([(0, 1), (0, None), (1, None), (1, 3), (2, 2)])
            return Repeat(item, low, high), f"(?:{text}){{{low},{'' if high is None else high}}}"
        pairs = [expression(depth - 1) for _ in range(rng.randint(2, 3))]
        items = tuple(p[0] for p in pairs)
        if kind == "seq":
            return Sequence(items), "".join(p[1] for p in pairs)
        return Choice(items), "(?:" + "|".join(p[1] for p in pairs) + ")"

    words = ["".join(w) for n in range(6) for w in itertools.product("abc", repeat=n)]
    for _ in range(150):
        expr, pattern = expression(4)
        compiled = re.compile(pattern)
        recognizer = Recognizer(rule_set(s=expr))
        expected = {w for w in words if compiled.fullmatch(w)}
        assert {w for w in words if recognizer.accepts(w.encode())} == expected, pattern
        for word in words[:40]:
            state = recognizer.run(word.encode())
            if state.viable and not state.accepting:  # never a dead end
                assert any(recognizer.advance(state, b).viable for b in b"abc"), (pattern, word)
        for word in words:
            if len(word) <= 2 and any(w.startswith(word) for w in expected):
                assert recognizer.viable_prefix(word.encode()), (pattern, word)


# --- what plain grammars do not have ----------------------------------------------------------------


def test_stack_of_texts() -> None:
    name = Repeat(CharClass(((97, 98),)), 1, None)
    element = Scope(seq("<", Capture(name), ">", Repeat(RuleRef("e"), 0, None), "</", Dynamic("top"), ">"))
    recognizer = Recognizer(rule_set("e", e=element))
    assert recognizer.accepts(b"<a><b></b><ab></ab></a>")
    assert not recognizer.viable_prefix(b"<a><b></a")
    assert not recognizer.viable_prefix(b"<a><b></bb")


def test_callable_actions_and_resolvers() -> None:
    def longer(value: object, text: bytes) -> int | None:
        return len(text) if len(text) > int(str(value)) else None

    def digits(value: object) -> Expr:
        return Repeat(Literal(b"."), int(str(value)), int(str(value)))

    body = Repeat(seq(Capture(Repeat(Literal(b"a"), 1, None), longer), Dynamic(digits)), 1, None)
    recognizer = Recognizer(RuleSet({"s": Rule("s", body)}, "s", initial=0))
    assert recognizer.accepts(b"a.aa..aaaa....")
    assert not recognizer.viable_prefix(b"a.a.")


def test_special_tokens_are_not_text_and_satisfy_restrictions() -> None:
    tool = TokenTerminal(("<|tool|>",))
    recognizer = Recognizer(
        rule_set(
            s=seq(
                "a",
                NotFollowedBy(mask("b")),
                alt(tool, "b", ""),
                Repeat(TokenTerminal(id_ranges=((8, 9),)), 0, 1),
            )
        ),
        {"<|tool|>": 7},
        {7, 9},
    )
    assert recognizer.accepts([97, ("token", 7)])
    assert recognizer.accepts([97, ("token", 7), ("token", 9)])
    assert recognizer.viable_prefix([97, ("token", 8)])
    assert not recognizer.viable_prefix([97, ("token", 6)])
    assert not recognizer.viable_prefix(b"ab")
    tokens = [b"a", b"<|tool|>", b"ab", None, b"", b"a", None, None, None, None]
    for text, expected in ((b"", {0, 5}), (b"a", {3, 7, 8, 9}), ([97, ("token", 7)], {3, 8, 9})):
        assert brute_force_mask(recognizer, [recognizer.run(text)], tokens, {3}) == expected


def test_large_counts_and_nullable_items() -> None:
    rules = rule_set(s=Repeat(alt("", "a", "bb"), 2, 3000))
    recognizer = Recognizer(rules)
    assert recognizer.accepts(b"") and recognizer.accepts(b"abba") and not recognizer.accepts(b"ab")
    bounded = Recognizer(rule_set(s=seq(Repeat(ByteClass(mask("ab")), 30, 40), ";")))
    assert [bounded.accepts(b"a" * n + b";") for n in (29, 30, 40, 41)] == [False, True, True, False]


def test_nonempty_reference() -> None:
    rules = rule_set(s=seq(RuleRef("x", nonempty=True), "!"), x=Repeat(RuleRef("y"), 0, 2), y=alt("", "a"))
    assert language(rules, b"a!", 4) == {b"a!", b"aa!"}


@pytest.mark.parametrize("word", [b"", b"a", b"aa", b"aaaaaa"])
def test_hidden_and_cyclic_left_recursion(word: bytes) -> None:
    rules = rule_set(
        s=alt(seq(RuleRef("e"), RuleRef("s"), RuleRef("s")), RuleRef("s"), "a", ""), e=alt("", RuleRef("e"))
    )
    assert Recognizer(rules).accepts(word)
