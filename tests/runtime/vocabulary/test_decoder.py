"""What the steps of a decoder say of the text as a whole: whether its first blank is dropped."""

from __future__ import annotations

from typing import Any

import pytest

from stackmask.pda.errors import VocabularyError
from stackmask.runtime.vocabulary.tokenizers.huggingface import read_decoder


def steps(*last: dict[str, Any]) -> dict[str, Any]:
    first = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]
    return {"type": "Sequence", "decoders": [*first, {"type": "Fuse"}, *last]}


@pytest.mark.parametrize(("start", "strips"), [(0, False), (1, True)])
def test_as_many_blanks_are_dropped_as_the_step_says(start: int, strips: bool) -> None:
    found = read_decoder(steps({"type": "Strip", "content": " ", "start": start, "stop": 0}))
    assert found.strip_first_space is strips
    assert (found.byte_fallback, found.replacements) == (True, (("▁", " "),))


def test_none_is_dropped_without_the_step() -> None:
    assert not read_decoder(steps()).strip_first_space


def test_more_than_one_blank_is_refused() -> None:
    with pytest.raises(VocabularyError, match="Strip with start 2"):
        read_decoder(steps({"type": "Strip", "content": " ", "start": 2, "stop": 0}))
