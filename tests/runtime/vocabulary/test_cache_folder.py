"""The folder that processes share: what comes back, what is left aside, and that nothing in it can do harm."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.options import ArgumentError
from stackmask.pda.vocabulary import token_trie
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary import container
from stackmask.runtime.vocabulary import vocabulary as vocabularies
from stackmask.runtime.vocabulary.container import SUFFIX, CacheFolder, Kind
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

KIND = Kind(b"stackmask-test\n\0", version=3, sections=2)


def vocabulary(extra: bytes = b"yes!") -> Vocabulary:
    """Return a new vocabulary, whose trie no other test has made."""
    return Vocabulary([b"y", b"es", b"n", b"o", b"e", b"s", b"!", extra, None], stop_ids=[8])


def masks(vocab: Vocabulary, folder: Path | None) -> list[list[int]]:
    """Return the masks of a short text from a compiler with this folder."""
    compiler = Compiler(vocab, cache_dir=folder)
    matcher = compiler.compile(Grammar.from_ebnf('root ::= ("yes" | "no") "!"?')).matcher()
    rows = allocate_token_bitmask(1, vocab.size)
    found = []
    for token in (0, 4, 5):
        matcher.fill_next_token_bitmask(rows, 0)
        found.append(np.asarray(rows[0]).tolist())
        assert matcher.accept_token(token)
    return found


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test be the first that uses its folder, and share no tries with others."""
    monkeypatch.setattr(container, "_warned", set())
    monkeypatch.setattr(vocabularies, "_tries", {})


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "new" / "folder")
    assert folder.read("a", KIND) is None
    folder.write("a", KIND, 7, (b"one", b"two"))
    number, sections = CacheFolder(folder.path).read("a", KIND) or (0, [])
    assert number == 7 and [bytes(section) for section in sections] == [b"one", b"two"]
    assert files(folder.path) == ["a" + SUFFIX]
    folder.warn()  # nothing to say


def test_the_second_process_sorts_no_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = masks(vocabulary(), None)
    monkeypatch.setattr(vocabularies, "_tries", {})
    assert masks(vocabulary(), tmp_path) == plain
    assert len(files(tmp_path)) == 1
    monkeypatch.setattr(vocabularies, "_tries", {})
    orders = []

    def order(texts: object, data: object = None) -> token_trie.TokenOrder:
        orders.append(data)
        return token_trie.TokenOrder(texts, data)  # type: ignore[arg-type]

    monkeypatch.setattr(vocabularies, "TokenOrder", order)
    assert masks(vocabulary(), tmp_path) == plain
    assert len(orders) == 1 and orders[0] is not None


def test_each_damage_is_one_warning_and_no_other_mask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = masks(vocabulary(), tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    order = np.frombuffer(whole[-32:], np.int32)
    swapped = order.copy()
    swapped[:2] = swapped[1::-1]
    other = vocabularies.ORDER
    bad = {
        "empty": b"",
        "cut short": whole[:-1],
        "one bit": whole[:-3] + bytes([whole[-3] ^ 4]) + whole[-2:],
        "another version": whole[:16] + struct.pack("=I", 99) + whole[20:],
        "another kind": b"?" + whole[1:],
        "another order, with a checksum": other.serialise(9, (swapped.tobytes(),)),
        "ids out of range, with a checksum": other.serialise(9, ((order + 8).tobytes(),)),
        "too few, with a checksum": other.serialise(9, (order[1:].tobytes(),)),
        "no whole words": other.serialise(9, (whole[-31:],)),
    }
    assert order.tolist() == [6, 4, 1, 2, 3, 5, 0, 7]
    for what, data in bad.items():
        monkeypatch.setattr(vocabularies, "_tries", {})
        monkeypatch.setattr(container, "_warned", set())
        path.write_bytes(data)
        with pytest.warns(RuntimeWarning, match="is ignored") as caught:
            assert masks(vocabulary(), tmp_path) == plain, what
        assert len(caught) == 1 and str(tmp_path) in str(caught[0].message)
        assert caught[0].filename == __file__
        assert path.read_bytes() == whole, what  # made anew
        monkeypatch.setattr(vocabularies, "_tries", {})
        assert masks(vocabulary(), tmp_path) == plain  # which is used, and nothing is said


def test_a_folder_is_named_once(tmp_path: Path) -> None:
    """Not each compiler of a server says it again."""
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "folder"
    with pytest.warns(RuntimeWarning, match="nothing can be kept in the cache folder") as caught:
        _ = [Compiler(vocabulary(extra), cache_dir=folder) for extra in (b"es", b"E", b"f")]
    assert len(caught) == 1
    assert files(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="modes of folders are those of POSIX")
def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = masks(vocabulary(), None)
    monkeypatch.setattr(vocabularies, "_tries", {})

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    # the tests may run as root, who may write anywhere
    with monkeypatch.context() as patch:
        patch.setattr(container, "write_whole", refused)
        with pytest.warns(RuntimeWarning, match="Permission denied"):
            assert masks(vocabulary(), tmp_path) == plain
    assert files(tmp_path) == []
    monkeypatch.setattr(vocabularies, "_tries", {})
    assert masks(vocabulary(), tmp_path) == plain
    # what is in a read-only folder is used without a word
    monkeypatch.setattr(vocabularies, "_tries", {})
    monkeypatch.setattr(container.os, "utime", refused)
    monkeypatch.setattr(container, "write_whole", refused)
    assert masks(vocabulary(), tmp_path) == plain


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = masks(vocabulary(), None)
    monkeypatch.setattr(vocabularies, "_tries", {})

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(container.os, "fsync", full)
    with pytest.warns(RuntimeWarning, match="No space left") as caught:
        assert masks(vocabulary(), tmp_path) == plain
    assert len(caught) == 1 and files(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_plain_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, most_bytes=1000)
    os.mkfifo(folder.file("pipe"))
    folder.file("folder").mkdir()
    folder.file("large").write_bytes(bytes(1001))
    for name, why in (("pipe", "not a regular file"), ("folder", ""), ("large", "1001 bytes")):
        assert folder.read(name, KIND) is None
        container._warned.clear()
        with pytest.warns(RuntimeWarning, match=why):
            folder.warn()


def test_the_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    size = len(KIND.serialise(0, (b"", bytes(400))))
    folder = CacheFolder(tmp_path, most_bytes=3 * size)
    (tmp_path / "foreign").write_bytes(bytes(10 * size))
    for n, name in enumerate("abc"):
        folder.write(name, KIND, 0, (b"", bytes(400)))
        os.utime(folder.file(name), (n, n))
    assert folder.read("a", KIND) is not None  # and now the others are older
    folder.write("d", KIND, 0, (b"", bytes(400)))
    assert files(tmp_path) == ["a" + SUFFIX, "c" + SUFFIX, "d" + SUFFIX, "foreign"]
    folder.write("huge", KIND, 0, (b"", bytes(3 * size)))
    assert files(tmp_path) == ["a" + SUFFIX, "c" + SUFFIX, "d" + SUFFIX, "foreign"]


def test_what_a_dead_process_left_goes(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path)
    old, new = (tmp_path / f".a{SUFFIX}.{name}" for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    folder.write("a", KIND, 0, (b"", b""))
    assert files(tmp_path) == [new.name, "a" + SUFFIX]


SCRIPT = """
import sys, warnings
warnings.simplefilter("error")
import stackmask as sm
texts = [bytes([97 + i % 26, 97 + i // 26 % 26, 97 + i // 676]) for i in range(5000)] + [b"y", b"es", b"e", b"s", None]
built = sm.Vocabulary.cached(sys.argv[1], "key", lambda: sm.Vocabulary(texts, stop_ids=[5004]))
vocabulary = sm.Vocabulary(texts, stop_ids=[5004])
matcher = sm.Compiler(vocabulary, cache_dir=sys.argv[1]).compile(sm.Grammar.from_ebnf('root ::= "yes"')).matcher()
print(built.digest() == vocabulary.digest(), matcher.accept_token(5000), matcher.accept_token(5001))
"""


@pytest.mark.campaign
def test_ten_processes_start_at_once(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", SCRIPT, tmp_path], stdout=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    said = [process.communicate()[0].split() for process in started]
    assert said == [["True"] * 3] * 10
    assert len(files(tmp_path)) == 2 and all(name.endswith(SUFFIX) for name in files(tmp_path))


def test_vocabularies_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Vocabulary] = []

    def build() -> Vocabulary:
        built.append(vocabulary(b"f" * (1 + len(built))))
        return built[-1]

    first = Vocabulary.cached(tmp_path, "model@1", build)
    second = Vocabulary.cached(tmp_path, "model@2", build)
    assert [first, second] == built and len(files(tmp_path)) == 2
    assert Vocabulary.cached(tmp_path, "model@1", build).digest() == first.digest()
    assert Vocabulary.cached(str(tmp_path), "model@2", build).digest() == second.digest()
    assert len(built) == 2
    monkeypatch.setattr(container, "MOST_BYTES", 1)
    monkeypatch.setattr(CacheFolder.__init__, "__defaults__", (1,))
    assert Vocabulary.cached(tmp_path, "model@3", build) is built[2]
    assert len(files(tmp_path)) == 2


def test_a_loaded_vocabulary_needs_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary().save(tmp_path / "v")
    plain = masks(vocabulary(), None)
    monkeypatch.setattr(vocabularies, "_tries", {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert masks(Vocabulary.load(tmp_path / "v"), tmp_path / "none") == plain
    assert files(tmp_path) == ["v"]


@pytest.mark.parametrize("path", ["", 3, b"folder", True])
def test_what_is_no_path_is_an_error(path: object) -> None:
    with pytest.raises(ArgumentError, match="`cache_dir` is the path of a folder"):
        Compiler(vocabulary(), cache_dir=path)  # type: ignore[arg-type]
