"""Other texts made of one: mutants, which the validators then judge, and the same JSON value written in another way."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, Final

MAX_DEPTH: Final = 60  # of schemas and values that are looked into
ATOMS: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    10**12,
    "",
    "a",
    "A b",
    "2020-01-01",
    [],
    {},
)


def mutants(text: str, count: int, seed: int, *, is_json: bool) -> list[str]:
    """Return texts that differ from one by a small change: of the value where it is JSON, and of characters."""
    rng = random.Random(f"{seed}:{text}")
    found: dict[str, None] = {}
    for number in range(count * 3):
        if len(found) == count:
            break
        made = _json_mutant(text, rng) if is_json and number % 3 else _character_mutant(text, rng)
        if made is not None and made != text:
            found[made] = None
    return list(found)


def _character_mutant(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    match rng.randrange(4):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + rng.choice(text or "a") + text[at:]
        case 2:
            return text[:at] + rng.choice('aZ09 "{}[],:.-') + text[at + 1 :]
        case _:
            return text[:at]


def _json_mutant(text: str, rng: random.Random) -> str | None:
    try:
        value = json.loads(text)
        places = list(_places(value))
    except (ValueError, RecursionError):
        return None
    holder, key = rng.choice(places)
    _change(holder, key, rng)
    return json.dumps(places[0][0][0], ensure_ascii=False)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of all values; the first container is a list of the whole value."""
    todo: list[tuple[Any, Any]] = [([value], 0)]
    while todo:
        holder, key = todo.pop()
        yield holder, key
        inner = holder[key]
        if isinstance(inner, dict):
            todo.extend((inner, name) for name in inner)
        elif isinstance(inner, list):
            todo.extend((inner, at) for at in range(len(inner)))


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    if isinstance(value, dict) and rng.random() < 0.7:
        names = list(value)
        if names and rng.random() < 0.6:
            del value[rng.choice(names)]
        else:
            value[rng.choice(("a", "zz", *names)) + "x"] = rng.choice(ATOMS)
    elif isinstance(value, list) and rng.random() < 0.7:
        if value and rng.random() < 0.3:
            value.append(rng.choice(value))
        elif len(value) > 1 and rng.random() < 0.5:
            value[rng.randrange(1, len(value))] = value[0]
        elif value:
            value.pop()
        else:
            value.append(rng.choice(ATOMS))
    elif isinstance(value, str) and rng.random() < 0.6:
        holder[key] = rng.choice((value + "x", value[:-1], value.upper(), value * 2, " " + value))
    elif isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.6:
        holder[key] = rng.choice((value + 1, value - 1, -value, value * 1000, value + 0.5, str(value)))
    else:
        holder[key] = rng.choice(ATOMS)


def ways_to_write(text: str, schema: Any) -> list[tuple[str, str]]:
    """Return (what is changed, text) for other ways to write a JSON value, the least change first.

    ``blanks``: no blanks, or one after each comma and colon; ``spelling``: also strings and numbers as ``json.dumps`` writes
    them, or with DEL or all but printable ASCII escaped; ``order``: also the properties of objects in declared order.
    """
    try:
        value = _plain(json.loads(text), 0)
    except (ValueError, RecursionError):
        return []
    usual, compact = _written(value)
    kind = "blanks" if _without_blanks(text) == compact else "spelling"
    found = [(kind, usual), (kind, compact)]
    # DEL is what JSON lets stand in ASCII and some engines do not
    for ways, changed in ((_written(value), "spelling"), (_written(declared_order(value, schema)), "order")):
        found += [(changed, way) for way in ways]
        found += [(changed, way.replace("\x7f", "\\u007f")) for way in ways]
        found += [(changed, _ascii(way)) for way in ways]
    first: dict[str, str] = {}
    for kind, way in found:
        first.setdefault(way, kind)
    return [(kind, way) for way, kind in first.items() if way != text]


def same_value(one: str, other: str) -> bool:
    """Return whether two texts are the same JSON value, whatever the order of properties."""
    try:
        return bool(_key(json.loads(one)) == _key(json.loads(other)))
    except (ValueError, RecursionError):
        return False


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # `True` is not `1`


def _written(value: Any) -> tuple[str, str]:
    """Return a value as JSON with a blank after each comma and colon, and with none."""
    return json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _ascii(text: str) -> str:
    """Return JSON with all but printable ASCII escaped: it stands inside of strings only."""
    return "".join(c if " " <= c <= "~" else json.dumps(c)[1:-1] for c in text)


def _plain(value: Any, depth: int) -> Any:
    """Return a value with whole floats as integers, as most writers have them."""
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    return value


def _without_blanks(text: str) -> str:
    out: list[str] = []
    inside = escaped = False
    for c in text:
        if inside:
            out.append(c)
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                inside = False
        elif c not in " \t\n\r":
            out.append(c)
            inside = c == '"'
    return "".join(out)


def declared_order(value: Any, schema: Any) -> Any:
    """Return a value with the properties of objects in declared order, then required ones, then others."""
    return _ordered(value, [schema], schema, 0)


def _ordered(value: Any, schemas: list[Any], root: Any, depth: int) -> Any:
    if depth > MAX_DEPTH or not isinstance(value, dict | list):
        return value
    parts = _parts(schemas, root)
    if isinstance(value, list):
        return [_ordered(item, [*_of_items(parts, at)], root, depth + 1) for at, item in enumerate(value)]
    declared: dict[str, list[Any]] = {}
    for part in parts:
        properties = part.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            declared.setdefault(name, []).append(inner)
    others = [
        inner
        for part in parts
        for inner in (part.get("additionalProperties"), *_values(part.get("patternProperties")))
        if isinstance(inner, dict)
    ]
    required = [name for part in parts for name in _listed(part.get("required"))]
    names = [name for name in dict.fromkeys([*declared, *required]) if name in value]
    names += [name for name in value if name not in declared and name not in required]
    return {name: _ordered(value[name], declared.get(name, others), root, depth + 1) for name in names}


def _listed(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _of_items(parts: list[dict[str, Any]], at: int) -> Iterator[Any]:
    for part in parts:
        for name in ("prefixItems", "items"):
            inner = part.get(name)
            if isinstance(inner, list):
                if at < len(inner):
                    yield inner[at]
            elif isinstance(inner, dict):
                yield inner


def _parts(schemas: list[Any], root: Any) -> list[dict[str, Any]]:
    """Return the schemas that speak of the same value: references and branches, each once, in the order of the text."""
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    todo = list(reversed(schemas))
    while todo and len(found) < 500:
        schema = todo.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        found.append(schema)
        inner = [target(schema["$ref"], root)] if isinstance(schema.get("$ref"), str) else []
        for name in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(name)
            inner += branches if isinstance(branches, list) else []
        inner += [schema.get(name) for name in ("if", "then", "else")]
        todo.extend(reversed(inner))
    return found


def target(reference: str, root: Any) -> Any:
    """Return what a reference within the document (``#/…``) leads to; None for others."""
    if not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found
