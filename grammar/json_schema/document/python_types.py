"""Schemas of Python types: pydantic's schemas, with additional checks of its validators.

Pydantic's own schemas omit some checks of its validators: a URL's scheme, the keys of a ``dict[int, …]``,
decimal places. Here the schemas express all of them in keywords of JSON Schema; some exclude valid texts, as
``NARROWINGS`` and the report state. A property that a text cannot show (whether a file exists) has a format
in ``UNKNOWABLE``, which is refused. Pydantic is only imported when a type is used.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cache
from typing import Any, Final

from stackmask.grammar.json_schema.document.errors import SchemaError

NARROWINGS: Final = (  # a keyword and words of its value, and what a type that has them leaves out
    ("type", ("integer",), "integers are digits alone"),
    (
        "format",
        ("date", "date-time", "naive-date-time"),
        "dates have no year 0, and their bounds are whole years",
    ),
    ("format", ("time", "date-time", "naive-date-time"), "times have no leap seconds"),
    ("format", ("uri",), "hosts of URLs are plain ASCII"),
    ("format", ("binary",), "bytes of bounded length are ASCII"),
)

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_V6: Final = "[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){7}"
_V4_BITS: Final = "(?:3[0-2]|[12][0-9]|[0-9])"
_V6_BITS: Final = "(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])"
# networks have no bits beyond their length
_V4_NET: Final = (
    rf"{_V4}(?:/32)?|(?:{_OCTET}\.){{3}}0/24|(?:{_OCTET}\.){{2}}0\.0/16|{_OCTET}\.0\.0\.0/8|0\.0\.0\.0/0"
)
_V6_GROUPS: Final = "[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})"
_V6_NET: Final = rf"{_V6}(?:/128)?|{_V6_GROUPS}{{3}}::/64|{_V6_GROUPS}{{2}}::/48|{_V6_GROUPS}::/32|::/0"
_DECIMAL: Final = r"(?:[0-9]{1,30}(?:\.[0-9]{1,30})?)"
_ATOM: Final = r"(?:[A-Za-z0-9 _,:;@/~=!'<>%&]|\\[dDwWsS.*+?()|^$]|\.|\[\^?[A-Za-z0-9_]+\])[*+?]?"


def _base64(last: str, text: bool) -> str:
    """Return the pattern of base64 with padding, for ASCII text only, which is valid in every encoding."""
    symbols = _ALPHABET + last

    def some(test: Callable[[int], bool]) -> str:
        return "[" + "".join(c.replace("-", r"\-") for i, c in enumerate(symbols) if test(i)) + "]"

    def ascii_only(bit: int) -> Callable[[int], bool]:
        return lambda i: not text or not i & bit

    first, second, third = some(ascii_only(32)), some(ascii_only(8)), some(ascii_only(2))
    end_one = some(lambda i: not i & 15)
    end_two = some(lambda i: not i & 3)
    return (
        f"(?:{first}{second}{third}{some(lambda i: True)})*(?:{first}{end_one}==|{first}{second}{end_two}=)?"
    )


FORMATS: Final[dict[str, str]] = {
    **{f"uuid{v}": f".{{14}}{v}.{{4}}[89abAB].*" for v in range(1, 9)},  # of those that are UUIDs
    "ipv4interface": f"{_V4}(?:/{_V4_BITS})?",
    "ipv6interface": f"{_V6}(?:/{_V6_BITS})?",
    "ipv4network": _V4_NET,
    "ipv6network": _V6_NET,
    "ipvanyaddress": f"{_V4}|{_V6}",
    "ipvanyinterface": f"{_V4}(?:/{_V4_BITS})?|{_V6}(?:/{_V6_BITS})?",
    "ipvanynetwork": f"{_V4_NET}|{_V6_NET}",
    "base64": _base64("+/", True),
    "base64url": _base64("-_", True),
    "fraction": r"[-+]?[0-9]{1,30}(?:/[1-9][0-9]{0,30})?",
    "complex": rf"[-+]?{_DECIMAL}(?:[-+]{_DECIMAL}j)?|[-+]?{_DECIMAL}j",
    "regex": rf"\^?(?:{_ATOM}|\((?:{_ATOM})*(?:\|(?:{_ATOM})*)*\)[*+?]?)*\$?",
}
"""Patterns of whole strings for pydantic's formats and for ``regex``, which means Python's flavour here."""

_OF_BYTES: Final = {"base64": _base64("+/", False), "base64url": _base64("-_", False)}

UNKNOWABLE: Final[dict[str, str]] = {
    "file-path": "whether there is such a file cannot be seen in the text",
    "directory-path": "whether there is such a folder cannot be seen in the text",
    "new-path": "whether there is such a file cannot be seen in the text",
    "import-string": "whether there is such an object cannot be seen in the text",
    "json-string": "JSON text within a JSON string",
    "bounded-key": "keys that are numbers with bounds",
    "date-between": "bounds with no whole year between them",
}
"""Formats that cannot be enforced, with the reasons."""

_BYTES: Final = "application/octet-stream"

_LABEL: Final = "[a-z](?:[a-z0-9]|-[a-z0-9])*"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|{_V4})"
_PORT: Final = "(?::(?:6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?"
_USER: Final = "(?:[A-Za-z0-9._~-]+(?::[A-Za-z0-9._~-]*)?@)?"
_CHARACTER: Final = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})"
_TAIL: Final = rf"(?:/{_CHARACTER}*)?(?:\?(?:{_CHARACTER}|\?)*)?(?:#(?:{_CHARACTER}|\?)*)?"
_SPECIAL: Final = ("http", "https", "ws", "wss", "ftp")
_DAY: Final = (
    "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_LARGEST: Final = Decimal("1.7976931348623157e308")

# what pydantic's own validators ask for that their types' schemas do not say, by their names
_VALIDATORS: Final[dict[str, dict[str, Any]]] = {
    "PathType.validate_new": {"type": "string", "format": "new-path"},
    "import_string": {"type": "string", "format": "import-string"},
    "ByteSize._validate": {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]{1,12}(?:\.[0-9]{1,6})? ?(?:[kKmMgGtTpPeE][iI]?)?[bB]$"},
        ]
    },
}


def format_pattern(name: str, schema: Any) -> str | None:
    """Return the pattern of a format with a special meaning in schemas of types, else None."""
    found = FORMATS.get(name)
    if found is None:
        return None
    if isinstance(schema, dict) and schema.get("contentMediaType") == _BYTES:
        found = _OF_BYTES.get(name, found)
    return f"^(?:{found})$"


def type_schema(source: Any, *, mark_objects: bool = False) -> dict[str, Any]:
    """Return the JSON schema of the values that pydantic accepts for a type.

    ``mark_objects``: mark objects that ignore undeclared keys, for ``declared_keys.close_objects``.
    Raises: SchemaError if pydantic is not installed or knows no schema for the type.
    """
    try:
        from pydantic import BaseModel, TypeAdapter
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
    except ImportError:
        raise SchemaError(
            "", "", "Python types need pydantic, which is not installed: pip install pydantic"
        ) from None
    from stackmask.grammar.json_schema.document.typed_dicts import readable_type

    generator = _marking_generator() if mark_objects else _generator()
    try:
        if isinstance(source, type) and hasattr(source, "model_json_schema"):
            made: dict[str, Any] = source.model_json_schema(schema_generator=generator)
        else:
            adapter = source if isinstance(source, TypeAdapter) else TypeAdapter(readable_type(source))
            made = adapter.json_schema(schema_generator=generator)
    except (PydanticUserError, PydanticUndefinedAnnotation, AttributeError) as error:
        if isinstance(error, AttributeError) and source is not BaseModel:
            raise
        first = str(error).split("\n")[0].split(". ")[0].rstrip(".")
        cure = "give a pydantic model, a dataclass, a TypedDict, or a type made of those and of plain values"
        raise SchemaError("", "", f"pydantic has no schema for {source!r:.80}: {first}; {cure}") from None
    return made


@cache
def _generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Generates schemas with all checks of the validators."""

        def generate_inner(self, schema: Any) -> dict[str, Any]:
            kind = schema["type"]
            if kind.startswith("function-"):
                function = schema["function"].get("function")
                if getattr(function, "__module__", "").startswith("pydantic."):
                    known = _VALIDATORS.get(getattr(function, "__qualname__", ""))
                    if known is not None:
                        return dict(known)
            made: dict[str, Any] = super().generate_inner(schema)
            keys = schema.get("keys_schema")
            if keys and made.get("type") == "object":
                made = {**made, **_key_names(keys, self.generate_inner(keys), made)}
            return made

        def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
            made: dict[str, Any] = super().tagged_union_schema(schema)
            tag = made.get("discriminator", {}).get("propertyName")
            if tag is not None:
                made["required"] = [tag]  # also where the tag has a default
            return made

        def float_schema(self, schema: Any) -> dict[str, Any]:
            made: dict[str, Any] = super().float_schema(schema)
            allowed = schema.get("allow_inf_nan")
            if allowed is None:
                allowed = self._config.config_dict.get("allow_inf_nan", True)
            return made if allowed else _finite(made)

        def fraction_schema(self, schema: Any) -> dict[str, Any]:
            bounds = _bounds(schema)
            number = _finite({"type": "number", **bounds})
            return number if bounds else {"anyOf": [number, {"type": "string", "format": "fraction"}]}

        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            return _decimal(schema)

        def complex_schema(self, schema: Any) -> dict[str, Any]:
            return {"type": "string", "format": "complex"}

        def bytes_schema(self, schema: Any) -> dict[str, Any]:
            made: dict[str, Any] = super().bytes_schema(schema)
            if self._config.config_dict.get("val_json_bytes") in ("base64", "hex"):
                return (
                    {"type": "string", "pattern": "^(?:[0-9a-f]{2})*$"}
                    if (self._config.config_dict["val_json_bytes"] == "hex")
                    else {"type": "string", "format": "base64url", "contentMediaType": _BYTES}
                )
            made["format"] = "binary"
            made["contentMediaType"] = _BYTES
            if "maxLength" in made:  # bytes, of which other characters have several
                made["pattern"] = r"^[\x00-\x7F]*$"
            return made

        def date_schema(self, schema: Any) -> dict[str, Any]:
            return _dated(schema, "date", "")

        def datetime_schema(self, schema: Any) -> dict[str, Any]:
            if schema.get("tz_constraint") == "naive":
                made = _dated(schema, "date-time", rf"-{_DAY}[T ]{_CLOCK}$")
                return made if made["format"] in UNKNOWABLE else {**made, "format": "naive-date-time"}
            return _dated(schema, "date-time", ".{13}[0-5]")

        def time_schema(self, schema: Any) -> dict[str, Any]:
            return {"type": "string", "format": "time", "pattern": "^.{6}[0-5]"}

        def timedelta_schema(self, schema: Any) -> dict[str, Any]:
            made: dict[str, Any] = super().timedelta_schema(schema)
            if made.get("format") == "duration":
                made["pattern"] = "^[^0-9]*(?:[0-9]{1,6}[^0-9]+)*$"
            return made

        def json_schema(self, schema: Any) -> dict[str, Any]:
            return {**super().json_schema(schema), "format": "json-string"}

        def url_schema(self, schema: Any) -> dict[str, Any]:
            return {**super().url_schema(schema), "format": "uri", "pattern": _url(schema)}

        def multi_host_url_schema(self, schema: Any) -> dict[str, Any]:
            made = {**super().multi_host_url_schema(schema), "pattern": _url(schema)}
            made.pop("format", None)  # the pattern says all of it
            return made

    return Generator


@cache
def _marking_generator() -> Any:
    from stackmask.grammar.json_schema.document.declared_keys import mark_object

    class MarkingGenerator(_generator()):  # type: ignore[misc]
        """Also marks objects that ignore undeclared keys."""

        def model_schema(self, schema: Any) -> dict[str, Any]:
            return mark_object(super().model_schema(schema))

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            return mark_object(super().dataclass_schema(schema))

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            return mark_object(super().typed_dict_schema(schema))

    return MarkingGenerator


def _finite(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of numbers with missing bounds added, beyond which a float is infinite."""
    if "minimum" not in schema and "exclusiveMinimum" not in schema:
        schema = {**schema, "minimum": -_LARGEST}
    if "maximum" not in schema and "exclusiveMaximum" not in schema:
        schema = {**schema, "maximum": _LARGEST}
    return schema


def _bounds(schema: Any) -> dict[str, Any]:
    names = (("ge", "minimum"), ("gt", "exclusiveMinimum"), ("le", "maximum"), ("lt", "exclusiveMaximum"))
    return {
        keyword: Decimal(str(float(schema[name]))) for name, keyword in names if schema.get(name) is not None
    }


def _decimal(schema: Any) -> dict[str, Any]:
    """Return the schema of a Decimal: a number, or also a digit string if it has no bounds."""
    names = (("ge", "minimum"), ("gt", "exclusiveMinimum"), ("le", "maximum"), ("lt", "exclusiveMaximum"))
    number: dict[str, Any] = {"type": "number"}
    for name, keyword in (*names, ("multiple_of", "multipleOf")):
        if schema.get(name) is not None:
            number[keyword] = schema[name]
    bounded = len(number) > 1
    digits, places = schema.get("max_digits"), schema.get("decimal_places")
    parts = [number]
    if places is None and digits is not None:
        places = 0  # of numbers; strings have all the ways to divide the digits
        text = "|".join(rf"[0-9]{{1,{n}}}(?:\.[0-9]{{0,{digits - n}}})?" for n in range(1, digits + 1))
    elif places is not None:
        whole = f"{{1,{max(digits - places, 1)}}}" if digits is not None else "{1,30}"
        if digits is not None and digits <= places:
            text = rf"0(?:\.[0-9]{{1,{digits}}})?" if digits else "0"
        else:
            text = rf"[0-9]{whole}(?:\.[0-9]{{1,{places}}})?" if places else f"[0-9]{whole}"
    else:
        text = _DECIMAL
    if places is not None:
        parts.append({"multipleOf": Decimal(1).scaleb(-places)})
    if digits is not None:
        most = Decimal(1).scaleb(digits - (places or 0))
        parts.append({"exclusiveMinimum": -most, "exclusiveMaximum": most})
    parts.append(_finite({}))
    made: dict[str, Any] = {"allOf": parts}
    if bounded:
        return made
    return {"anyOf": [made, {"type": "string", "pattern": f"^-?(?:{text})$"}]}


def narrowings_of(schema: Any) -> list[str]:
    """Return descriptions of valid values that the schema of a type excludes. Cost: linear."""
    found: set[str] = set()
    todo: list[Any] = [schema]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list) and id(one) not in seen:
            seen.add(id(one))
            todo += one.values() if isinstance(one, dict) else one
        if isinstance(one, dict):
            found.update(text for keyword, words, text in NARROWINGS if one.get(keyword) in words)
    return [text for *_, text in NARROWINGS if text in found]


def _dated(schema: Any, name: str, rest: str) -> dict[str, Any]:
    """Return the schema of the dates or times in the years that lie entirely within the bounds."""
    low, high = 1, 9999
    for bound in ("ge", "gt", "le", "lt"):
        value = schema.get(bound)
        if isinstance(value, date):  # also a datetime
            if bound.startswith("g"):
                low = max(low, value.year + 1)
            else:
                high = min(high, value.year - 1)
    this_year = datetime.now(timezone.utc).year
    if schema.get("now_op") == "past":
        high = min(high, this_year - 1)
    elif schema.get("now_op") == "future":
        low = max(low, this_year + 1)
    if low > high:
        return {"type": "string", "format": "date-between"}
    return {"type": "string", "format": name, "pattern": f"^(?:{_years(low, high)}){rest}"}


def _years(low: int, high: int) -> str:
    """Return the pattern of the four-digit numbers from ``low`` to ``high``."""
    found: list[str] = []
    while low <= high:
        zeros = 0  # a block of 10 ** zeros years
        while zeros < 3 and low % 10 ** (zeros + 1) == 0 and low + 10 ** (zeros + 1) - 1 <= high:
            zeros += 1
        found.append(f"{low:04}"[: 4 - zeros] + (f"[0-9]{{{zeros}}}" if zeros else ""))
        low += 10**zeros
    return "|".join(found)


def _url(schema: Any) -> str:
    """Return the pattern of the URLs with allowed schemes."""
    schemes = schema.get("allowed_schemes") or (*_SPECIAL, "file")
    several = f"(?:,{_HOST}{_PORT})*" if schema["type"] == "multi-host-url" else ""
    found: list[str] = []
    if "file" in schemes:
        found.append(f"file://(?:{_HOST})?/{_CHARACTER}*")
    others = [scheme.replace("+", r"\+").replace(".", r"\.") for scheme in schemes if scheme != "file"]
    if others:
        found.append(f"(?:{'|'.join(others)})://{_USER}{_HOST}{_PORT}{several}{_TAIL}")
    return f"^(?:{'|'.join(found)})$"


def _key_names(keys_schema: Any, keys: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """Return the constraint on the keys of a dict as strings, if its keys in Python are not strings."""
    if "patternProperties" in made:
        return {"additionalProperties": False}
    if keys_schema["type"] == "enum":
        keys = {"enum": [member.value for member in keys_schema["members"]]}
    names = _key(keys)
    return {} if names is None else {"propertyNames": names}


def _key(keys: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of strings that are parsed as such keys, or None if their schema describes them."""
    if "anyOf" in keys:
        parts = [(_key(option), option) for option in keys["anyOf"]]
        return {"anyOf": [option if names is None else names for names, option in parts]}
    if "enum" in keys or "const" in keys:
        values = keys.get("enum", [keys.get("const")])
        return {"enum": [value if isinstance(value, str) else str(value).lower() for value in values]}
    kind = keys.get("type")
    if kind in ("integer", "number") and len(keys) > 1:
        return {"type": "string", "format": "bounded-key"}
    if kind == "integer":
        return {"pattern": "^(?:0|-?[1-9][0-9]{0,17})$"}
    if kind == "number":
        return {"pattern": f"^-?{_DECIMAL}$"}
    if kind == "boolean":
        return {"enum": ["true", "false"]}
    return None
