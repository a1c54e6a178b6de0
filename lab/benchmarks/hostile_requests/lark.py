"""Hostile grammars in Lark: the forms that its front end has and the others do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .request import LARGEST, Request, grow


def fill(make: Callable[[int], str], before: str = "", after: str = "") -> str:
    """Return as many lines or pieces as the request may have."""
    pieces = [before]
    size = len((before + after).encode())
    number = 0
    while True:
        piece = make(number)
        size += len(piece.encode())
        if size > LARGEST:
            return "".join(pieces) + after
        pieces.append(piece)
        number += 1


def chained(line: str, last: str, start: str = "start: r0\n") -> Callable[[int], str]:
    """Return what makes a chain of definitions, each of which names the next one."""

    def make(count: int) -> str:
        lines = [line.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(count)]
        return start + "\n".join([*lines, last.replace("{i}", str(count))]) + "\n"

    return make


def terminals() -> Iterator[Request]:
    """Terminals of terminals, whose patterns are read as a whole."""
    forms = {
        "terminals-doubled": ("T{i}: T{j} T{j}", 'T{i}: "a"'),
        "terminals-ordered": ('T{i}: T{j} | T{j} "b"', "T{i}: /a|ab/"),
        "terminals-repeated": ("T{i}: (T{j} | T{j} T{j})+", "T{i}: /a|b?/"),
        "terminals-counted": ("T{i}: T{j} ~ 1..1000000000", "T{i}: /a|ab/"),
        "terminals-lazy": ('T{i}: T{j} /.*?/ "b"', "T{i}: /a+?/"),
        "terminals-looking": ("T{i}: /(?!b)/ T{j} | T{j} /(?!a)/", "T{i}: /[ab]/"),
        "terminals-of-sets": ("T{i}: (T{j} & ~T{j}) | ~(T{j} & T{j})", "T{i}: /[ab]+/"),
    }
    for family, (line, last) in forms.items():
        yield from grow("lark", f"lark-{family}", (8, 40, 1_500), chained(line, last, "start: T0+\n"))
    yield from grow(
        "lark",
        "lark-terminals-many",
        (2_500,),
        lambda n: (
            "start: ("
            + " | ".join(f"T{i}" for i in range(n))
            + ")*\n"
            + "".join(f"T{i}: /k{i}+?/\n" for i in range(n))
        ),
    )
    texts = {
        "terminal-classes": fill(lambda i: f"[\\x00-\\u{0x100 + 2 * i:04x}]?", "start: T\nT: /", "|a/\n"),
        "terminal-classes-apart": fill(
            lambda i: f"/[{chr(0x100 + i)}-{chr(0x4000 + i)}]/ | ", "start: T\nT: ", "/a|ab/\n"
        ),
        "terminal-alternatives": fill(lambda i: f'"w{i}" /a|ab/ | ', "start: T\nT: ", '"z"\n'),
        "terminal-words": fill(lambda i: f'"w{i}"i | ', "start: T\nT: ", '"z"\n'),
        "terminal-regexes": fill(lambda i: f"/w{i}|w{i}x/ ", "start: ", "\n"),
        "terminal-negations": fill(lambda i: f'~"w{i}" & ', "start: T\nT: ", "/.*/\n"),
        "terminal-optional": fill(lambda i: "/a?|b/ ", "start: T\nT: ", "\n"),
        "terminal-lookaheads": fill(lambda i: f"/(?!w{i}$)/ ", "start: T\nT: ", "/[a-z0-9]+/\n"),
        "terminal-lookbehinds": fill(lambda i: f"/[a-z](?<!{chr(97 + i % 26)})/ ", "start: T\nT: ", "\n"),
        "terminal-extensions": fill(lambda i: f"%extend T: /e{i}|e/\n", "start: T\nT: /a|ab/\n"),
        "terminal-overrides": fill(lambda i: f"%override T: /e{i}|e/\n", "start: T\nT: /a|ab/\n"),
        "terminal-flags": fill(
            lambda i: f"/[^{chr(0xC0 + i % 400)}{chr(97 + i % 26)}]/i | ", "start: T\nT: ", "/a|ab/\n"
        ),
        "terminal-unicode": fill(lambda i: f"/[\\w{chr(0x4E00 + i)}]/ | ", "start: T\nT: ", "/a|ab/\n"),
        "ignored": fill(lambda i: f"%ignore /i{i}|i/\n", 'start: ("a" "i1")+\n'),
        "ignored-terminals": fill(
            lambda i: f"%ignore I{i}\nI{i + 1}: I{i} | /x|xy/\n", 'start: ("a" "i1")+\nI0: "q"\n'
        ),
        "ignored-everything": 'start: ("a" | /b+/ | start start)*\n%ignore /(?s:.)*?/\n%ignore /a*/\n%ignore /(b|ab)*/\n',
    }
    for name, text in texts.items():
        yield Request(f"lark-{name}", "lark-terminals", "lark", text)


def rules() -> Iterator[Request]:
    """Templates, imports and definitions that change others."""
    forms = {
        "templates-doubled": ("t{i}{x}: t{j}{x} t{j}{x}", "t{i}{x}: x", 'start: t0{"a"}\n'),
        "templates-of-templates": ("t{i}{x}: t{j}{p{x}} x", "t{i}{x}: x", 'p{x}: x x\nstart: t0{"a"}\n'),
        "templates-swapped": (
            "t{i}{x, y}: t{j}{y, x} | t{j}{p{x}, y}",
            "t{i}{x, y}: x y",
            'p{x}: x x\nstart: t0{"a", "b"}\n',
        ),
        "rules-doubled": ("?r{i}: r{j} r{j} -> alias", 'r{i}: "a"'),
        "rules-optional": ("r{i}: [r{j} r{j}] | r{j} ~ 0..5", 'r{i}: "a"?'),
    }
    for family, (line, last, *start) in forms.items():
        yield from grow("lark", f"lark-{family}", (12, 40, 1_500), chained(line, last, *start))
    names = ", ".join(f"x{i}" for i in range(4_000))
    texts = {
        "template-parameters": f"start: t{{{', '.join(['/a|ab/'] * 4_000)}}}\nt{{{names}}}: x0 x3999\n",
        "template-arguments": fill(lambda i: f't{{"{i}"}} | ', "t{x}: x [t{x}]\nstart: ", '"z"\n'),
        "template-recursion": 't{x, y}: x | t{y, p{x}} | t{p{y}, x}\np{x}: x x\nstart: t{"a", "b"}\n',
        "template-nesting": "t{x}: x\nstart: " + "t{" * 15_000 + '"a"' + "}" * 15_000 + "\n",
        "imports": fill(lambda i: f"%import common.ESCAPED_STRING -> S{i}\n", "start: S0 S1 S2\n"),
        "imports-all-used": "start: "
        + " | ".join(f"S{i}" for i in range(1_300))
        + "\n"
        + "".join(f"%import common.FLOAT -> S{i}\n" for i in range(1_300)),
        "imports-of-names": fill(lambda i: "INT, ", "start: INT\n%import common (", "WS)\n"),
        "imports-of-none": fill(lambda i: f"%import common.NONE{i}\n", "start: INT\n"),
        "imports-of-files": fill(lambda i: f"%import .f{i}.INT\n", "start: INT\n"),
        "imports-of-two": fill(lambda i: f"%import common.{('INT', 'WS')[i % 2]} -> A\n", "start: A\n"),
        "extensions": fill(lambda i: f'%extend r: "{i}" r\n', 'start: r\nr: "a"\n'),
        "extensions-of-none": fill(lambda i: f'%extend q{i}: "b"\n', 'start: r\nr: "a"\n'),
        "declared": fill(lambda i: f"X{i} ", "start: ", "\n%declare X0\n"),
        "declared-all": fill(lambda i: f"%declare X{i}\n", "start: X0\n"),
        "priorities": fill(lambda i: f"r{i}.{i}: /a|ab/ r{i * 7 % 1000}?\n", "start: r0\n"),
        "aliases": fill(lambda i: f'| "a{i % 7}" start -> n{i}\n', "start: \n"),
        "captures": fill(lambda i: f'r{i}[capture="c{i}"]: "a"\n', "start: r0\n"),
        "tokens": fill(lambda i: f"<[{i}-{i + 9},{i * 3}]> | <[^{i}]> | ", "start: ", "<[1]>\n"),
        "token-ranges": "start: <["
        + fill(lambda i: f"{2 * i}-{9 * i},")[:60_000].rpartition(",")[0]
        + "]>+\n",
        "substrings": 'start: %regex {"substring_chars": "' + "ab" * 30_000 + '"}\n',
        "substring-words": fill(lambda i: f"w{i % 9} ", 'start: %regex {"substring_words": "', '"}\n'),
        "schemas": fill(lambda i: f'%json {{"minimum": {i}}} ', "start: ", "\n"),
    }
    for name, text in texts.items():
        yield Request(f"lark-{name}", "lark-rules", "lark", text)


def broken() -> Iterator[Request]:
    """Texts that are no Lark: each is refused soon, and not with a message for each character."""
    texts = {
        "slashes": "/" * LARGEST,
        "slashes-apart": "/ " * (LARGEST // 2),
        "escaped-slashes": "\\/\n" * (LARGEST // 3),
        "regexes-with-x": "/a\\/x\n" * (LARGEST // 6),
        "quotes": '"\\' * (LARGEST // 2),
        "angles": "<[" * (LARGEST // 2),
        "colons": "a:" * (LARGEST // 2),
        "heads": "a{" * (LARGEST // 2),
        "heads-on-lines": "a{b\n" * (LARGEST // 4),
        "attributes": "start[" + "a," * 32_000,
        "bars": "a:\n" + "|\n" * 32_000,
        "open-lines": "start: (\n" + "a\n" * 32_000,
        "question-marks": "start: " + "?" * 65_000,
        "tildes": "start: a" + "~1" * 32_000,
        "ranges": 'start: "a"' + '.."b"' * 13_000,
        "counts": "start: " + "a~9999999999" * 5_000,
        "digits": "start: a ~ " + "9" * 65_000,
        "priority": "start." + "9" * 65_000 + ": a\n",
        "json": "start: " + "%json [" * 9_000,
        "json-lines": "start: " + "%json {\n" * 8_000,
        "unnamed": fill(lambda i: f"u{i} ", "start: "),
        "undefined-beside-imports": fill(lambda i: f"a{i}, ", "%import common (")[:32_000]
        + "a)\n"
        + fill(lambda i: f"u{i} ", "start: ")[:32_000],
        "undefined-beside-broken": fill(lambda i: f"b{i}: ?\n")[:32_000].rpartition("\n")[0]
        + fill(lambda i: f"u{i} ", "\nstart: ")[:32_000],
        "similar": fill(lambda i: f"rule{i}: rule{i}x\n", "start: rule0\n"),
        "continued": "start: " + "\\\n" * 32_000 + '"a"\n',
        "comments": "// " * 20_000 + "\n#" * 2_000,
        "depth": "start: " + '("a" | ' * 7_000 + '"b"' + ")*" * 7_000 + "\n",
        "depth-90": "start: " + '("a" | [' * 15 + '"b"' + "])*" * 15 + "\n",
    }
    for name, text in texts.items():
        yield Request(f"lark-{name}", "lark-broken", "lark", text[:LARGEST])


def all_lark() -> list[Request]:
    return [*terminals(), *rules(), *broken()]
