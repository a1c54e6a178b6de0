"""One program for two libraries: only the import differs.

    python examples/from_xgrammar.py            # stackmask.compat.xgrammar
    python examples/from_xgrammar.py xgrammar   # XGrammar itself, if it is installed

Both print the same: masks of grammars, schemas, patterns and tags along some texts, and what the matchers say.
"""

import json
import sys
import zlib

import torch

if sys.argv[1:] == ["xgrammar"]:
    import xgrammar as xgr
else:
    import stackmask.compat.xgrammar as xgr

# every byte, some longer tokens, and a stop token
WORDS = [
    "true",
    "false",
    "null",
    '{"',
    '":',
    '", "',
    "}}",
    "]}",
    "12",
    "345",
    "item",
    "tea",
    "cake",
    "<tool",
    "</tool>",
]
TOKENS = [bytes([i]) for i in range(256)] + [word.encode() for word in WORDS] + [b"</s>"]
STOP = len(TOKENS) - 1

info = xgr.TokenizerInfo(TOKENS, vocab_size=300, stop_token_ids=[STOP])  # logits are often wider
compiler = xgr.GrammarCompiler(info, max_threads=2)


def masks_along(compiled: xgr.CompiledGrammar, text: str) -> str:
    """Follow a text byte by byte; return how many tokens each mask allows, and a number for all masks together."""
    matcher = xgr.GrammarMatcher(compiled)
    mask = xgr.allocate_token_bitmask(1, info.vocab_size)
    counts, digest = [], 0
    for byte in [*text.encode(), STOP]:
        matcher.fill_next_token_bitmask(mask)
        allowed = [i for i in range(info.vocab_size) if mask[0, i // 32] >> (i % 32) & 1]
        counts.append(len(allowed))
        digest = zlib.crc32(repr(allowed).encode(), digest)
        assert matcher.accept_token(byte), (text, byte)
    assert matcher.is_terminated()
    return f"{digest:08x} {' '.join(map(str, counts))}"


order = {
    "type": "object",
    "properties": {
        "item": {"enum": ["tea", "cake"]},
        "counts": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        "paid": {"type": "boolean"},
    },
    "required": ["item", "counts"],
}
tag = {
    "type": "structural_tag",
    "format": {
        "type": "tags_with_separator",
        "tags": [{"begin": "<tool>", "content": {"type": "regex", "pattern": "[a-z]{2,}"}, "end": "</tool>"}],
        "separator": ", ",
    },
}
words = xgr.Grammar.from_ebnf('root ::= word ("," word)*\nword ::= [a-z]+ | "{" word "}"')
number = xgr.Grammar.from_regex(r"-?(0|[1-9]\d*)(\.\d+)?")
tried = {
    "EBNF": (compiler.compile_grammar('root ::= "a" root "b" | ""'), "aaabbb"),
    "words": (compiler.compile_grammar(words), "{item},tea"),
    "regex": (compiler.compile_regex(r"\d{3}-[A-Z]+"), "123-ABC"),
    "JSON": (compiler.compile_builtin_json_grammar(), '{"a": [1, true, null, "\\n"]}'),
    "schema": (compiler.compile_json_schema(order), '{"item": "tea",  "counts":[12]}'),
    "compact": (
        compiler.compile_json_schema(json.dumps(order), any_whitespace=False, separators=(",", ":")),
        '{"item":"cake","counts":[0,1],"paid":true}',
    ),
    "indented": (
        compiler.compile_json_schema(order, any_whitespace=False, indent=2),
        '{\n  "item": "tea",\n  "counts": [\n    345\n  ]\n}',
    ),
    "blanks": (compiler.compile_json_schema(order, max_whitespace_cnt=1), '{ "item":"tea" ,"counts": [1] }'),
    "tag": (compiler.compile_structural_tag(tag), "<tool>tea</tool>, <tool>ax</tool>"),
    "union": (compiler.compile_grammar(xgr.Grammar.union(words, number)), "-12.5"),
    "concat": (compiler.compile_grammar(xgr.Grammar.concat(number, words)), "0tea"),
}
for name, (compiled, text) in tried.items():
    print(f"{name}: {masks_along(compiled, text)}")

matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "item" ("12" | "true")'))
print("jump:", matcher.find_jump_forward_string())
print("accept:", matcher.accept_string("ite"), matcher.accept_token(ord("x")), matcher.accept_token(ord("m")))
copy = matcher.fork()
print("fork:", copy.accept_string("12"), copy.is_completed(), copy.is_terminated(), matcher.is_completed())
copy.rollback(2)
print("rollback:", copy.find_jump_forward_string(), copy.accept_token(STOP), copy.accept_token(4000))
copy.reset()
print("reset:", copy.find_jump_forward_string(), copy.stop_token_ids, copy.max_rollback_tokens)

early = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a"+'), terminate_without_stop_token=True)
print(
    "early:", early.is_terminated(), early.accept_string("a"), early.is_terminated(), early.accept_token(STOP)
)
other = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a"'), override_stop_tokens=0)
print("stops:", other.stop_token_ids, other.accept_string("a"), other.accept_token(0), other.is_terminated())

# a tree of drafts: node 0 is where the matcher is, `1` and `t` come next, `2` after `1`
mask = xgr.allocate_token_bitmask(4, info.vocab_size)
nodes = [
    torch.tensor(column) for column in ([1, 3, -1, -1], [-1, 2, -1, -1], [0, ord("1"), ord("x"), ord("2")])
]
print("drafts:", matcher.traverse_draft_tree(*nodes, mask), [int((row != 0).sum()) for row in mask])

batch = xgr.BatchGrammarMatcher(max_threads=2)
both = [xgr.GrammarMatcher(compiler.compile_grammar('root ::= "ab" | "tea"')) for _ in range(2)]
print(
    "batch:",
    batch.batch_accept_token(both, [ord("a"), ord("b")]),
    batch.batch_accept_string(both, ["b", "te"]),
)
xgr.reset_token_bitmask(mask)
batch.batch_fill_next_token_bitmask(both, mask, [2, 0])
logits = torch.zeros(4, info.vocab_size)
xgr.apply_token_bitmask_inplace(logits, mask, indices=[0, 1, 2])
print(
    "apply:",
    torch.isinf(logits).sum(1).tolist(),
    tuple(mask.shape) == xgr.get_bitmask_shape(4, info.vocab_size),
)

for wrong in ("root ::= [a-z", "root ::= other"):
    try:
        compiler.compile_grammar(wrong)
    except RuntimeError:
        print("refused:", wrong)
again = xgr.CompiledGrammar.deserialize_json(tried["schema"][0].serialize_json(), info)
print("again:", masks_along(again, '{"item":"tea","counts":[0]}'))
