"""The table of grammar diagnostic codes: a title and a short explanation for each.

Codes never change their meaning. G0xx concern the text of a grammar (syntax and names), G1xx the combined
meaning of the rules, G2xx are warnings about valid but probably unintended constructs. Each code has a case
under ``tests/grammar/source``.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Code(NamedTuple):
    title: str
    explanation: str


CODES: Final[dict[str, Code]] = {
    "G001": Code(
        "syntax error", "The text is not a rule or a directive; the message says what was expected."
    ),
    "G002": Code("unterminated text", "A literal, class, regex or comment is opened and never closed."),
    "G003": Code("undefined rule", "A name is used that no rule and no import of this file defines."),
    "G004": Code("duplicate rule", "A name is defined twice, by rules or by imports."),
    "G005": Code("bad repetition", "`{m,n}` needs whole numbers with m <= n, at most 1,000,000,000."),
    "G006": Code("bad escape", "An unknown escape, or one that is not a Unicode scalar value."),
    "G007": Code("bad character class", "A class that is empty, has a reversed range, or names no category."),
    "G008": Code("bad regex", "A syntax error in a regular expression."),
    "G009": Code(
        "unsupported in a regex",
        "Back-references and assertions with too many states; inside `/…/` also anchors and look-around.",
    ),
    "G010": Code(
        "operator without parentheses",
        "`-` and `&` beside several elements could mean two things; parentheses say which.",
    ),
    "G011": Code(
        "bad follow restriction",
        "`!>>` takes ASCII characters, and non-ASCII characters only all together.",
    ),
    "G012": Code("unknown directive", "No directive (`%…`) or construct (`@…`) has this name."),
    "G013": Code("cannot import", "The grammar to import does not exist or cannot be read."),
    "G014": Code("nothing to import", "The imported grammar defines no rule of this name."),
    "G015": Code("nested too deeply", "Groups, operators and quantifiers nest at most 100 deep in one rule."),
    "G016": Code("no start rule", "The start rule is not defined, or there are no rules at all."),
    "G017": Code(
        "bad special token", "`<[…]>` contains token ids and ranges of ids; `<…>` one token's text."
    ),
    "G018": Code(
        "bad directive", "A directive is repeated, contradicts another or has an unusable argument."
    ),
    "G019": Code("another language", "The text is a grammar of another tool, or no grammar at all."),
    "G020": Code(
        "bad part",
        "The text after `%json`, `%choice` or `%sql`, or in a macro, cannot be used.",
    ),
    "G101": Code("undefined rule", "A rule built by a program refers to one that does not exist."),
    "G102": Code(
        "unproductive rule", "Every way through the rule needs a rule that never ends, so it derives nothing."
    ),
    "G103": Code("empty language", "No text at all matches the start rule."),
    "G104": Code("start rule not defined", "A program named a start rule that does not exist."),
    "G105": Code("nested too deeply", "A rule that a program put together nests more than 400 expressions."),
    "G106": Code("bad repetition", "A repetition that a program put together has bounds that nothing meets."),
    "G107": Code(
        "recursion under `&`, `-` or `!`", "Their operands are regular: rules may be used, recursion may not."
    ),
    "G108": Code(
        "not regular under `&`, `-` or `!`",
        "Their operands are text: no follow restrictions, special tokens, captures, scopes or dynamic rules.",
    ),
    "G109": Code(
        "operand too large", "An operand of `&`, `-` or `!`, its rules written out, has over 1,000,000 parts."
    ),
    "G110": Code("empty capture", "A captured item must consume something."),
    "G111": Code("special token in a capture", "Special tokens have no text that could be captured."),
    "G112": Code(
        "left recursion through a capture",
        "A left-recursive call inside `@push(…)` or `@scope(…)` has no order to act in.",
    ),
    "G113": Code(
        "left recursion after a restriction",
        "A left-recursive call directly after `!>>` cannot be rewritten exactly.",
    ),
    "G114": Code(
        "too much left recursion",
        "So many rules are left-recursive through each other that rewriting explodes.",
    ),
    "G115": Code("nothing to take from the stack", "`@top` can be reached where nothing has been pushed."),
    "G116": Code(
        "restriction before a dynamic rule",
        "`!>>` directly before `@top`, whose first character is not known beforehand.",
    ),
    "G117": Code(
        "nothing left by `&`, `-` or `!`",
        "The operands have no text in common, so the place can never be written.",
    ),
    "G119": Code(
        "object keys out of place",
        "A program built an object whose keys cannot be tracked.",
    ),
    "G120": Code(
        "semantic states that clash",
        "Two combined grammars both have a semantic state, and their initial states differ.",
    ),
    "G201": Code("unused rule", "The start rule does not lead to this rule."),
    "G202": Code(
        "`-` for a hyphen", "`-` removes strings. It is next to a count, or there is nothing to remove."
    ),
    "G203": Code("hidden alternative", "Another alternative matches all strings of this one."),
    "G204": Code(
        "class for a group",
        "`[…]` is one character of a class; it holds quotes, or letters with `|` between.",
    ),
    "G205": Code("dots for a range", "`..` between characters is two characters of any kind."),
    "G206": Code("token for a rule", "`<name>` is a special token, and there is a rule of this name."),
    "G207": Code("repeated twice", "Two of `*`, `+`, `?` follow each other."),
    "G208": Code("`#x…` for a character", "`#` begins a comment, or is a character of a class."),
    "G209": Code("unknown keyword", "No draft of JSON Schema has this keyword, so it is without effect."),
    "G210": Code(
        "escape of another flavour", "An escape of Python, Perl or Rust that means its letter in ECMA-262."
    ),
    "G211": Code(
        "indentation that cannot work",
        "A rule is to end a block, and no stack knows how far its lines are indented.",
    ),
}
