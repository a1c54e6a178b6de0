"""Follow restrictions: which first bytes the operand of ``!>>`` forbids."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ebnf.syntax import Group, Leaf, Module, Name, Node
from stackmask.grammar.ir import CharClass, Choice, Expr, Literal, NotFollowedBy
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector

HELP: Final = "for example `!>> [A-Za-z0-9_]`, or `!>> [^ ]` with all non-ASCII characters"


def follow_restriction(operand: Node, module: Module, problems: Collector) -> NotFollowedBy:
    """Return the restriction that an operand means.

    The operand is a class, a single ASCII character, several of these as alternatives, or a rule of the
    same file that is one of these.
    """
    imported = {local.name for wanted in module.imports for _, local in wanted.items}
    mask = 0
    seen: set[str] = set()
    pending = [operand]
    while pending:
        node = pending.pop()
        if isinstance(node, Group) and node.op in ("|", "()"):
            pending.extend(reversed(node.items))
            continue
        if isinstance(node, Name):
            if node.name not in seen and node.name in module.definitions:
                seen.add(node.name)
                pending.append(module.definitions[node.name].body)
                continue
            if node.name in seen or node.name not in imported:
                continue  # counted already, or broken or undefined and so reported already
        found = first_bytes(node.expr) if isinstance(node, Leaf) else None
        if found is None:
            split = isinstance(node, Leaf) and isinstance(node.expr, CharClass)
            span = operand.span
            problems.add(
                "G011",
                "`!>>` can tell ASCII characters apart, but not other characters"
                if split
                else "`!>>` takes a class or single characters",
                span.start,
                span.end,
                label="holds some non-ASCII characters but not all" if split else "not one ASCII character",
                help=HELP,
            )
            break
        mask |= found
    return NotFollowedBy(mask, operand.span)


def first_bytes(expr: Expr) -> int | None:
    """Return the mask of the bytes that a one-character expression may begin with; None if it is not one."""
    match expr:
        case CharClass(ranges):
            return charclass.follow_mask(ranges)
        case Literal(data) if len(data) == 1 and data[0] < 0x80:
            return 1 << data[0]
        case Choice(items):  # of a regex, one level deep
            mask = 0
            for item in items:
                found = None if isinstance(item, Choice) else first_bytes(item)
                if found is None:
                    return None
                mask |= found
            return mask
    return None
