"""What the workloads are made of: schemas with documents, queries, patterns, grammars. None needs the data pack."""

from __future__ import annotations

import json
from typing import Any

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "customer": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 80},
                "email": {"type": "string", "format": "email"},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
                "tags": {"type": "array", "items": {"enum": ["new", "vip", "late"]}, "maxItems": 5},
            },
            "required": ["name", "email"],
            "additionalProperties": False,
        },
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"pattern": "^[A-Z]{3}-\\d{4}$", "type": "string"},
                    "count": {"type": "integer"},
                },
                "required": ["sku"],
            },
            "minItems": 1,
        },
        "note": {"type": ["string", "null"]},
        "placed": {"type": "string", "format": "date-time"},
    },
    "required": ["id", "customer", "lines"],
}
ORDER_TEXT = json.dumps(
    {
        "id": "123e4567-e89b-42d3-a456-426614174000",
        "customer": {
            "name": "Ann Smith",
            "email": "ann.smith@example.com",
            "age": 41,
            "tags": ["vip", "new"],
        },
        "lines": [{"sku": "ABC-1234", "count": 3}, {"sku": "XYZ-0042", "count": 12, "gift": True}],
        "note": "Please ring twice; the bell is hard to hear.",
        "placed": "2024-05-17T09:30:00Z",
    }
)
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "kind": {"enum": ["leaf", "branch"]},
                "value": {"anyOf": [{"type": "number"}, {"type": "string"}, {"$ref": "#/$defs/node"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": {"type": "boolean"},
            "required": ["kind"],
        }
    },
    "$ref": "#/$defs/node",
}
TREE_TEXT = json.dumps(
    {
        "kind": "branch",
        "value": {"kind": "leaf", "value": {"kind": "branch", "children": []}},
        "children": [
            {"kind": "leaf", "value": 3.25e2},
            {"kind": "leaf", "value": "text"},
            {"kind": "branch"},
        ],
        "x-weight": 12,
        "open": True,
    }
)
EVENT = {
    "type": "object",
    "properties": {
        "type": {"const": "event"},
        "name": {"type": "string", "not": {"enum": ["test", "none"]}},
        "when": {"type": "string", "format": "date"},
        "where": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["lat", "lon"]}]},
        "guests": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["type", "name"],
    "minProperties": 2,
}
EVENT_TEXT = json.dumps(
    {
        "type": "event",
        "name": "Summer party",
        "when": "2025-07-01",
        "where": {"lat": 59.91, "lon": 10.75},
        "guests": ["Ann", "Bo", "Cy"],
    }
)
SCHEMAS = ((ORDER, ORDER_TEXT), (TREE, TREE_TEXT), (EVENT, EVENT_TEXT))
OTHER = {"type": "object", "properties": {"before": {"type": "string"}, "n": {"type": "integer"}}}
OTHER_TEXT = '{"before": "some text", "n": 12}'
JSON_TEXT = json.dumps([json.loads(text) for _, text in SCHEMAS], indent=1)

TABLES = {
    "customers": ["id", "name", "city", "country", "created_at"],
    "orders": ["id", "customer_id", "total", "placed_at", "status"],
    "order_items": ["order_id", "product_id", "quantity", "price"],
    "products": ["id", "title", "category", "stock"],
}
QUERIES = {
    "sqlite": "SELECT c.name, sum(o.total) AS spent FROM customers AS c JOIN orders AS o ON o.customer_id = c.id "
    "GROUP BY c.name ORDER BY spent DESC LIMIT 5",
    "postgres": "SELECT p.title, p.stock FROM products p WHERE p.stock > 1",
}
OTHER_QUERY = "SELECT count(*) FROM orders WHERE total > 10"

LARK = r"""
start: statement (";" statement)* [";"]
statement: NAME "=" sum | "if" sum "then" statement ["else" statement] | NAME "(" [sum ("," sum)*] ")"
?sum: product (("+" | "-") product)*
?product: atom (("*" | "/") atom)*
?atom: NUMBER | NAME | ESCAPED_STRING | "-" atom | "(" sum ")"
NAME: /[a-z_][a-z0-9_]*/
COMMENT: /#[^\n]*/
%import common.NUMBER
%import common.ESCAPED_STRING
%import common.WS
%ignore WS
%ignore COMMENT
"""
LARK_TEXT = (
    'total = price * (1 + rate) - 3.5;\nif total then print("total: ", total, -count / 2) else x = y # end\n'
)
EBNF = r"""
root  ::= rule+
rule  ::= name " ::= " alt (" | " alt)* "\n"
alt   ::= item (" " item)*
item  ::= (name | '"' (CHAR - '"')* '"' | "(" alt ")") [*+?]{0,1}
name  ::= ([a-z] [a-z0-9_]*) - "root"
CHAR  ::= [^\n\\]
"""
EBNF_TEXT = 'list ::= "[" (item ("," item)*)? "]"\nitem ::= word | number+\nword ::= letter letter*\n'
AMBIGUOUS = "root ::= n+\nn ::= [a-z]+ | [A-Z] [a-z]* | [a-z] n"
AMBIGUOUS_TEXT = "helloWorldIsCamelCase"
PATTERNS = (
    (r"^\d{3}-\d{3}-\d{4}$", "555-123-4567"),
    (r"^[\w.+-]+@[\w-]+\.[\w.]+$", "first.last+tag@mail.example.org"),
    (r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$", "192.168.10.254"),
    (r"(\S+\s+){0,60}", "It was a dark and stormy night; the rain fell in torrents. "),
    (r"^(?!.*foo)[a-z ]{5,80}$", "a sentence without that word"),
)
XML_TEXT = '<shop open="yes"><item id="a1">Tea &amp; cake</item><item id="b2"/><note lang="en">x<b>y</b></note></shop>'
TURN = (
    "Let me look that up for you.\n<tool_call>\n"
    '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3, "unit": "celsius"}}\n</tool_call>'
)
TAG: dict[str, Any] = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<function="],
        "tags": [
            {
                "begin": f"<function={name}>",
                "content": {"type": "json_schema", "json_schema": schema},
                "end": "</function>",
            }
            for name, schema in (("order", ORDER), ("event", EVENT))
        ],
    },
}
TAG_TEXT = f"I will send it now: <function=event>{EVENT_TEXT}</function> done."


def tools(count: int) -> list[dict[str, Any]]:
    """Return so many tools; ``get_weather`` is the first."""
    weather = {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    }
    first = {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": weather, "required": ["city"]},
    }
    others = (
        {
            "name": f"tool_{number}",
            "parameters": {"type": "object", "properties": {f"key_{number}": ORDER["properties"]["note"]}},
        }  # type: ignore[index]
        for number in range(1, count)
    )
    return [{"type": "function", "function": function} for function in (first, *others)]
