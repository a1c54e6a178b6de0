"""Imports: names across files, and what can go wrong with files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import check_samples

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.notation import modules
from stackmask.grammar.source.diagnostics import GrammarError, GrammarFileError
from stackmask.grammar.source.files import bundled_names


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.ebnf").write_text(text, encoding="utf-8")
    return folder


def test_imported_rules_live_under_names_of_their_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='%import "lib.ebnf" (a, b as c)\nroot ::= a c b\nb ::= "main"',
        lib='a ::= b\nb ::= "lib"\nunused ::= b',
    )
    grammar = Grammar.from_file(tmp_path / "main.ebnf")
    assert set(grammar.rules.rules) == {"root", "b", "lib.a", "lib.b"}
    check_samples(grammar.rules, ['"liblibmain"'], ['"mainlibmain"'])


def test_prefixes_never_clash(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", lib='x ::= "3"')
    write(
        tmp_path,
        main='%import "lib.ebnf" (x)\n%import "sub/lib.ebnf" (x as y)\nroot ::= x y lib.x\nlib.x ::= "1"',
        lib='x ::= "2"',
    )
    grammar = Grammar.from_file(tmp_path / "main.ebnf")
    assert set(grammar.rules.rules) == {"root", "lib.x", "lib2.x", "lib3.x"}
    check_samples(grammar.rules, ['"231"'], [])


def test_paths_are_relative_to_the_importing_file_and_files_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(
        tmp_path,
        main='%import "sub/one.ebnf" (one)\n%import "two.ebnf" (two)\nroot ::= one two',
        two='two ::= "2"',
    )
    write(tmp_path / "sub", one='%import "../two.ebnf" (two)\none ::= "1" two')
    grammar = Grammar.from_file(tmp_path / "main.ebnf")
    assert len(grammar.rules.sources) == 3
    check_samples(grammar.rules, ['"122"'], [])


def test_files_may_import_each_other(tmp_path: Path) -> None:
    write(
        tmp_path,
        a='%import "b.ebnf" (b)\nroot ::= "(" b ")" | "a"',
        b='%import "a.ebnf" (root as a)\nb ::= "[" a "]"',
    )
    check_samples(Grammar.from_file(tmp_path / "a.ebnf").rules, ['"([([a])])"'], ['"([b])"'])


def test_an_imported_name_can_be_the_start_rule_and_be_passed_on(tmp_path: Path) -> None:
    write(tmp_path, main='%import "mid.ebnf" (x)', mid='%import "low.ebnf" (x)\ny ::= x', low='x ::= "x"')
    with pytest.raises(GrammarError, match=r"`mid.ebnf` has no rule `x`"):
        Grammar.from_file(tmp_path / "main.ebnf", "x")
    write(tmp_path, main='%import "mid.ebnf" (y)')
    check_samples(Grammar.from_file(tmp_path / "main.ebnf", "y").rules, ['"x"'], [])


def test_each_file_has_its_own_skip(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='%import "lib.ebnf" (pair)\nroot ::= "<" pair ">"\n%skip " "',
        lib='pair ::= "a" "b"\n%skip "_"',
        plain='%import "lib.ebnf" (pair)\nroot ::= "<" pair ">"',
    )
    check_samples(
        Grammar.from_file(tmp_path / "main.ebnf").rules, ['"<ab>"', '" < a_b__  > "'], ['"<a b>"', '"_<ab>"']
    )
    check_samples(Grammar.from_file(tmp_path / "plain.ebnf").rules, ['"<a_b_>"'], ['"< ab>"', '"<_ab>"'])


def test_a_skip_rule_can_be_imported(tmp_path: Path) -> None:
    write(tmp_path, main='%import "lib.ebnf" (ws)\nroot ::= "a" "b"\n%skip ws', lib='ws ::= " "*')
    check_samples(Grammar.from_file(tmp_path / "main.ebnf").rules, ['"a  b"'], ['"a_b"'])


def test_problems_of_all_files_are_reported_with_their_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='%import "lib.ebnf" (a)\n%import "gone.ebnf" (b)\n%import "." (c)\nroot ::= a b oops',
        lib='a ::= missing [z-a]\nx ::= "',
    )
    with pytest.raises(GrammarError) as refused:
        Grammar.from_file(tmp_path / "main.ebnf")
    text = str(refused.value)
    assert [d.code for d in refused.value.diagnostics] == ["G013", "G013", "G003", "G003", "G007", "G002"]
    assert f"{tmp_path / 'lib.ebnf'}:1:7" in text
    assert "no such grammar file" in text
    assert "not a grammar file but a directory" in text


def test_a_file_is_read_once_however_its_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(modules, "read_text", lambda path: read.append(path) or path.read_text("utf-8"))
    imports = "".join(f'%import "{"./" * n}lib.ebnf" (a as a{n})\n' for n in range(50))
    write(tmp_path, main=f"{imports}root ::= a0 a49", lib='a ::= "x"')
    assert Grammar.from_file(tmp_path / "main.ebnf").accepts("xx")
    assert len(read) == 1


def test_stacks_of_files(tmp_path: Path) -> None:
    write(tmp_path, main='%import "lib.ebnf" (x)\nroot ::= x', lib='%stack "s"\nx ::= @top')
    assert Grammar.from_file(tmp_path / "main.ebnf").rules.initial == (b"s",)
    write(tmp_path, main='%stack "t"\n%import "lib.ebnf" (x)\nroot ::= x')
    with pytest.raises(GrammarError, match="G018"):
        Grammar.from_file(tmp_path / "main.ebnf")


def test_a_text_imports_relative_to_its_base(tmp_path: Path) -> None:
    write(tmp_path, lib='x ::= "x"')
    check_samples(Grammar.from_ebnf('%import "lib.ebnf" (x)\nroot ::= x', base=tmp_path).rules, ['"x"'], [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00\x01", "binary"),
        (b'root ::= "\xff"', "not UTF-8 .byte 0xFF at offset 10"),
        (b"#" * (17 << 20), "larger than 16 MiB"),
    ],
)
def test_unusable_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "g.ebnf"
    path.write_bytes(content)
    with pytest.raises(GrammarFileError, match=message) as refused:
        Grammar.from_file(path)
    assert "\n" not in str(refused.value)


def test_missing_files_and_directories(tmp_path: Path) -> None:
    for path in (
        tmp_path / "gone.ebnf",
        tmp_path,
        tmp_path / "gone" / "x.ebnf",
        tmp_path / "a\0b",
        tmp_path / ("x" * 300),
    ):
        with pytest.raises(GrammarFileError) as refused:
            Grammar.from_file(path)
        assert "\n" not in str(refused.value)
    with pytest.raises(GrammarFileError, match=r"no bundled grammar `nope`; there are: .*json"):
        Grammar.bundled("nope")


def test_a_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    (tmp_path / "g.ebnf").write_bytes(b'\xef\xbb\xbfroot ::= "a"\r\n  | "b" # c\r\nx ::= "y"\r\n')
    check_samples(Grammar.from_file(tmp_path / "g.ebnf").rules, ['"a"', '"b"'], [])


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_grammars_load(name: str) -> None:
    assert Grammar.bundled(name).rules.rules
