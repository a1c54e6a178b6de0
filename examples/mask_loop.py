"""Generate by hand: a loop of mask, choice and accept around any source of logits. Needs NumPy only.

The "model" here is noise, so the text is noise too, but always of the grammar. A real engine puts its forward
pass where ``logits`` is made, and its tokenizer's ``Vocabulary.from_huggingface`` where the toy vocabulary is.
"""

from __future__ import annotations

import numpy as np

import stackmask as sm

GRAMMAR = """
root   ::= "{" pair ("," pair)* "}"
pair   ::= STRING ":" (STRING | NUMBER)
STRING ::= '"' [a-z]{1,8} '"'
NUMBER ::= "-"? ("0" | [1-9] [0-9]{0,3})
%skip " "
"""

# every byte is a token, then some longer ones, then the stop token
WORDS = [b'"a', b'":', b'": ', b'","', b"the", b"name", b'name":', b"42", b'"}']
TOKENS: list[bytes | None] = [*(bytes([b]) for b in range(256)), *WORDS, None]
STOP = len(TOKENS) - 1


def main() -> None:
    vocab = sm.Vocabulary(TOKENS, stop_ids=[STOP])
    matcher = sm.Compiler(vocab).compile(sm.Grammar.from_ebnf(GRAMMAR)).matcher()
    mask = sm.allocate_token_bitmask(1, vocab.size)
    noise = np.random.default_rng(7)
    text = b""
    while not matcher.is_terminated():
        logits = noise.standard_normal((1, vocab.size), dtype=np.float32)
        if matcher.fill_next_token_bitmask(mask):
            sm.apply_token_bitmask_inplace(logits, mask, vocab_size=vocab.size)
        token = int(logits[0].argmax())
        assert matcher.accept_token(token)
        text += TOKENS[token] or b""
    print(text.decode())


if __name__ == "__main__":
    main()
