"""The formats of structural tags as pydantic models. ``docs/composition.md`` documents each."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

MAX_COUNT = 2_147_483_647
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Token = int | str


class ConstStringFormat(BaseModel):
    """One string."""

    type: Literal["const_string"] = "const_string"
    """The type tag of this format."""

    value: str
    """The string."""


class JSONSchemaFormat(BaseModel):
    """JSON under a schema, or arguments between markers in another ``style``."""

    type: Literal["json_schema"] = "json_schema"
    """The type tag of this format."""

    json_schema: bool | dict[str, Any]
    """The schema; True for any JSON."""

    style: str = "json"
    """The notation: "json", or a style of call arguments ("qwen_xml", …)."""

    any_order: bool = False
    """Whether keys may come in any order."""

    max_whitespace_cnt: int | None = None
    """The maximum length of whitespace; None for no separate limit."""

    excludes: list[str] = []
    """Strings that must not occur in the text."""


class QwenXMLParameterFormat(BaseModel):
    """The older name of ``JSONSchemaFormat(style="qwen_xml")``."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    """The type tag of this format."""

    json_schema: bool | dict[str, Any]
    """The schema of the parameters; True for any parameters."""


class AnyTextFormat(BaseModel):
    """Free text."""

    type: Literal["any_text"] = "any_text"
    """The type tag of this format."""

    excludes: list[str] = []
    """Strings that must not occur in the text."""

    max_tokens: Count | None = None
    """The maximum number of tokens; None for no limit."""

    max_chars: Count | None = None
    """The maximum number of characters; None for no limit."""


class TokenFormat(BaseModel):
    """One special token, by name or id."""

    type: Literal["token"] = "token"
    """The type tag of this format."""

    token: Token
    """The name or the id of the token."""


class ExcludeTokenFormat(BaseModel):
    """Any token except the given ones."""

    type: Literal["exclude_token"] = "exclude_token"
    """The type tag of this format."""

    exclude_tokens: list[Token] = []
    """Names or ids of the forbidden tokens."""


class AnyTokensFormat(BaseModel):
    """Any number of tokens except the given ones."""

    type: Literal["any_tokens"] = "any_tokens"
    """The type tag of this format."""

    exclude_tokens: list[Token] = []
    """Names or ids of the forbidden tokens."""

    max_tokens: Count | None = None
    """The maximum number of tokens; None for no limit."""


class GrammarFormat(BaseModel):
    """A grammar in EBNF."""

    type: Literal["grammar"] = "grammar"
    """The type tag of this format."""

    grammar: str
    """The text of the grammar; it begins with `root`."""


class RegexFormat(BaseModel):
    """A pattern for the whole text."""

    type: Literal["regex"] = "regex"
    """The type tag of this format."""

    pattern: str
    """The pattern, in the flavour of ECMA-262."""

    excludes: list[str] = []
    """Strings that must not occur in the text."""


class SequenceFormat(BaseModel):
    """Formats in sequence."""

    type: Literal["sequence"] = "sequence"
    """The type tag of this format."""

    elements: list[Format]
    """The formats, in order."""


class OrFormat(BaseModel):
    """Alternative formats."""

    type: Literal["or"] = "or"
    """The type tag of this format."""

    elements: list[Format]
    """The alternative formats."""


class OptionalFormat(BaseModel):
    """A format, or nothing."""

    type: Literal["optional"] = "optional"
    """The type tag of this format."""

    content: Format
    """The optional format."""


class PlusFormat(BaseModel):
    """A format, once or more."""

    type: Literal["plus"] = "plus"
    """The type tag of this format."""

    content: Format
    """The repeated format."""


class StarFormat(BaseModel):
    """A format, any number of times."""

    type: Literal["star"] = "star"
    """The type tag of this format."""

    content: Format
    """The repeated format, which may be absent."""


class RepeatFormat(BaseModel):
    """A format, ``min`` to ``max`` times; -1 is no upper bound."""

    type: Literal["repeat"] = "repeat"
    """The type tag of this format."""

    content: Format
    """The repeated format."""

    min: int
    """The minimum number of repetitions."""

    max: int
    """The maximum number of repetitions; -1 for no limit."""


class TagFormat(BaseModel):
    """Content between two markers."""

    type: Literal["tag"] = "tag"
    """The type tag of this format."""

    begin: str | TokenFormat
    """The marker before the content: a string or a token."""

    content: Format
    """The format between the markers."""

    end: str | list[str] | TokenFormat
    """The marker after the content: a string, several strings to choose from, or a token."""


class TriggeredTagsFormat(BaseModel):
    """Free text in which each trigger must begin a tag."""

    type: Literal["triggered_tags"] = "triggered_tags"
    """The type tag of this format."""

    triggers: list[str]
    """Strings that must continue as a tag; each tag begins with one of them."""

    tags: list[TagFormat]
    """The tags."""

    at_least_one: bool = False
    """Whether at least one tag is required."""

    stop_after_first: bool = False
    """Whether the text ends with the first tag."""

    excludes: list[str] = []
    """Strings that must not occur in free text."""


class TokenTriggeredTagsFormat(BaseModel):
    """Like ``TriggeredTagsFormat``, with tokens as triggers."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    """The type tag of this format."""

    trigger_tokens: list[Token]
    """Names or ids of the tokens that must continue as a tag."""

    tags: list[TagFormat]
    """The tags."""

    exclude_tokens: list[Token] = []
    """Names or ids of tokens that must not occur in free text."""

    at_least_one: bool = False
    """Whether at least one tag is required."""

    stop_after_first: bool = False
    """Whether the text ends with the first tag."""


class TagsWithSeparatorFormat(BaseModel):
    """Tags with a string between them."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    """The type tag of this format."""

    tags: list[TagFormat]
    """The tags."""

    separator: str
    """The string between two tags."""

    at_least_one: bool = False
    """Whether at least one tag is required."""

    stop_after_first: bool = False
    """Whether the text ends with the first tag."""


class DispatchFormat(BaseModel):
    """Free text in which each string leads to its format."""

    type: Literal["dispatch"] = "dispatch"
    """The type tag of this format."""

    rules: list[tuple[str, Format]]
    """Pairs of a string and the format that must follow it."""

    loop: bool = True
    """Whether free text may continue after a format."""

    excludes: list[str] = []
    """Strings that must not occur in free text."""


class TokenDispatchFormat(BaseModel):
    """Like ``DispatchFormat``, with tokens."""

    type: Literal["token_dispatch"] = "token_dispatch"
    """The type tag of this format."""

    rules: list[tuple[Token, Format]]
    """Pairs of a token and the format that must follow it."""

    loop: bool = True
    """Whether free text may continue after a format."""

    exclude_tokens: list[Token] = []
    """Names or ids of tokens that must not occur in free text."""


Format = Annotated[
    ConstStringFormat
    | JSONSchemaFormat
    | QwenXMLParameterFormat
    | AnyTextFormat
    | TokenFormat
    | ExcludeTokenFormat
    | AnyTokensFormat
    | GrammarFormat
    | RegexFormat
    | SequenceFormat
    | OrFormat
    | OptionalFormat
    | PlusFormat
    | StarFormat
    | RepeatFormat
    | TagFormat
    | TriggeredTagsFormat
    | TokenTriggeredTagsFormat
    | TagsWithSeparatorFormat
    | DispatchFormat
    | TokenDispatchFormat,
    Field(discriminator="type"),
]


class StructuralTagItem(BaseModel):
    """A tag in the older format."""

    begin: str
    """The marker before the JSON."""

    schema_: str | type[BaseModel] | dict[str, Any] = Field(alias="schema")
    """The schema of the JSON: a dict, JSON text or a pydantic model. JSON and arguments call it ``schema``."""

    end: str
    """The marker after the JSON."""


class StructuralTag(BaseModel):
    """A structural tag."""

    type: Literal["structural_tag"] = "structural_tag"
    """The type tag of a structural tag."""

    format: Format
    """The format of the text."""

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """Return the tag for the older format."""
        made = [
            TagFormat(begin=tag.begin, content=JSONSchemaFormat(json_schema=_plain(tag.schema_)), end=tag.end)
            for tag in tags
        ]
        return StructuralTag(format=TriggeredTagsFormat(triggers=triggers, tags=made))

    @staticmethod
    def from_json(json_str: str | dict[str, Any]) -> StructuralTag:
        """Return the tag of JSON text, or of a dict. Raises: pydantic's ValidationError."""
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        return StructuralTag.model_validate(json_str)


def _plain(schema: str | type[BaseModel] | dict[str, Any]) -> Any:
    if isinstance(schema, str):
        return json.loads(schema)
    return schema if isinstance(schema, dict) else schema.model_json_schema()
