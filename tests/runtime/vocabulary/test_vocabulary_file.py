"""Vocabularies on disk: what comes back, and what is refused; test_container damages each byte of a file."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.threads import in_threads

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import pack
from stackmask.pda.vocabulary.token_trie import Trie
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

HEAD = 64  # magic, version, byte order, checksum, padding; what follows is under the checksum


def small() -> Vocabulary:
    return Vocabulary(
        [b"a", b"ab", None, b"<x>", b"", b"a", None, b"\xff"],
        stop_ids=[6, 9],
        special_names={"<ü\ud800>": 2, "<y>": 10},
        special_ids=[3],
        added_ids=[5],
        size=11,
        strip_first_space=True,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def state(vocab: Vocabulary) -> tuple[Any, ...]:
    return (
        *(vocab.size, vocab.tokens, vocab.stop_ids, vocab.special_ids, dict(vocab.special_names)),
        *(list(vocab.special_names), vocab.strip_first_space, vocab.digest(), bytes(vocab._trie().block)),
    )


@pytest.mark.parametrize("vocab", [small(), Vocabulary([None]), Vocabulary([b"a"])])
def test_what_is_saved_comes_back(vocab: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "v"
    vocab.save(str(path))
    loaded = Vocabulary.load(path)
    assert state(loaded) == state(vocab)
    assert loaded._trie() is vocab._trie()
    assert state(pickle.loads(pickle.dumps(vocab))) == state(vocab)
    loaded.save(path)
    assert state(Vocabulary.load(path)) == state(vocab)
    assert names(tmp_path) == ["v"]


def test_another_process_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "v"
    vocab = Vocabulary([b"y", b"es", b"n", b"o", b"e", b"s", None], stop_ids=[6])
    vocab.save(path)
    script = """
import sys
import stackmask as sm
vocab = sm.Vocabulary.load(sys.argv[1])
matcher = sm.Compiler(vocab).compile(sm.Grammar.from_ebnf('root ::= "yes" | "no"')).matcher()
print(matcher.accept_token(0), matcher.accept_token(3), matcher.accept_token(1), vocab.digest())
"""
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True", vocab.digest()]


def test_other_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "v"
    small().save(path)
    whole = path.read_bytes()
    for at, value, message in (
        (16, struct.pack("=I", 99), "its format is version 99, not 2"),
        (20, struct.pack(">I" if sys.byteorder == "little" else "<I", 0x01020304), "another byte order"),
        (HEAD + 40, b"?", "damaged"),
        (0, b"PK", "does not begin like one"),
    ):
        path.write_bytes(whole[:at] + value + whole[at + len(value) :])
        with pytest.raises(VocabularyError, match=message):
            Vocabulary.load(path)
    path.write_bytes(whole[:-1])
    with pytest.raises(VocabularyError, match=f"^{path} is not a vocabulary that can be loaded"):
        Vocabulary.load(path)
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "none")
    with pytest.raises(OSError, match="is a folder") as caught:
        Vocabulary.load(tmp_path)
    assert isinstance(caught.value, StackmaskError)


def signed(body: bytes) -> bytes:
    """Return a file with a checksum that is right, whatever is in it."""
    return (
        struct.pack("=16sII32s8x", b"stackmask-vocab\n", 2, 0x01020304, hashlib.sha256(body).digest()) + body
    )


def body(fields: Any, texts: bytes, order: bytes, count: int) -> bytes:
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    parts = [part + bytes(-len(part) % 16) for part in (text, texts)]
    return b"".join((struct.pack("=QQQQ", count, len(text), len(texts), len(order)), *parts, order))


GOOD = {
    "key": "",
    "size": 3,
    "stop_ids": [2],
    "special_ids": [2],
    "special_names": {},
    "strip_first_space": False,
    "added_ids": [2],
}
TEXTS = pack([b"ab", b"b", None])
ORDER = bytes(Trie(TEXTS).order)


def test_contents_are_checked_even_under_a_right_checksum(tmp_path: Path) -> None:
    path = tmp_path / "v"
    texts = bytes(TEXTS.block)
    path.write_bytes(signed(body(GOOD, texts, ORDER, 3)))
    assert Vocabulary.load(path).tokens == (b"ab", b"b", None)
    other_order = bytes(Trie(pack([b"b", b"ab", None])).order)
    bad: list[tuple[Any, bytes, bytes, int]] = [
        (GOOD, texts, other_order, 3),
        (GOOD, texts, b"", 3),
        (GOOD, texts, ORDER, 2),
        (GOOD, texts, ORDER, 1 << 63),
        (GOOD, b"", ORDER, 3),
        (b"{", texts, ORDER, 3),
        (b"[" * 100_000, texts, ORDER, 3),
        ([], texts, ORDER, 3),
        ({}, texts, ORDER, 3),
        ({**GOOD, "more": 1}, texts, ORDER, 3),
        ({**GOOD, "size": 2}, texts, ORDER, 3),
        ({**GOOD, "size": 1 << 80}, texts, ORDER, 3),
        ({**GOOD, "size": True}, texts, ORDER, 3),
        ({**GOOD, "stop_ids": [3]}, texts, ORDER, 3),
        ({**GOOD, "stop_ids": ["2"]}, texts, ORDER, 3),
        ({**GOOD, "special_ids": {"a": 1}}, texts, ORDER, 3),
        ({**GOOD, "special_names": {"a": 1.5}}, texts, ORDER, 3),
        ({**GOOD, "special_ids": [1]}, texts, ORDER, 3),  # its text is in the order
        ({**GOOD, "strip_first_space": None}, texts, ORDER, 3),
        ({**GOOD, "added_ids": None}, texts, ORDER, 3),
    ]
    for contents in bad:
        path.write_bytes(signed(body(*contents)))
        with pytest.raises(VocabularyError, match="is not a vocabulary that can be loaded"):
            Vocabulary.load(path)


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "v"
    vocabularies = [Vocabulary([b"ab" * n] * 400) for n in (1, 9)]
    vocabularies[0].save(path)

    def work(thread: int) -> None:
        for n in range(40):
            if thread % 2:
                Vocabulary.load(path)
            else:
                vocabularies[n % 2].save(path)

    in_threads(work, 6)
    assert names(tmp_path) == ["v"]


def test_cached_builds_once_per_key(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "v"
    built: list[Vocabulary] = []

    def build() -> Vocabulary:
        built.append(Vocabulary([b"a", b"cached", None], stop_ids=[2]))
        return built[-1]

    assert Vocabulary.cached(path, "model@1", build) is built[0]
    assert state(Vocabulary.cached(path, "model@1", build)) == state(built[0])
    assert len(built) == 1
    assert Vocabulary.cached(path, "model@2", build) is built[1]
    assert Vocabulary.cached(path, "model@1", build) is built[2]
    path.write_bytes(path.read_bytes()[:-1])
    assert Vocabulary.cached(path, "model@1", build) is built[3]
    assert state(Vocabulary.cached(path, "model@1", build)) == state(built[0])
    contents = body({**GOOD, "key": "model@1", "size": 1}, bytes(TEXTS.block), ORDER, 3)
    path.write_bytes(signed(contents))
    assert Vocabulary.cached(path, "model@1", build) is built[4]
    assert Vocabulary.load(path).tokens == built[4].tokens
    assert names(path.parent) == ["v"]


def test_cached_warns_when_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="could not be saved"):
        assert Vocabulary.cached(tmp_path / "file" / "v", "k", small).size == 11
    with pytest.raises(ZeroDivisionError):
        Vocabulary.cached(tmp_path / "v", "k", lambda: Vocabulary([b"a"] * (1 // 0)))
    assert names(tmp_path) == ["file"]


def test_a_loaded_vocabulary_compiles() -> None:
    vocab = pickle.loads(pickle.dumps(Vocabulary([b"[", b"]", b"[]", None], stop_ids=[3])))
    matcher = Compiler(vocab).compile(Grammar.from_ebnf('root ::= "[" root? "]"')).matcher()
    assert all(matcher.accept_token(i) for i in (0, 2, 1, 3))
