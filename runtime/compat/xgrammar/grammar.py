"""``Grammar``: created from the same arguments, with XGrammar's defaults, and stored with its source."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from stackmask.grammar.grammar import Grammar as NativeGrammar
from stackmask.grammar.grammar import concat, union
from stackmask.grammar.json_schema.document.closed import closed
from stackmask.grammar.turns.formats.fields import as_plain
from stackmask.runtime.compat.xgrammar.errors import (
    DeserializeFormatError,
    InvalidJSONError,
    InvalidStructuralTagError,
    XGrammarError,
    runtime_errors,
)
from stackmask.runtime.compat.xgrammar.records import read_record, write_record

Recipe = dict[str, Any]
"""The source of a grammar: its ``kind`` and arguments, all in JSON."""

JSON_EBNF: Final = "root ::= object | array\n%import json (object, array)"
ANY_BLANKS: Final = {"pattern": r"[ \n\t\r]*"}
MAX_NESTING: Final = 100  # of grammars made of grammars, in a recipe


def shown(wrapper: Any) -> str:
    """Return the display of an object, which is that of the engine's own object."""
    return f"<compat.xgrammar.{type(wrapper).__name__}: {repr(wrapper.native).partition(': ')[2]}"


class Grammar:
    """A grammar; create one with the static methods.

    ``native``: the engine's own object. Errors in a text are raised as XGrammarError, a RuntimeError, whose
    message shows the position.
    """

    native: NativeGrammar
    """The engine's own grammar."""
    __repr__ = shown

    def __init__(self, native: NativeGrammar, recipe: Recipe) -> None:
        self.native = native
        self._recipe = recipe

    def __str__(self) -> str:
        """Return the rules as text for reading; it is not EBNF."""
        return self.native.dump()

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root") -> Grammar:
        """Read EBNF in the dialects of XGrammar, GBNF or this engine. Raises: XGrammarError."""
        return _made({"kind": "ebnf", "text": ebnf_string, "start": root_rule_name})

    @staticmethod
    def from_json_schema(
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        print_converted_ebnf: bool = False,
        any_order: bool = False,
    ) -> Grammar:
        """Create the grammar of a schema: JSON text, a dict or a pydantic class.

        Keys are spelled in one way and integers are digits. ``any_whitespace``: any amount of whitespace, or
        at most ``max_whitespace_cnt`` consecutive characters; ``indent`` and ``separators`` apply without it.
        ``strict_mode``: forbid properties and items that the schema does not mention. ``any_order``: declared
        properties in any order, each at most once.
        Raises: XGrammarError for an invalid schema, or one that cannot be enforced exactly.
        """
        made = _made(
            schema_recipe(
                schema,
                any_whitespace=any_whitespace,
                indent=indent,
                separators=separators,
                strict_mode=strict_mode,
                max_whitespace_cnt=max_whitespace_cnt,
                any_order=any_order,
            )
        )
        _show(made, print_converted_ebnf)
        return made

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        """Create the grammar of the full matches of a pattern; ``.`` is any character."""
        made = _made({"kind": "regex", "pattern": regex_string})
        _show(made, print_converted_ebnf)
        return made

    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: Any = None,
        named_grammars: Mapping[str, Grammar | str] | None = None,
    ) -> Grammar:
        """Read a Lark grammar (``docs/lark.md``). Raises: XGrammarError."""
        return _made(lark_recipe(lark_string, named_grammars))

    @staticmethod
    def from_structural_tag(*args: Any, **kwargs: Any) -> Grammar:
        """Create the grammar of a structural tag: ``StructuralTag``, JSON text or a dict; or of older tags
        and triggers.

        Raises: InvalidStructuralTagError, InvalidJSONError; TypeError for other arguments.
        """
        return _made(tag_recipe(*args, **kwargs))

    @staticmethod
    def builtin_json_grammar() -> Grammar:
        """Return the grammar of JSON objects and arrays without surrounding whitespace. Keys may repeat."""
        return _made({"kind": "json"})

    @staticmethod
    def concat(*grammars: Grammar) -> Grammar:
        """Return the concatenation of grammars."""
        return _joined("concat", grammars)

    @staticmethod
    def union(*grammars: Grammar) -> Grammar:
        """Return the union of grammars."""
        return _joined("union", grammars)

    def serialize_json(self) -> str:
        """Return the source as JSON text, for ``deserialize_json``."""
        return write_record("Grammar", self._recipe)

    @staticmethod
    def deserialize_json(json_string: str) -> Grammar:
        """Read the output of ``serialize_json``. Raises: InvalidJSONError, DeserializeFormatError,
        DeserializeVersionError.
        """
        return of_recipe(read_record(json_string, "Grammar"))

    def recipe(self) -> Recipe:
        """Return the source."""
        return self._recipe


def of_recipe(recipe: Any, depth: int = 0) -> Grammar:
    """Return the grammar of a recipe. Raises: DeserializeFormatError for an invalid recipe; XGrammarError."""
    if depth > MAX_NESTING:
        raise DeserializeFormatError(f"grammars nest more than {MAX_NESTING} deep")
    if not isinstance(recipe, dict) or recipe.get("kind") not in (*_MAKERS, "concat", "union"):
        raise DeserializeFormatError("this is not what Grammar.serialize_json writes")
    try:
        if recipe["kind"] in ("concat", "union"):
            return _joined(recipe["kind"], tuple(of_recipe(part, depth + 1) for part in recipe["parts"]))
        return _made(recipe)
    except (KeyError, TypeError) as error:
        raise DeserializeFormatError(f"this is not what Grammar.serialize_json writes: {error}") from None


def schema_recipe(
    schema: Any,
    *,
    any_whitespace: bool = True,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    strict_mode: bool = True,
    max_whitespace_cnt: int | None = None,
    any_order: bool = False,
) -> Recipe:
    """Return the recipe of ``Grammar.from_json_schema``."""
    return {
        "kind": "json_schema",
        "schema": _plain_schema(schema),
        "any_whitespace": any_whitespace,
        "indent": indent,
        "separators": None if separators is None else list(separators),
        "strict_mode": strict_mode,
        "max_whitespace_cnt": max_whitespace_cnt,
        "any_order": any_order,
    }


def tag_recipe(*args: Any, **kwargs: Any) -> Recipe:
    """Return the recipe of ``Grammar.from_structural_tag``."""
    return {"kind": "structural_tag", "tag": _plain_tag(args, kwargs)}


def lark_recipe(text: str, named_grammars: Mapping[str, Grammar | str] | None = None) -> Recipe:
    """Return the recipe of ``Grammar.from_lark``. Raises: XGrammarError for grammars by name."""
    if named_grammars:
        raise XGrammarError(
            "named_grammars: not read here; stackmask.Grammar.from_lark(text, grammars={…}) takes them as `@name`"
        )
    return {"kind": "lark", "text": text}


def _made(recipe: Recipe) -> Grammar:
    with runtime_errors():
        native = _MAKERS[recipe["kind"]](recipe)
        native.normalize()  # XGrammar finds what is wrong with a text here, not when it is compiled
    return Grammar(native, recipe)


def _joined(kind: str, grammars: tuple[Grammar, ...]) -> Grammar:
    for grammar in grammars:
        if not isinstance(grammar, Grammar):
            raise TypeError(f"{kind} is of Grammars, not of {type(grammar).__name__}")
    with runtime_errors():
        native = (concat if kind == "concat" else union)(*(grammar.native for grammar in grammars))
    return Grammar(native, {"kind": kind, "parts": [grammar.recipe() for grammar in grammars]})


def _of_ebnf(recipe: Recipe) -> NativeGrammar:
    return NativeGrammar.from_ebnf(recipe["text"], recipe["start"])


def _of_schema(recipe: Recipe) -> NativeGrammar:
    schema = recipe["schema"]
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise XGrammarError(f"the schema is not JSON: {error}") from None
    if recipe["strict_mode"]:
        schema = closed(schema, arrays=True)
    indent, separators = recipe["indent"], recipe["separators"]
    whitespace: Any
    if recipe["any_whitespace"]:
        most = recipe["max_whitespace_cnt"]
        whitespace = ANY_BLANKS if most is None else {"max": most}
    elif indent is None:
        whitespace = {"separators": tuple(separators or (", ", ": "))}
    else:
        whitespace = {"indent": indent, "separators": tuple(separators or (",", ": "))}
    return NativeGrammar.from_json_schema(
        schema,
        whitespace=whitespace,
        spelling="plain",
        numbers="plain",
        property_order="any" if recipe["any_order"] else "schema",
    )


def _of_regex(recipe: Recipe) -> NativeGrammar:
    return NativeGrammar.from_regex(recipe["pattern"], flags="s")


def _of_lark(recipe: Recipe) -> NativeGrammar:
    return NativeGrammar.from_lark(recipe["text"], flavor="xgrammar")


def _of_tag(recipe: Recipe) -> NativeGrammar:
    return NativeGrammar.from_structural_tag(recipe["tag"])


def _of_json(_: Recipe) -> NativeGrammar:
    return NativeGrammar.from_ebnf(JSON_EBNF)


_MAKERS: Final[dict[str, Callable[[Recipe], NativeGrammar]]] = {
    "ebnf": _of_ebnf,
    "json_schema": _of_schema,
    "regex": _of_regex,
    "lark": _of_lark,
    "structural_tag": _of_tag,
    "json": _of_json,
}


def _plain_schema(schema: Any) -> Any:
    """Return a schema as JSON text or a dict. Raises: XGrammarError (a ValueError) for anything else."""
    if isinstance(schema, str | dict | bool):
        return schema
    describe = getattr(schema, "model_json_schema", None)
    if not callable(describe):
        raise XGrammarError(f"a schema is JSON text, a dict or a pydantic class, not {type(schema).__name__}")
    return describe()


def _plain_tag(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a structural tag as a dict."""
    if len(args) == 1 and not kwargs:
        tag = args[0]
    elif len(args) == 2 and isinstance(args[0], list) and isinstance(args[1], list) and not kwargs:
        tag = {"structures": [_plain_item(item) for item in args[0]], "triggers": args[1]}
    elif not args and kwargs.keys() == {"structural_tag"}:
        tag = kwargs["structural_tag"]
    elif not args and kwargs.keys() == {"tags", "triggers"}:
        tag = {"structures": [_plain_item(item) for item in kwargs["tags"]], "triggers": kwargs["triggers"]}
    else:
        raise TypeError(
            "from_structural_tag takes one structural tag, or a list of tags and a list of triggers"
        )
    if isinstance(tag, str):
        try:
            return json.loads(tag)
        except (ValueError, RecursionError) as error:
            raise InvalidJSONError(f"the structural tag is not JSON: {error}") from None
    plain = as_plain(tag)
    if not isinstance(plain, dict):
        raise TypeError(f"a structural tag is a StructuralTag, JSON text or a dict, not {type(tag).__name__}")
    try:
        return json.loads(json.dumps(plain))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidStructuralTagError(f"the structural tag is not JSON: {error}") from None


def _plain_item(item: Any) -> Any:
    plain = as_plain(item)
    if isinstance(plain, dict) and "schema" in plain:
        return {**plain, "schema": _plain_schema(plain["schema"])}
    return plain


def _show(grammar: Grammar, wanted: bool) -> None:
    if wanted:
        print(grammar)
