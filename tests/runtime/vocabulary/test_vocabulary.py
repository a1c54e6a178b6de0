"""The vocabulary by itself: what it accepts, what it holds."""

from __future__ import annotations

import gc
import hashlib
import struct
import weakref

import numpy as np
import pytest
from support.threads import in_threads

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.errors import VocabularyError
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary


def test_holds_what_it_was_given() -> None:
    vocab = Vocabulary([b"a", b"", None, b"a", b"bc"], stop_ids=[2], size=7)
    assert vocab.size == 7
    assert vocab.tokens == (b"a", b"", None, b"a", b"bc")
    assert vocab.stop_ids == (2,)
    assert vocab.special_ids == {2}
    assert not vocab.strip_first_space


def test_token_table_lists_tokens_with_text_and_keeps_duplicates() -> None:
    blob, offsets, ids = Vocabulary([b"a", b"", None, b"a", b"bc"], size=9)._token_table()
    assert (blob.dtype, offsets.dtype, ids.dtype) == (np.uint8, np.int64, np.int32)
    assert blob.tobytes() == b"aabc"
    assert offsets.tolist() == [0, 1, 2, 4]
    assert ids.tolist() == [0, 3, 4]
    assert not any(array.flags.writeable for array in (blob, offsets, ids))


def test_token_table_of_specials_only_is_empty() -> None:
    blob, offsets, ids = Vocabulary([None], stop_ids=[0])._token_table()
    assert (blob.size, offsets.tolist(), ids.size) == (0, [0], 0)


def test_special_and_stop_tokens_have_no_text() -> None:
    vocab = Vocabulary(
        [b"a", b"<tool>", b"<end>", b"<x>"], stop_ids=[2], special_names={"<tool>": 1}, special_ids=[3]
    )
    assert vocab.tokens == (b"a", None, None, None)
    assert vocab.special_ids == {1, 2, 3}
    assert vocab.text_ids.tolist() == [0]


def test_stop_ids_keep_their_order_without_repeats() -> None:
    assert Vocabulary([b"a"] * 4, stop_ids=[3, 1, 3]).stop_ids == (3, 1)


def test_stop_ids_may_lie_in_the_padding() -> None:
    assert Vocabulary([b"a"], stop_ids=[3], size=4).stop_ids == (3,)


def test_is_immutable() -> None:
    vocab = Vocabulary([b"a"], special_names={})
    with pytest.raises(AttributeError):
        vocab.size = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        vocab.other = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        vocab.special_names["x"] = 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens": []}, "tokens is empty"),
        ({"tokens": [b"a", "b"]}, r"tokens\[1\] is str, not bytes"),
        ({"tokens": [b"a", b"b"], "size": 1}, "size is 1, but there are 2 tokens"),
        ({"tokens": [b"a"], "size": 1 << 40}, "more than the limit"),
        ({"tokens": [b"a"], "stop_ids": [1]}, "stop_ids has id 1, but the vocabulary has 1 ids"),
        ({"tokens": [b"a"], "stop_ids": [-1]}, "stop_ids has id -1"),
        ({"tokens": [b"a"], "special_ids": [5], "size": 5}, "special_ids has id 5"),
        ({"tokens": [b"a"], "special_names": {"<t>": 2}}, "special_names has id 2"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(**arguments)  # type: ignore[arg-type]
    assert issubclass(VocabularyError, StackmaskError)


def test_digest_follows_its_format() -> None:
    vocab = Vocabulary([b"ab", None, b"", None, b"t"], special_ids=[3], added_ids=[4], size=8)
    expected = struct.pack("<II", 0, 2) + b"ab" + struct.pack("<II", 2, 0)
    expected += struct.pack("<II", 3, 0xFFFFFFFF) + struct.pack("<II", 4, 0xFFFFFFFF)
    assert vocab.digest() == hashlib.sha256(expected).hexdigest()


def test_decode_obeys_strip_first_space() -> None:
    tokens = [b" a", b" ", b"b", None]
    keep = Vocabulary(tokens, stop_ids=[3], size=6)
    strip = Vocabulary(tokens, stop_ids=[3], size=6, strip_first_space=True)
    assert keep.decode([0, 0, 3, 5]) == b" a a"
    assert strip.decode([0, 0, 3]) == b"a a"
    assert strip.decode([1, 0]) == b" a"
    assert strip.decode([2, 1]) == b"b "


def test_lazy_parts_are_built_once_from_several_threads() -> None:
    vocab = Vocabulary([bytes([b]) * 3 for b in range(256)])
    seen: set[tuple[int, str]] = set()
    in_threads(lambda _: seen.add((id(vocab._token_table()[0]), vocab.digest())), 8)
    assert len(seen) == 1


def test_vocabularies_with_the_same_texts_share_a_trie() -> None:
    tokens = [b"share", b"a", None, b"trie"]
    vocab = Vocabulary(tokens, stop_ids=[2])
    trie = vocab._trie()
    for compiler in (Compiler(vocab), Compiler(vocab), Compiler(Vocabulary(tokens, special_ids=[2], size=9))):
        assert compiler.compile(Grammar.from_ebnf('root ::= "a"')).matcher().accept_token(1)
    assert Vocabulary(tokens, size=7)._trie() is trie
    assert Vocabulary([*tokens, b"b"])._trie() is not trie
    assert Vocabulary(tokens, special_ids=[1])._trie() is not trie


def test_a_shared_trie_goes_with_its_last_vocabulary() -> None:
    vocab = Vocabulary([b"goes", b"with", b"it"])
    trie = weakref.ref(vocab._trie())
    other = Vocabulary(vocab.tokens)
    assert other._trie() is trie()
    del vocab
    gc.collect()
    assert other._trie() is trie()
    del other
    gc.collect()
    assert trie() is None


def test_tokens_are_made_once_and_equal_the_compact_ones() -> None:
    vocab = Vocabulary([b"a", None, b"", b"bc"], stop_ids=[0])
    assert vocab.tokens is vocab.tokens
    assert vocab.tokens == (None, None, b"", b"bc") == tuple(vocab.token_bytes)


def test_fits_compares_texts_but_not_padding() -> None:
    vocab = Vocabulary([b"a", b"", None, b"b", None], stop_ids=[4])
    assert vocab.fits(vocab)
    assert vocab.fits(Vocabulary([b"a", b"", None, b"b"], stop_ids=[4, 5], size=9))
    assert not vocab.fits(Vocabulary([b"a", b"", None, b"b"], stop_ids=[5], size=9))
    assert not vocab.fits(Vocabulary([b"a", None, None, b"b"], stop_ids=[4], size=9))
    assert not vocab.fits(Vocabulary([b"a", b"", None, b"c"], stop_ids=[4], size=9))
    assert not vocab.fits(Vocabulary([b"a", b"", None, b"b", b"c"], stop_ids=[5], size=9))
    assert not vocab.fits(Vocabulary(vocab.tokens, stop_ids=[4], strip_first_space=True))
