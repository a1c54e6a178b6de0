"""Convert ``typing.TypedDict`` to that of ``typing_extensions``, which pydantic requires before Python 3.12."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def readable_type(source: Any) -> Any:
    """Return a type with each ``typing.TypedDict`` in it replaced by one with the same fields that pydantic supports.

    Recursive types are unchanged. Classes are not inspected.
    """
    return source if sys.version_info >= (3, 12) else _readable(source, {})


def _readable(source: Any, known: dict[int, Any]) -> Any:
    if is_typeddict(source):
        if type(source).__module__ != "typing":
            return source
        if id(source) not in known:
            known[id(source)] = source  # within itself
            known[id(source)] = _rebuilt(source, known)
        return known[id(source)]
    origin, parts = get_origin(source), get_args(source)
    if origin is None or origin is Literal or not parts:
        return source
    if origin is Annotated:
        first = _readable(parts[0], known)
        return source if first is parts[0] else Annotated[(first, *parts[1:])]
    made = tuple(_readable(part, known) for part in parts)
    if all(new is old for new, old in zip(made, parts, strict=True)):
        return source
    is_union = origin is Union or type(source).__name__ == "UnionType"
    return Union[made] if is_union else origin[made if len(made) > 1 else made[0]]  # noqa: UP007


def _rebuilt(source: Any, known: dict[int, Any]) -> Any:
    from typing_extensions import NotRequired, Required, TypedDict

    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(source, include_extras=True).items():
        is_marked = get_origin(hint) in (Required, NotRequired)
        made = _readable(get_args(hint)[0] if is_marked else hint, known)
        is_required = get_origin(hint) is Required if is_marked else name in source.__required_keys__
        fields[name] = Required[made] if is_required else NotRequired[made]
    rebuilt = TypedDict(source.__name__, fields)  # type: ignore[misc]  # of what is known at run time
    rebuilt.__doc__ = source.__doc__
    rebuilt.__module__ = source.__module__
    return rebuilt
