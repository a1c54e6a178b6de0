"""Grammars of pydantic's field types: what random walks write, `model_validate_json` accepts."""

from __future__ import annotations

import dataclasses
import random
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union
from uuid import UUID

import pytest
from support.json_schema_engine import COMPILER
from typing_extensions import NotRequired, TypeAliasType, TypedDict

import stackmask as sm

pytest.importorskip("pydantic", reason="pydantic is not installed")

import pydantic as p
from pydantic import BaseModel, ConfigDict, Field

WALKS = 12
MAX_STEPS = 2000
# after some steps only what ends things is written: quotes, brackets, digits (fractions must have one)
ENDS = frozenset(b'"]}')
PLAIN = frozenset(b'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ{[":-./@ ,')


def walk(compiled: sm.CompiledGrammar, rng: random.Random) -> str:
    """Return a text of the grammar: random bytes that may come next, soon those that close what is open."""
    matcher = compiled.matcher()
    text = bytearray()
    for step in range(MAX_STEPS):
        stop = matcher.is_accepting()
        allowed = matcher.expected_bytes()
        assert stop or allowed, f"dead end after {bytes(text)!r}"
        if stop and (not allowed or rng.random() < 0.3 or step > 60):
            return text.decode()
        choice = sorted(allowed)
        if step > 30 or rng.random() < 0.2:
            choice = sorted(allowed & ENDS) or choice
        elif rng.random() < 0.8:
            choice = sorted(allowed & PLAIN) or choice
        byte = rng.choice(choice)
        assert matcher.accept_string(bytes([byte]))
        text.append(byte)
    raise AssertionError(f"no end after {bytes(text[:200])!r}")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    A = "a"
    B = 2
    C = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Lizard(BaseModel):
    kind: Literal["reptile", "lizard"]
    scales: bool


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Link(BaseModel):
    next: Link | None = None
    payload: Payload | None = None


class Payload(BaseModel):
    links: list[Link] = Field(default_factory=list, max_length=2)


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


class Closed(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    a: int
    b: list[str]


class Point(NamedTuple):
    x: int
    y: float = 0.0


@dataclasses.dataclass
class Data:
    a: int
    b: str = "b"
    c: list[float] = dataclasses.field(default_factory=list)


class Aliased(BaseModel):
    first: int = Field(alias="firstName")
    second: str = Field(default="x", validation_alias="SecondName")
    third: bool = Field(default=False, serialization_alias="t")


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.title(), populate_by_name=True)
    some_name: int
    other: str | None = None


class Forbid(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int
    b: str | None = None


class Allow(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    a: int
    b: float
    c: bool
    d: str
    e: date
    f: UUID
    g: Colour
    h: tuple[int, str]


class Inner(BaseModel):
    x: int
    y: list[Colour]


class Outer(BaseModel):
    inner: Inner
    by_name: dict[str, Inner] = {}
    maybe: Inner | list[Inner] | None = None


class Described(BaseModel):
    """A model with titles, descriptions and examples."""

    a: int = Field(title="A", description="the first", examples=[1, 2], deprecated=True)
    b: Annotated[str, Field(json_schema_extra={"x-order": 1})] = "b"


class Frozen(p.RootModel[list[int]]):
    model_config = ConfigDict(frozen=True)


Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    total: int


class Computed(BaseModel):
    a: int

    @p.computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2 * self.a


JsonLike = TypeAliasType("JsonLike", "dict[str, JsonLike] | list[JsonLike] | str | int | float | bool | None")

Pet = Annotated[Cat | Dog | Lizard, Field(discriminator="kind")]

FIELDS: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "None": None,
    "Any": Any,
    "object": object,
    "bytes": bytes,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "complex": complex,
    "datetime": datetime,
    "date": date,
    "time": time,
    "timedelta": timedelta,
    "UUID": UUID,
    "UUID1": p.UUID1,
    "UUID3": p.UUID3,
    "UUID4": p.UUID4,
    "UUID5": p.UUID5,
    "UUID6": p.UUID6,
    "UUID7": p.UUID7,
    "UUID8": p.UUID8,
    "Path": Path,
    "NewPath": p.NewPath,
    "FilePath": p.FilePath,
    "DirectoryPath": p.DirectoryPath,
    "Enum": Colour,
    "IntEnum": Level,
    "mixed Enum": Mixed,
    "Literal": Literal["a", 1, True] | None,
    "Optional": Optional[int],  # noqa: UP045
    "Union": Union[int, str, list[bool]],  # noqa: UP007
    "discriminated union": Pet,
    "list of discriminated unions": list[Pet],
    "list": list,
    "list[int]": list[int],
    "tuple": tuple,
    "tuple[int, str, bool]": tuple[int, str, bool],
    "tuple[int, ...]": tuple[int, ...],
    "tuple[()]": tuple[()],
    "set[int]": set[int],
    "set[str]": set[str],
    "set[Colour]": set[Colour],
    "frozenset[float]": frozenset[float],
    "set[tuple]": set[tuple[int, str]],
    "deque[int]": deque[int],
    "Sequence[int]": Sequence[int],
    "Mapping[str, int]": Mapping[str, int],
    "dict": dict,
    "dict[str, int]": dict[str, int],
    "dict[int, str]": dict[int, str],
    "dict[Colour, int]": dict[Colour, int],
    "dict[Level, int]": dict[Level, int],
    "dict[bool, int]": dict[bool, int],
    "dict[float, int]": dict[float, int],
    "dict[Decimal, int]": dict[Decimal, int],
    "dict[date, int]": dict[date, int],
    "dict[Literal, int]": dict[Literal["a", "b"], int],
    "defaultdict": defaultdict[str, int],
    "OrderedDict": OrderedDict[str, int],
    "dict[UUID, int]": dict[UUID, int],
    "dict[constr, int]": dict[Annotated[str, p.StringConstraints(pattern="^k[0-9]+$")], int],
    "TypedDict": Movie,
    "TypedDict, closed": Closed,
    "NamedTuple": Point,
    "dataclass": Data,
    "model": Inner,
    "nested model": Outer,
    "recursive model": Tree,
    "mutually recursive models": Link,
    "aliases": Aliased,
    "alias generator": Camel,
    "extra=forbid": Forbid,
    "extra=allow": Allow,
    "strict": Strict,
    "descriptions": Described,
    "root model": Frozen,
    "generic model": Page[int],
    "computed field": Computed,
    "recursive alias": JsonLike,
    "JsonValue": p.JsonValue,
    "Json": p.Json,
    "AnyUrl": p.AnyUrl,
    "AnyHttpUrl": p.AnyHttpUrl,
    "HttpUrl": p.HttpUrl,
    "AnyWebsocketUrl": p.AnyWebsocketUrl,
    "FileUrl": p.FileUrl,
    "FtpUrl": p.FtpUrl,
    "PostgresDsn": p.PostgresDsn,
    "RedisDsn": p.RedisDsn,
    "MongoDsn": p.MongoDsn,
    "IPv4Address": IPv4Address,
    "IPv4Interface": IPv4Interface,
    "IPv4Network": IPv4Network,
    "IPv6Address": IPv6Address,
    "IPv6Interface": IPv6Interface,
    "IPv6Network": IPv6Network,
    "IPvAnyAddress": p.IPvAnyAddress,
    "IPvAnyInterface": p.IPvAnyInterface,
    "IPvAnyNetwork": p.IPvAnyNetwork,
    "SecretStr": p.SecretStr,
    "SecretBytes": p.SecretBytes,
    "Secret[int]": p.Secret[int],
    "Pattern": re.Pattern[str],
    "ByteSize": p.ByteSize,
    "Base64Bytes": p.Base64Bytes,
    "Base64Str": p.Base64Str,
    "Base64UrlStr": p.Base64UrlStr,
    "ImportString": p.ImportString,
    "AwareDatetime": p.AwareDatetime,
    "NaiveDatetime": p.NaiveDatetime,
    "PastDatetime": p.PastDatetime,
    "FutureDatetime": p.FutureDatetime,
    "PastDate": p.PastDate,
    "FutureDate": p.FutureDate,
    "StrictInt": p.StrictInt,
    "StrictFloat": p.StrictFloat,
    "StrictBool": p.StrictBool,
    "StrictStr": p.StrictStr,
    "StrictBytes": p.StrictBytes,
    "FiniteFloat": p.FiniteFloat,
    "AllowInfNan": Annotated[float, p.AllowInfNan(True)],
    "PositiveInt": p.PositiveInt,
    "NegativeInt": p.NegativeInt,
    "NonNegativeInt": p.NonNegativeInt,
    "NonPositiveInt": p.NonPositiveInt,
    "PositiveFloat": p.PositiveFloat,
    "NegativeFloat": p.NegativeFloat,
    "NonNegativeFloat": p.NonNegativeFloat,
    "NonPositiveFloat": p.NonPositiveFloat,
    "constr": Annotated[str, p.StringConstraints(min_length=2, max_length=5)],
    "constr(pattern)": Annotated[str, p.StringConstraints(pattern=r"^[a-z]+\d{2}$")],
    "conint": p.conint(gt=3, lt=100, multiple_of=7),
    "confloat": p.confloat(ge=-1.5, le=2.25),
    "confloat(multiple_of)": p.confloat(multiple_of=0.5, ge=0),
    "condecimal": p.condecimal(max_digits=5, decimal_places=2),
    "condecimal(ge)": p.condecimal(ge=Decimal("0.5"), le=Decimal(10)),
    "conlist": p.conlist(int, min_length=1, max_length=3),
    "conset": p.conset(int, min_length=1, max_length=3),
    "confrozenset": p.confrozenset(str, min_length=2),
    "conbytes": p.conbytes(min_length=1, max_length=4),
    "condate": p.condate(gt=date(2020, 1, 1)),
    "default": Annotated[int, Field(default=3)],
    "WithJsonSchema": Annotated[int, p.WithJsonSchema({"type": "integer", "minimum": 5})],
    "SkipValidation": p.SkipValidation[int],
}
try:
    import email_validator  # noqa: F401
except ImportError:
    pass
else:
    FIELDS |= {"EmailStr": p.EmailStr, "NameEmail": p.NameEmail}

REFUSED: dict[str, str] = {  # the formats or keywords that the errors name
    "NewPath": "new-path",
    "FilePath": "file-path",
    "DirectoryPath": "directory-path",
    "ImportString": "import-string",
    "Json": "json-string",
}


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in REFUSED])
def test_instances_are_accepted(name: str) -> None:
    model = p.create_model("Model", value=(FIELDS[name], ...))
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(model))
    rng = random.Random(name)
    for _ in range(WALKS):
        text = walk(compiled, rng)
        try:
            model.model_validate_json(text)
        except p.ValidationError as error:
            pytest.fail(f"{text}: {error.errors()[0]['msg']}")


@pytest.mark.parametrize("name", REFUSED)
def test_the_others_are_refused_by_name(name: str) -> None:
    with pytest.raises(sm.UnsupportedSchemaError, match=REFUSED[name]):
        sm.Grammar.from_json_schema(p.create_model("Model", value=(FIELDS[name], ...)))
    relaxed = sm.Grammar.from_json_schema(
        p.create_model("Model", value=(FIELDS[name], ...)), on_unsupported="relax"
    )
    assert relaxed.report is not None
    assert REFUSED[name] in str(relaxed.report)


def test_few_are_refused() -> None:
    assert len(REFUSED) <= 0.05 * len(FIELDS)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (int, ["0", "-17", "123456789012345678901234567890"]),
        (Decimal, ["1.50", '"1.50"', "3"]),
        (p.condecimal(max_digits=5, decimal_places=2), ["123.45", '"999.99"', "0.5"]),
        (p.HttpUrl, ['"https://example.org:8080/a?b=c#d"', '"http://127.0.0.1/"']),
        (p.PostgresDsn, ['"postgresql://me:secret@db.example.org:5432,other:5433/name"']),
        (p.PastDate, ['"1999-12-31"', '"2024-02-29"']),
        (p.NaiveDatetime, ['"2024-05-31T23:59:59.5"']),
        (p.UUID4, ['"16fd2706-8baf-433b-82eb-8c7fada847da"']),
        (IPv4Network, ['"10.0.0.0/8"', '"192.168.1.0/24"', '"1.2.3.4"']),
        (IPv6Interface, ['"2001:db8:0:0:0:0:0:1/64"']),
        (p.Base64Str, ['"aGVsbG8="', '"aGk="']),
        (p.Base64Bytes, ['"/9j/4A=="']),
        (dict[int, str], ['{"1": "a", "-2": "b"}', "{}"]),
        (dict[Level, int], ['{"1": 5}']),
        (p.ByteSize, ['"1.5 KiB"', "1024"]),
        (re.Pattern[str], [r'"^a+(b|c)*\\d$"']),
    ],
    ids=str,
)
def test_usual_texts_are_in(kind: Any, texts: list[str]) -> None:
    model = p.create_model("Model", value=(kind, ...))
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(model))
    for value in texts:
        text = f'{{"value": {value}}}'
        model.model_validate_json(text)
        matcher = compiled.matcher()
        assert matcher.accept_string(text), text
        assert matcher.is_accepting(), text


def test_the_report_says_what_types_leave_out() -> None:
    report = sm.Grammar.from_json_schema(Inner).report
    assert report is not None
    assert any("integers are digits alone" in note.reason for note in report.narrowed)
    assert not any("leap seconds" in note.reason for note in report.narrowed)
    dates = sm.Grammar.from_json_schema(list[datetime]).report
    assert [note.reason for note in dates.narrowed if note.keyword == "type"] == [  # type: ignore[union-attr]
        "dates have no year 0, and their bounds are whole years",
        "times have no leap seconds",
    ]


class NameFirst(BaseModel):
    name: str
    kind: int


class KindFirst(BaseModel):
    kind: int
    name: str
    more: bool = False


def test_models_of_a_union_have_the_order_of_their_own_fields() -> None:
    compiled = COMPILER.compile(sm.Grammar.of(NameFirst | KindFirst))
    for value in (
        NameFirst(name="x", kind=1),
        KindFirst(kind=1, name="x"),
        KindFirst(kind=1, name="x", more=True),
    ):
        matcher = compiled.matcher()
        assert matcher.accept_string(value.model_dump_json()) and matcher.is_accepting(), value
