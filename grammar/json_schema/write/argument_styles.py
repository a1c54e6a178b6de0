"""The notation of arguments between markers, with one row of data for each style."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

STRING: Final = "string"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
NULL: Final = "null"
OBJECT: Final = "object"
ARRAY: Final = "array"
TYPES: Final = (STRING, NUMBER, BOOLEAN, NULL, OBJECT, ARRAY)


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentStyle:
    """Markers around the name and the value of an argument.

    ``middle`` is between name and value: ``{type}`` in it is the name of the value's type in ``labels``,
    ``{blanks}`` a position for whitespace; ``close`` may repeat the name as ``{name}``. Strings are unquoted,
    up to ``text_end`` or else ``close``; all other values are JSON. ``nested``: the members of objects are
    arguments too; ``item``, ``item_close``: then the markers around an array item. ``entities``: the escapes
    of characters in names. ``on_lines``: a string may be on separate lines between its markers, whose line
    breaks do not belong to the string. ``pads_words``: whitespace is allowed around words of an enumeration
    in structural tags, as in XGrammar.
    """

    open: str
    middle: str
    close: str
    labels: dict[str, str] = field(default_factory=dict)
    nested: bool = False
    item: str = ""
    item_close: str = ""
    text_end: str = ""
    entities: dict[str, str] = field(default_factory=dict)
    on_lines: bool = False
    pads_words: bool = True


_XML: Final = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"}
_STRING_OR_NOT: Final = {STRING: "true", **dict.fromkeys((NUMBER, BOOLEAN, NULL, OBJECT, ARRAY), "false")}

ARGUMENT_STYLES: Final[dict[str, ArgumentStyle]] = {
    "qwen_xml": ArgumentStyle("<parameter=", ">", "</parameter>", on_lines=True),
    "minimax_xml": ArgumentStyle('<parameter name="', '">', "</parameter>"),
    "minimax_m3_xml": ArgumentStyle(
        "]<]minimax[>[<",
        ">",
        "]<]minimax[>[</{name}>",
        nested=True,
        item="]<]minimax[>[<item>",
        item_close="]<]minimax[>[</item>",
        text_end="]<]minimax[>[",
        pads_words=False,
    ),
    "deepseek_xml": ArgumentStyle(
        '<｜DSML｜parameter name="',
        '" string="{type}">',
        "</｜DSML｜parameter>",
        _STRING_OR_NOT,
        pads_words=False,
    ),
    "deepseek_v4_1_xml": ArgumentStyle(
        '<｜DSML｜ parameter name="',
        '" string="{type}">',
        "</｜DSML｜ parameter>",
        _STRING_OR_NOT,
        pads_words=False,
    ),
    "glm_xml": ArgumentStyle("<arg_key>", "</arg_key>{blanks}<arg_value>", "</arg_value>"),
    "cohere_xml": ArgumentStyle(
        '<cofl:value name="',
        '" type="{type}">',
        "</cofl:value>",
        {STRING: "raw", NUMBER: "json", BOOLEAN: "json", NULL: "json", OBJECT: "dict", ARRAY: "list"},
        nested=True,
        item='<cofl:value type="{type}">',
        item_close="</cofl:value>",
    ),
    "kimi_k3_xml": ArgumentStyle(
        '<|open|>argument key="',
        '" type="{type}"<|sep|>',
        "<|close|>argument<|sep|>",
        {name: name for name in TYPES},
        entities=_XML,
    ),
}
