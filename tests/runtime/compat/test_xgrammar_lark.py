"""What XGrammar's own Lark tests assert, recorded while they ran, asked of ``compat.xgrammar``."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from support.datapack import datapack, needs_datapack

from stackmask.runtime.compat.xgrammar.grammar import Grammar

# texts that XGrammar's parser takes otherwise: what its dispatch may leave out, and attributes in EBNF
OTHERWISE = {"standalone_lazy_rule", "ebnf_lazy_committed_shortest"}
# what XGrammar refuses, and is read here, or refused when the vocabulary is known
READ_HERE = {
    "intersection",
    "invalid-string-escape",
    "named-needs-tokenizer",
    "no-forcing-option",
    "non-ascii-string-flag",
    "regex-empty-class-error",
    "regex-unicode-property-error",
    "regex-word-boundary-error",
    "standalone-lazy-regex-suffix",
    "substring-words",
    "test_lark_dynamic_trigger_levels_cannot_be_mixed",
    "test_lark_lazy_and_dynamic_special_token_triggers_cannot_be_negated",
    "wildcard-needs-tokenizer",
}


def of_record(given: Any) -> Grammar | None:
    """Return the grammar of a record; None if it was made of objects that are not in it."""
    if isinstance(given, str):
        return None if given.startswith("<xgrammar") else Grammar.from_lark(given)
    if given["args"][0].startswith("<xgrammar") or given["kw"].get("named_grammars"):
        return None
    make = Grammar.from_ebnf if given["kind"] == "from_ebnf" else Grammar.from_lark
    return make(given["args"][0])


@needs_datapack
def test_recorded_verdicts() -> None:
    right, wrong = 0, []
    with lzma.open(
        (datapack() or Path()) / "lark/xgrammar_cases_dev.jsonl.xz", "rt", encoding="utf-8"
    ) as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        test, arguments = record["t"].partition("::")[2], record["args"]
        if record["fn"] == "_assert_token_language":  # whose vocabulary is not recorded
            continue
        if record["fn"] == "_assert_lark_error":
            try:
                of_record(arguments["grammar"])
                wrong.append((test, arguments["message"]))
            except RuntimeError:
                right += 1
            continue
        try:
            grammar = of_record(arguments["grammar"])
        except RuntimeError as error:
            wrong += [(test, str(error))] * (len(arguments["accepted"]) + len(arguments["rejected"]))
            continue
        for text, is_in in [(t, True) for t in arguments["accepted"]] + [
            (t, False) for t in arguments["rejected"]
        ]:
            if grammar is None:
                continue
            if grammar.native.accepts(text) == is_in:
                right += 1
            else:
                wrong.append((test, text))
    known = [test for test, _ in wrong if any(name in test for name in OTHERWISE | READ_HERE)]
    assert [one for one in wrong if one[0] not in known] == []
    assert right >= 0.98 * (right + len(wrong))
