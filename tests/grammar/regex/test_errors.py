"""Every refusal has a code and a caret at the right place."""

from __future__ import annotations

import pytest

from stackmask import Grammar, GrammarError, StackmaskError
from stackmask.grammar.regex.compile import regex_expr

# the caret line shows the piece that the diagnostic points at
CASES: list[tuple[str, str, str, str, str]] = [
    ("ecma", "", "a(b", "G008", "("),
    ("ecma", "", "a)b", "G008", ")"),
    ("ecma", "", "[ab", "G008", "["),
    ("ecma", "", "*a", "G008", "*"),
    ("ecma", "", "a**", "G008", "*"),
    ("ecma", "", "^*", "G008", "*"),
    ("ecma", "", "a{3,1}", "G005", "{3,1}"),
    ("ecma", "", "a{9999999999}", "G005", "{9999999999}"),
    ("ecma", "", "[z-a]", "G007", "z-a"),
    ("ecma", "", r"\p{Nope}", "G007", r"\p{Nope}"),
    ("ecma", "", r"\p{Greek}", "G007", r"\p{Greek}"),
    ("ecma", "", r"(a)\1", "G009", r"\1"),
    ("ecma", "", r"(?<x>a)\k<x>", "G009", r"\k<x>"),
    ("ecma", "", "(?>a)", "G008", "(?>"),
    ("ecma", "", "(?P<x>a)", "G008", "(?P"),
    ("ecma", "", "a\\", "G006", "\\"),
    ("ecma", "u", r"\_", "G006", r"\_"),
    ("ecma", "u", "a{", "G008", "{"),
    ("ecma", "u", r"\u{110000}", "G006", r"\u{110000}"),
    ("ecma", "u", r"[\w-a]", "G007", r"\w-a"),
    ("ecma", "v", "[a(b]", "G007", "("),
    ("ecma", "v", r"[\q{ab}]", "G009", r"\q{ab}"),
    ("ecma", "v", r"\p{RGI_Emoji}", "G007", r"\p{RGI_Emoji}"),
    ("ecma", "", "(?<x>a)(?<x>b)", "G008", "x"),
    ("ecma", "", "(?<x>a|(?<x>b))", "G008", "x"),
    ("python", "", "(?P<x>a)|(?P<x>b)", "G008", "x"),
    ("rust", "", "(?<x>a)|(?P<x>b)", "G008", "x"),
    ("python", "", r"\q", "G006", r"\q"),
    ("python", "", r"\p{L}", "G006", r"\p"),
    ("python", "", r"\x4", "G006", r"\x4"),
    ("python", "", r"\N{NO SUCH NAME}", "G006", r"\N{NO SUCH NAME}"),
    ("python", "", "a(?i)b", "G008", "(?i)"),
    ("python", "", "(?P=x)", "G009", "(?P=x)"),
    ("python", "", "(a)?(?(1)b|c)", "G009", "(?(1)"),
    ("python", "", "(?L)a", "G009", "(?L)"),
    ("python", "", "(?:a|bc)*+d", "G009", "*"),
    ("python", "", "a{2}{3}", "G008", "{3}"),
    ("rust", "", "(?=a)", "G008", "(?="),
    ("rust", "", r"\1", "G009", r"\1"),
    ("rust", "", "a{", "G008", "{"),
    ("rust", "", r"\q", "G006", r"\q"),
    ("rust", "", r"\p{Nope}", "G007", r"\p{Nope}"),
    ("rust", "", r"(?-u)\xff", "G008", r"\xff"),
    ("rust", "", r"(?-u)\pL", "G008", r"\pL"),
    ("rust", "", "(?ii)a", "G008", "(?ii)"),
    ("rust", "", r"[\b]", "G006", r"\b"),
    ("rust", "", "x{}", "G005", "{}"),
    ("ecma", "", r"(?:(?:\b|x){50}){50}", "G009", "\\"),
    ("ecma", "", "(" * 101 + ")" * 101, "G015", "("),
]


@pytest.mark.parametrize(("flavor", "flags", "pattern", "code", "pointed"), CASES, ids=lambda c: str(c)[:30])
def test_code_and_place(flavor: str, flags: str, pattern: str, code: str, pointed: str) -> None:
    with pytest.raises(GrammarError) as refused:
        regex_expr(pattern, flavor=flavor, flags=flags)  # type: ignore[arg-type]
    first = refused.value.diagnostics[0]
    assert (first.code, first.span and pattern[first.span.start : first.span.end]) == (code, pointed)
    assert "^" in str(refused.value).split("\n")[4]


def test_all_problems_at_once() -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_regex(r"[z-a](\p{Nope}**")
    assert [d.code for d in refused.value.diagnostics] == ["G007", "G008", "G007", "G008"]


READ = r"""error[G008]: unclosed group
 --> <regex>:1:8
  |
1 | ^[a-z]+(\d{2,1}$
  |        ^ opened here
  |
  = help: add a `)`, or write `\(` for the text

error[G005]: the repetition ends at 1 before it begins at 2
 --> <regex>:1:11
  |
1 | ^[a-z]+(\d{2,1}$
  |           ^^^^^ reversed bounds
  |
  = help: did you mean `{1,2}`?
"""


def test_what_a_user_reads() -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_regex(r"^[a-z]+(\d{2,1}$")
    assert str(refused.value) == READ.rstrip("\n")


def test_flags_are_checked() -> None:
    with pytest.raises(GrammarError, match="unknown flag `q`"):
        regex_expr("a", flags="q")
    with pytest.raises(GrammarError, match="unknown flag `v`"):
        regex_expr("a", flavor="python", flags="v")
    with pytest.raises(StackmaskError, match="there are: ecma, python, rust"):
        regex_expr("a", flavor="perl")  # type: ignore[arg-type]


def test_wrong_types_are_named() -> None:
    for pattern in (None, 3, ["a"]):
        with pytest.raises(StackmaskError, match=r"a pattern is str, bytes or re\.Pattern, not"):
            Grammar.from_regex(pattern)  # type: ignore[arg-type]
    with pytest.raises(StackmaskError, match="flags are letters in a str, not NoneType"):
        Grammar.from_regex("a", flags=None)  # type: ignore[arg-type]


def test_names_of_groups_may_repeat_in_other_alternatives() -> None:
    for pattern in ("(?<x>a)|(?<x>b)", "(?:(?<x>a)|b(?<x>c))(?<y>d)", "(?<$é>a)"):
        regex_expr(pattern)
