"""Write expressions and rule sets as stable, readable text, in the EBNF dialect where it has a notation."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from stackmask.grammar import ir

_CONTROL = {0x0A: r"\n", 0x09: r"\t", 0x0D: r"\r"}
_ALTERNATIVE, _SEQUENCE, _OPERAND, _POSTFIX = range(4)  # how tightly the place around an expression binds


def dump(rules: ir.RuleSet) -> str:
    """Return a rule set as text: the start rule's name, the initial state, and one line for each rule."""
    lines = [f"# start: {rules.start}"]
    if rules.initial != ():
        lines.append(_dump_initial(rules.initial))
    lines += [f"{rule.name} ::= {dump_expr(rule.body)}" for rule in rules.rules.values()]
    return "\n".join(lines) + "\n"


def summary(rules: ir.RuleSet) -> str:
    """Return the number of rules written by the author, without those added for ``%skip``, and the start rule."""
    count = sum("%" not in name for name in rules.rules)
    start = rules.start
    body = rules.rules[start].body
    if "%" in start and isinstance(body, ir.Sequence):
        named = [item.name for item in body.items if isinstance(item, ir.RuleRef) and "%" not in item.name]
        start = named[0] if named else start
    return f"{count} rule{'s' if count != 1 else ''}, start {start}"


def _dump_initial(initial: Hashable) -> str:
    if isinstance(initial, tuple) and all(isinstance(text, bytes) for text in initial):
        return "%stack " + " ".join(_quote(text) for text in initial)
    return f"# initial: {initial!r}"


def dump_expr(expr: ir.Expr, spelled: Callable[[ir.Expr], ir.Expr] | None = None) -> str:
    """Return an expression as text. ``spelled``: called for the replacement of each part.

    Cost: linear; no recursion, since expressions may be deep.
    """
    out: list[str] = []
    stack: list[tuple[ir.Expr, int] | str] = [(expr, _ALTERNATIVE)]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            out.append(top)
            continue
        part, place = top
        stack.extend(reversed(_pieces(part if spelled is None else spelled(part), place)))
    return "".join(out)


def _pieces(expr: ir.Expr, place: int) -> list[tuple[ir.Expr, int] | str]:
    """Return an expression's text with its parts still to be expanded."""
    match expr:
        case ir.Choice(()):
            return ["<nothing>"]
        case ir.Choice(items):
            return _joined(items, " | ", _SEQUENCE, place > _ALTERNATIVE or len(items) == 1)
        case ir.Sequence(items):
            return _joined(items, " ", _OPERAND, place > _SEQUENCE or len(items) < 2)
        case ir.Intersection(items):
            # parenthesised inside sequences, where the dialect wants it, and as an operand
            return _joined(items, " & ", _POSTFIX, place > _SEQUENCE or len(items) < 2)
        case ir.Repeat(item, low, high):
            return [(item, _POSTFIX), _quantifier(low, high)]
        case ir.Complement(item):
            return ["(!" if place >= _POSTFIX else "!", (item, _POSTFIX), ")" if place >= _POSTFIX else ""]
        case ir.Capture(item, action):
            return [f"@{_label(action)}(", (item, _ALTERNATIVE), ")"]
        case ir.Scope(item):
            return ["@scope(", (item, _ALTERNATIVE), ")"]
        case ir.Dynamic(resolver):
            return [f"@{_label(resolver)}"]
        case ir.Keyed(item, spec):
            return [f"@keyed<{_key_spec(spec)}>(", (item, _ALTERNATIVE), ")"]
        case ir.Slot(index):
            return [f"@slot<{index}>"]
        case ir.KeyTest(kind):
            return [f"@keys<{kind}>"]
        case ir.Literal(data):
            return [_quote(data)]
        case ir.CharClass(ranges):
            return ["." if ranges == ir.ANY_CHAR.ranges else _char_class(ranges)]
        case ir.ByteClass(mask):
            return [f"<bytes {_byte_ranges(mask)}>"]
        case ir.NotFollowedBy(mask):
            written = f"!>> {_follow_class(mask)}"
            return [f"({written})" if place >= _POSTFIX else written]
        case ir.RuleRef(name, nonempty):
            return [f"{name}<nonempty>" if nonempty else name]
        case ir.TokenTerminal(names, ids, negated):
            written = f"!{_token(names, ids)}" if negated else _token(names, ids)
            return [f"({written})" if negated and place >= _POSTFIX else written]


def _joined(
    items: tuple[ir.Expr, ...], separator: str, place: int, parenthesised: bool
) -> list[tuple[ir.Expr, int] | str]:
    pieces: list[tuple[ir.Expr, int] | str] = []
    for index, item in enumerate(items):
        if index:
            pieces.append(separator)
        pieces.append((item, place))
    return ["(", *pieces, ")"] if parenthesised else pieces


def _label(action: object) -> str:
    if isinstance(action, ir.TokenLimit):
        return f"tokens<{action.tokens}>"
    return (
        action if isinstance(action, str) else f"<{getattr(action, '__qualname__', type(action).__name__)}>"
    )


def _key_spec(spec: ir.KeySpec) -> str:
    words = [f"{spec.slots} slots"]
    if spec.required:
        words.append("required " + " ".join(map(str, sorted(spec.required))))
    if spec.min_count or spec.max_count is not None:
        words.append(f"count {spec.min_count}..{'' if spec.max_count is None else spec.max_count}")
    return ", ".join([*words, *["ordered"] * spec.ordered, *["open"] * spec.open])


def _quantifier(low: int, high: int | None) -> str:
    match low, high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _quote(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:  # pieces of characters, in byte-level expressions
        return "<bytes " + data.hex(" ") + ">"
    return '"' + "".join(_escaped(ord(c), '"\\') for c in text) + '"'


def _escaped(code: int, special: str) -> str:
    char = chr(code)
    if code in _CONTROL:
        return _CONTROL[code]
    if char in special:
        return "\\" + char
    if char.isprintable():
        return char
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _char_class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "[" + "".join(_class_range(first, last) for first, last in ranges) + "]"


def _class_range(first: int, last: int) -> str:
    special = "[]\\^-"
    if first == last:
        return _escaped(first, special)
    return f"{_escaped(first, special)}{'' if last == first + 1 else '-'}{_escaped(last, special)}"


def _runs(mask: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for byte in range(256):
        if mask >> byte & 1:
            if runs and runs[-1][1] == byte - 1:
                runs[-1] = (runs[-1][0], byte)
            else:
                runs.append((byte, byte))
    return runs


def _byte_ranges(mask: int) -> str:
    return " ".join(f"{a:02x}" if a == b else f"{a:02x}-{b:02x}" for a, b in _runs(mask))


def _follow_class(mask: int) -> str:
    beyond = r"\x80-\U0010FFFF" if mask >> 128 else ""
    return "[" + "".join(_class_range(a, b) for a, b in _runs(mask & (1 << 128) - 1)) + beyond + "]"


def _token(names: tuple[str, ...], ids: tuple[tuple[int, int], ...]) -> str:
    spelled = [
        name
        if name.startswith("<") and name.endswith(">") and name.isprintable() and not set(name) & set(' "[')
        else f"<{_quote(name.encode())}>"
        for name in names
    ]
    if ids:
        spelled.append("<[" + ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ids) + "]>")
    return spelled[0] if len(spelled) == 1 else "(" + " | ".join(spelled) + ")"
