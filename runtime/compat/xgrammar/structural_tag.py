"""The formats of structural tags as pydantic models. ``docs/composition.md`` says what each means."""

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
    value: str


class JSONSchemaFormat(BaseModel):
    """JSON under a schema, or arguments between markers in another ``style``."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: bool | dict[str, Any]
    style: str = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: list[str] = []


class QwenXMLParameterFormat(BaseModel):
    """The older name of ``JSONSchemaFormat(style="qwen_xml")``."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, Any]


class AnyTextFormat(BaseModel):
    """Free text."""

    type: Literal["any_text"] = "any_text"
    excludes: list[str] = []
    max_tokens: Count | None = None
    max_chars: Count | None = None


class TokenFormat(BaseModel):
    """One special token, by name or id."""

    type: Literal["token"] = "token"
    token: Token


class ExcludeTokenFormat(BaseModel):
    """Any token but these."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[Token] = []


class AnyTokensFormat(BaseModel):
    """Any number of tokens but these."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[Token] = []
    max_tokens: Count | None = None


class GrammarFormat(BaseModel):
    """A grammar in EBNF."""

    type: Literal["grammar"] = "grammar"
    grammar: str


class RegexFormat(BaseModel):
    """A pattern that the whole text matches."""

    type: Literal["regex"] = "regex"
    pattern: str
    excludes: list[str] = []


class SequenceFormat(BaseModel):
    """Formats one after the other."""

    type: Literal["sequence"] = "sequence"
    elements: list[Format]


class OrFormat(BaseModel):
    """Any of some formats."""

    type: Literal["or"] = "or"
    elements: list[Format]


class OptionalFormat(BaseModel):
    """A format, or nothing."""

    type: Literal["optional"] = "optional"
    content: Format


class PlusFormat(BaseModel):
    """A format, once or more."""

    type: Literal["plus"] = "plus"
    content: Format


class StarFormat(BaseModel):
    """A format, any number of times."""

    type: Literal["star"] = "star"
    content: Format


class RepeatFormat(BaseModel):
    """A format, ``min`` to ``max`` times; -1 is no upper bound."""

    type: Literal["repeat"] = "repeat"
    content: Format
    min: int
    max: int


class TagFormat(BaseModel):
    """Content between two markers."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | list[str] | TokenFormat


class TriggeredTagsFormat(BaseModel):
    """Free text in which a trigger must go on as a tag."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    tags: list[TagFormat]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = []


class TokenTriggeredTagsFormat(BaseModel):
    """The same with tokens as triggers."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[Token]
    tags: list[TagFormat]
    exclude_tokens: list[Token] = []
    at_least_one: bool = False
    stop_after_first: bool = False


class TagsWithSeparatorFormat(BaseModel):
    """Tags with a string between them."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


class DispatchFormat(BaseModel):
    """Free text in which each string leads to its format."""

    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    loop: bool = True
    excludes: list[str] = []


class TokenDispatchFormat(BaseModel):
    """The same with tokens."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[Token, Format]]
    loop: bool = True
    exclude_tokens: list[Token] = []


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
    """A tag in the older shape."""

    begin: str
    schema_: str | type[BaseModel] | dict[str, Any] = Field(alias="schema")
    end: str


class StructuralTag(BaseModel):
    """A structural tag."""

    type: Literal["structural_tag"] = "structural_tag"
    format: Format

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """Return the tag of the older shape."""
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


for _model in (
    SequenceFormat,
    OrFormat,
    OptionalFormat,
    PlusFormat,
    StarFormat,
    RepeatFormat,
    TagFormat,
    TriggeredTagsFormat,
    TokenTriggeredTagsFormat,
    TagsWithSeparatorFormat,
    DispatchFormat,
    TokenDispatchFormat,
):
    _model.model_rebuild()
