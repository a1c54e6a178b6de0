"""Write a grammar, see what is wrong with it, and judge texts by it. Needs nothing but the core.

The grammar is of a small query language for logs: ``level >= warn and service = "api" and not msg ~ "retry"``.
"""

from __future__ import annotations

import stackmask as sm

GRAMMAR = """
root    ::= query
query   ::= query ("and" | "or") term | term     # left recursion is fine
term    ::= NOT? (test | "(" query ")")
test    ::= FIELD ("=" | ">=" | "~") (STRING | LEVEL | NUMBER)
NOT     ::= "not" !>> [a-z]
KEYWORD ::= "and" | "or" | "not"
FIELD   ::= /[a-z]+(\\.[a-z]+)*/ - KEYWORD
LEVEL   ::= "debug" | "info" | "warn" | "error"
STRING  ::= '"' [^"\\n]* '"'
NUMBER  ::= /[0-9]+/
%skip " "
"""

TEXTS = [
    'level >= warn and service = "api" and not msg ~ "retry"',
    "(status = 500 or status = 503) and http.method",
    'not = "x"',
]


def main() -> None:
    try:
        sm.Grammar.from_ebnf(GRAMMAR.replace("- KEYWORD", "- KEYWORDS"), name="logs.ebnf")
    except sm.GrammarError as error:
        print(error, end="\n\n")

    # one token per byte is a vocabulary too: enough to judge whole texts
    vocab = sm.Vocabulary([bytes([b]) for b in range(256)])
    compiled = sm.Compiler(vocab).compile(sm.Grammar.from_ebnf(GRAMMAR))
    for text in TEXTS:
        matcher = compiled.matcher()
        if not matcher.accept_string(text):
            print(f"rejected  {text}\n          {matcher.refusal}")
        elif not matcher.is_accepting():
            print(f"rejected  {text}\n          it is not finished")
        else:
            print(f"accepted  {text}")


if __name__ == "__main__":
    main()
