"""One face for the engines that the benchmarks compare: compile a schema or a grammar, follow texts.

``compile`` returns what makes matchers; a matcher is one text. Grammars are given in each engine's own notation, and
None where an engine has no way to say the language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from made_documents import schema_text

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Grammars:
    """One language in the notation of each engine."""

    stackmask: str
    xgrammar: str | None = None
    llguidance: str | None = None


# The peers cannot say these languages: their SQL has no reserved words, and their XML does not compare the names of tags.
PLAIN_SQL_RULES = """
root ::= query (" UNION ALL " query)*
query ::= "SELECT " result (", " result)* " FROM " source " WHERE " condition ((" AND " | " OR ") condition)* group?
result ::= operand " AS " name
source ::= name " AS " name (" LEFT" | " INNER")? " JOIN " name " AS " name " ON " column " = " column
group ::= " GROUP BY " column
condition ::= operand " " operator " " operand | operand " IN (" operand (", " operand)* ")"
operator ::= "=" | "<>" | "<" | ">" | "<=" | ">=" | "LIKE"
operand ::= column | number | string | name "(" operand (", " operand)* ")" | "(" operand " " arithmetic " " operand ")"
arithmetic ::= "+" | "-" | "*" | "/"
column ::= name "." name
"""
PLAIN_XML_RULES = """
root ::= element
element ::= "<" name attribute? ("/>" | ">" content "</" name ">")
attribute ::= " " name "=\\"" value? "\\""
content ::= (text | element | reference)*
reference ::= "&amp;" | "&lt;" | "&gt;"
"""
TERMINALS = {
    "name": "[a-zA-Z_] [a-zA-Z0-9_\\-]*",
    "number": "[0-9]+",
    "string": '"\'" [^\']* "\'"',
    "text": "[^<&]",  # one character: repeated, a longer one would be ambiguous
    "value": '[^<&"]+',
}
LARK_TERMINALS = {
    "name": "/[a-zA-Z_][a-zA-Z0-9_\\-]*/",
    "number": "/[0-9]+/",
    "string": "/'[^']*'/",
    "text": "/[^<&]+/",
    "value": '/[^<&"]+/',
}


def with_terminals(rules: str, *names: str) -> Grammars:
    """Return a grammar for the peers: EBNF, and the same rules as Lark, with terminals in capitals."""
    ebnf = rules + "".join(f"{name} ::= {TERMINALS[name]}\n" for name in names)

    def outside(found: re.Match[str]) -> str:
        word = found.group()
        return word.upper() if word in names else {"::=": ":", "root": "start"}.get(word, word)

    lark = re.sub(r'"(?:[^"\\]|\\.)*"|\w+|::=', outside, rules)
    lark += "".join(f"{name.upper()}: {LARK_TERMINALS[name]}\n" for name in names)
    return Grammars("", ebnf, lark)


def bundled(name: str, plain: Grammars | None = None) -> Grammars:
    text = (ROOT / "grammars" / f"{name}.ebnf").read_text("utf-8")
    return Grammars(text, plain and plain.xgrammar, plain and plain.llguidance)


SQL = bundled("sql", with_terminals(PLAIN_SQL_RULES, "name", "number", "string"))
XML = bundled("xml", with_terminals(PLAIN_XML_RULES, "name", "text", "value"))


class Refused(RuntimeError):
    """The engine does not take a schema or grammar, or refuses a document that belongs to it."""


class Stackmask:
    @staticmethod
    def load() -> None:
        """Import the modules that the engine needs."""
        import stackmask as sm

        sm.Grammar.from_json_schema({"type": "object", "properties": {"warm": {"type": "string"}}})

    def __init__(self, tokenizer: Any) -> None:
        import stackmask as sm

        self.sm = sm
        self.vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
        self.mask = sm.allocate_token_bitmask(256, self.vocabulary.size)
        self.fresh()
        self.compile_schema({"type": "object", "properties": {"warm": {"type": "string"}}})  # imports, tables
        self.compile_grammar(Grammars('root ::= "warm"'))

    def fresh(self) -> None:
        """Forget all that was compiled."""
        self.compiler = self.sm.Compiler(self.vocabulary)

    def compile_json(self) -> Any:
        return self.compiler.compile(self.sm.Grammar.bundled("json"))

    def compile_schema(self, schema: Any) -> Any:
        return self.compiler.compile(self.sm.Grammar.from_json_schema(schema))

    def compile_grammar(self, grammars: Grammars) -> Any:
        return self.compiler.compile(self.sm.Grammar.from_ebnf(grammars.stackmask))

    def matcher(self, compiled: Any) -> Any:
        return compiled.matcher()

    def filler(self, matcher: Any) -> Any:
        """Return a call without arguments that fills the mask of the matcher."""
        fill, mask = matcher.fill_next_token_bitmask, self.mask
        return lambda: fill(mask, 0)

    def accepter(self, matcher: Any) -> Any:
        return matcher.accept_token

    def batch(self, matchers: list[Any], threads: int) -> Any:
        fill = self.sm.fill_next_token_bitmask
        mask = self.sm.allocate_token_bitmask(len(matchers), self.vocabulary.size)
        return lambda: fill(matchers, mask, threads=threads)


class XGrammar:
    @staticmethod
    def load() -> None:
        import xgrammar  # noqa: F401

    def __init__(self, tokenizer: Any) -> None:
        import xgrammar as xgr

        self.xgr = xgr
        self.info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self.mask = xgr.allocate_token_bitmask(256, len(tokenizer))
        self.fresh()

    def fresh(self) -> None:
        self.compiler = self.xgr.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)

    def compile_json(self) -> Any:
        return self.compiler.compile_builtin_json_grammar()

    def compile_schema(self, schema: Any) -> Any:
        return self.compiler.compile_json_schema(schema_text(schema), any_whitespace=True, strict_mode=False)

    def compile_grammar(self, grammars: Grammars) -> Any:
        if grammars.xgrammar is None:
            raise Refused("no such grammar")
        return self.compiler.compile_grammar(grammars.xgrammar)

    def matcher(self, compiled: Any) -> Any:
        return self.xgr.GrammarMatcher(compiled)

    def filler(self, matcher: Any) -> Any:
        fill, mask = matcher.fill_next_token_bitmask, self.mask
        return lambda: fill(mask, 0)

    def accepter(self, matcher: Any) -> Any:
        return matcher.accept_token

    def batch(self, matchers: list[Any], threads: int) -> Any:
        fill = self.xgr.BatchGrammarMatcher(max_threads=threads).batch_fill_next_token_bitmask
        mask = self.xgr.allocate_token_bitmask(len(matchers), self.info.vocab_size)
        return lambda: fill(matchers, mask)


class LLGuidance:
    @staticmethod
    def load() -> None:
        import llguidance.hf  # noqa: F401
        from llguidance import numpy  # noqa: F401

    def __init__(self, tokenizer: Any) -> None:
        import llguidance
        import llguidance.hf
        from llguidance import numpy as bitmasks

        self.llg, self.bitmasks = llguidance, bitmasks
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self.mask = bitmasks.allocate_token_bitmask(256, self.tokenizer.vocab_size)

    def fresh(self) -> None:
        pass

    def compile_json(self) -> Any:
        return self.compile_schema({})

    def compile_schema(self, schema: Any) -> Any:
        return self.checked(self.llg.LLMatcher.grammar_from_json_schema(schema_text(schema)))

    def compile_grammar(self, grammars: Grammars) -> Any:
        if grammars.llguidance is None:
            raise Refused("no such grammar")
        return self.checked(self.llg.LLMatcher.grammar_from_lark(grammars.llguidance))

    def checked(self, grammar: str) -> Any:
        compiled = self.llg.LLMatcher(self.tokenizer, grammar, log_level=0)
        if compiled.is_error():
            raise Refused(compiled.get_error())
        return compiled

    def matcher(self, compiled: Any) -> Any:
        return compiled.deep_copy()

    def filler(self, matcher: Any) -> Any:
        fill, mask = self.bitmasks.fill_next_token_bitmask, self.mask
        return lambda: fill(matcher, mask, 0)

    def accepter(self, matcher: Any) -> Any:
        return matcher.consume_token

    def batch(self, matchers: list[Any], threads: int) -> Any:
        executor = self.llg.LLExecutor(num_threads=threads)
        fill = self.bitmasks.fill_next_token_bitmask_par
        mask = self.bitmasks.allocate_token_bitmask(len(matchers), self.tokenizer.vocab_size)
        pairs = [(matcher, row) for row, matcher in enumerate(matchers)]
        return lambda: fill(executor, pairs, mask)


ENGINES: dict[str, Any] = {"stackmask": Stackmask, "llguidance": LLGuidance, "xgrammar": XGrammar}


def versions(names: list[str]) -> dict[str, str]:
    """Return the versions of the peers among ``names``."""
    return {name: metadata.version(name) for name in names if name != "stackmask"}
