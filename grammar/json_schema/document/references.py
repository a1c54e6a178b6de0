"""Resolution of references: documents, embedded resources, anchors, JSON pointers.

A document is scanned for identifiers only when a reference needs one: most schemas only use ``#/…``.
Source: RFC 3986 (resolution), RFC 6901 (pointers), JSON Schema 2020-12 core, sections 8.2 and 9.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from stackmask.grammar.json_schema.document.drafts import (
    BY_URI,
    DRAFT_2020,
    UNDECLARED,
    VOCABULARIES,
    Draft,
    subschema_keys,
)
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError, Where
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import spend

_METASCHEMAS: Final = Path(__file__).with_name("metaschemas.json")
_PLAIN_URI: Final = re.compile(r"https?://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._/-]*)?")
_LATEST: Final = frozenset(("http://json-schema.org/schema", "https://json-schema.org/schema"))


class Resource:
    """A schema with its own URI: a document, or a part of a document with ``$id``."""

    __slots__ = ("_document", "anchors", "draft", "dynamic", "recursive", "root", "scanned", "uri", "where")

    def __init__(
        self, uri: str, root: Any, draft: Draft, where: Where, document: Resource | None = None
    ) -> None:
        self.uri = uri
        self.root = root
        self.draft = draft
        self.where = where
        self._document = document
        self.scanned = False
        self.anchors: dict[str, tuple[Any, Where]] = {}
        self.dynamic: set[str] = set()
        self.recursive = isinstance(root, dict) and root.get("$recursiveAnchor") is True

    @property
    def document(self) -> Resource:
        """The document that contains the resource; not stored, to avoid reference cycles."""
        return self._document or self


class Referred(NamedTuple):
    """The target of a reference: a schema, its resource, its location, and the dynamic anchor used."""

    schema: Any
    resource: Resource
    where: Where
    anchor: str = ""


class Registry:
    """All resources that references may point to. Raises: SchemaError for dangling references."""

    def __init__(self, schema: Any, supplied: Any, draft: Draft | None) -> None:
        self.supplied = supplied
        self.forced = draft
        self.by_uri: dict[str, Resource] = {}
        self.embedded: dict[tuple[int, int], Resource] = {}
        self.documents: list[Resource] = []
        self.pointers: dict[tuple[str, int], Referred] = {}  # by reference and resource
        self.root = self._add_document("", schema, draft or UNDECLARED)

    def _add_document(self, uri: str, schema: Any, default: Draft) -> Resource:
        draft = self._draft_of(schema, default, uri)
        where: Where = uri
        identifier = schema.get(draft.id_keyword) if isinstance(schema, dict) else None
        if isinstance(identifier, str) and not (draft.ref_alone and "$ref" in schema):
            uri = urldefrag(_join(uri, identifier))[0]
        resource = Resource(uri, schema, draft, where)
        self.documents.append(resource)
        self.by_uri.setdefault(uri, resource)
        if isinstance(where, str):
            self.by_uri.setdefault(where, resource)
        return resource

    def _draft_of(self, schema: Any, default: Draft, where: Where) -> Draft:
        """Return the draft named by ``$schema``."""
        if not isinstance(schema, dict) or "$schema" not in schema:
            return default
        uri = schema["$schema"]
        if not isinstance(uri, str):
            raise SchemaError(where, "$schema", "must be a string")
        uri = urldefrag(uri.strip())[0]
        if uri in BY_URI:
            return BY_URI[uri]
        if uri in _LATEST:
            return DRAFT_2020
        metaschema = self._supplied(uri)
        if isinstance(metaschema, dict):
            draft = self._draft_of(metaschema, DRAFT_2020, uri)
            used = metaschema.get("$vocabulary")
            if isinstance(used, dict):
                names = {name.rsplit("/", 1)[-1] for name in used}
                for vocabulary, keywords in VOCABULARIES.items():
                    if vocabulary not in names and not (
                        vocabulary == "unevaluated" and draft is not DRAFT_2020 and "applicator" in names
                    ):
                        draft = draft.without(keywords)
            return draft
        if self.forced is not None:
            return self.forced
        raise UnsupportedSchemaError(
            where, "$schema", f"unknown dialect {uri}; pass `draft=` to read it as one of the drafts"
        )

    def _supplied(self, uri: str) -> Any:
        """Return the schema that the caller supplied for this URI, or None."""
        supplied = self.supplied
        if supplied is None:
            return None
        if isinstance(supplied, Mapping):
            for name in (uri, uri + "#"):
                if name in supplied:
                    found = supplied[name]
                    # referencing.Registry maps to resources, whose `contents` is the schema
                    return getattr(found, "contents", found)
        return None

    def enter(self, schema: dict[str, Any], parent: Resource, where: Where) -> Resource:
        """Return the resource that begins at a schema with an identifier, or ``parent`` if there is none."""
        draft = parent.draft
        identifier = schema.get(draft.id_keyword)
        if not isinstance(identifier, str) or schema is parent.root:
            return parent
        if draft.ref_alone and ("$ref" in schema or identifier.startswith("#")):
            return parent
        key = (id(schema), id(parent))
        found = self.embedded.get(key)
        if found is None:
            uri = _resolved(parent.uri, identifier)
            try:
                own = self._draft_of(schema, draft, where)
            except UnsupportedSchemaError:
                own = draft
            if own.id_keyword not in schema:
                own = draft
            found = Resource(uri, schema, own, where, parent.document)
            self.embedded[key] = found
            self.by_uri.setdefault(uri, found)
        return found

    def scan(self, document: Resource) -> None:
        """Find all identifiers and anchors of a document. Cost: linear in the document, once."""
        if document.scanned:
            return
        document.scanned = True
        stack: list[tuple[Any, Resource, Where]] = [(document.root, document, document.where)]
        seen: set[tuple[int, int]] = set()
        while stack:
            schema, resource, where = stack.pop()
            spend(4)
            if (id(schema), id(resource)) in seen or not isinstance(schema, dict):
                continue
            seen.add((id(schema), id(resource)))
            resource = self.enter(schema, resource, where)
            resource.scanned = True
            draft = resource.draft
            if not (draft.ref_alone and "$ref" in schema):
                _note_anchors(schema, resource, where)
            for keyword, key in subschema_keys(schema):
                inner = schema[keyword]
                place: Where = (where, keyword)
                if key is not None:
                    inner, place = inner[key], (place, key)
                stack.append((inner, resource, place))

    def has_dynamic_anchors(self, resource: Resource) -> bool:
        """Return whether dynamic references can point into the resource."""
        self.scan(resource.document)
        return bool(resource.dynamic) or resource.recursive

    def scope_in(self, resource: Resource, scope: tuple[Resource, ...]) -> tuple[Resource, ...]:
        """Return the dynamic scope after entering a resource.

        Only the outermost entered resource with each dynamic anchor matters.
        """
        if not scope and resource is not self.root and self.has_dynamic_anchors(self.root):
            scope = (self.root,)
        if resource in scope or not self.has_dynamic_anchors(resource):
            return scope
        known = set().union(*(outer.dynamic for outer in scope))
        if resource.dynamic <= known and not (
            resource.recursive and not any(outer.recursive for outer in scope)
        ):
            return scope
        return (*scope, resource)

    def resolve(self, ref: str, base: Resource, where: Where, keyword: str = "$ref") -> Referred:
        """Return the target of a reference in ``base``."""
        if ref == "#":
            return Referred(base.root, base, base.where)
        if ref.startswith("#/"):
            key = (ref, id(base))
            found = self.pointers.get(key)
            if found is None:
                found = self.pointers[key] = self._pointer(ref[1:], base, where, keyword, ref)
            return found
        uri, fragment = urldefrag(ref)
        resource = base
        if uri:
            resource = self._resource(_join(base.uri, uri), where, keyword, ref)
        if not fragment:
            return Referred(resource.root, resource, resource.where)
        if fragment.startswith("/"):
            return self._pointer(fragment, resource, where, keyword, ref)
        self.scan(resource.document)
        fragment = unquote(fragment)
        if fragment not in resource.anchors:
            raise SchemaError(where, keyword, f"no anchor `{fragment}` in {resource.uri or 'the schema'}")
        schema, place = resource.anchors[fragment]
        return Referred(schema, resource, place, fragment if fragment in resource.dynamic else "")

    def _resource(self, uri: str, where: Where, keyword: str, ref: str) -> Resource:
        if uri in self.by_uri:
            return self.by_uri[uri]
        for document in list(self.documents):
            self.scan(document)
        if uri in self.by_uri:
            return self.by_uri[uri]
        schema = self._supplied(uri)
        if schema is None:
            schema = bundled_metaschemas().get(uri)
        if schema is None:
            raise SchemaError(
                where,
                keyword,
                f"{ref!r} leads to {uri}, which is not at hand; nothing is fetched: pass it in `resources=`",
            )
        resource = self._add_document(uri, schema, self.root.draft)
        return resource

    def _pointer(self, fragment: str, resource: Resource, where: Where, keyword: str, ref: str) -> Referred:
        schema, place = resource.root, resource.where
        try:
            for key, schema in along(fragment, schema):  # noqa: B020
                place = (place, key)
                if isinstance(schema, dict) and resource.draft.id_keyword in schema:
                    resource = self.enter(schema, resource, place)
        except KeyError as missing:
            (token,) = missing.args
            close = similar(token, map(str, schema)) if isinstance(schema, dict) else None
            meant = f"; did you mean `{close}`?" if close else ""
            reason = f"{ref!r} leads to nothing: there is no `{token}`{meant}"
            raise SchemaError(where, keyword, reason) from None
        if not isinstance(schema, dict | bool):
            raise SchemaError(where, keyword, f"{ref!r} does not lead to a schema")
        return Referred(schema, resource, place)


def along(fragment: str, value: Any) -> Iterator[tuple[str | int, Any]]:
    """Yield the keys of a JSON pointer, each with its target. Raises: KeyError with the missing key."""
    for raw in fragment.split("/")[1:]:
        spend(2)
        token = unquote(raw).replace("~1", "/").replace("~0", "~") if "%" in raw or "~" in raw else raw
        key: str | int = token
        if isinstance(value, list) and token.isdecimal() and int(token[:9]) < len(value):
            key = int(token)
        elif not isinstance(value, dict) or token not in value:
            raise KeyError(token)
        value = value[key]
        yield key, value


def local_target(root: Any, reference: Any) -> Any:
    """Follow a reference by its path within a schema and return the target; None for other references."""
    found = root
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    try:
        for _, inner in along(reference, root):
            found = inner
    except KeyError:
        return None
    return found


def _note_anchors(schema: dict[str, Any], resource: Resource, where: Where) -> None:
    keywords = resource.draft.keywords
    identifier = schema.get(resource.draft.id_keyword)
    if isinstance(identifier, str) and identifier.startswith("#") and len(identifier) > 1:
        resource.anchors.setdefault(identifier[1:], (schema, where))
    if "$anchor" in keywords and isinstance(anchor := schema.get("$anchor"), str):
        resource.anchors.setdefault(anchor, (schema, where))
    if "$dynamicAnchor" in keywords and isinstance(anchor := schema.get("$dynamicAnchor"), str):
        resource.anchors.setdefault(anchor, (schema, where))
        resource.dynamic.add(anchor)


def _join(base: str, ref: str) -> str:
    if ref.startswith("#"):
        return base + ref
    try:
        return urljoin(base, ref)
    except ValueError:  # such as an unclosed bracket of an IPv6 address
        return ref


@lru_cache(4096)
def _resolved(base: str, ref: str) -> str:
    """Return the URI of a reference, without its fragment. Cost: about 20 µs, less for plain references."""
    if _PLAIN_URI.fullmatch(ref):  # nothing of the base is used, and nothing is left to be written otherwise
        return ref
    if ref.startswith("#"):
        return _without_fragment(base)
    return urldefrag(_join(base, ref))[0]


@lru_cache(256)
def _without_fragment(base: str) -> str:
    """Return a URI without its fragment."""
    return urldefrag(base + "#-")[0]


@cache
def bundled_metaschemas() -> dict[str, Any]:
    """Return the metaschemas of all drafts by URI."""
    found: dict[str, Any] = json.loads(_METASCHEMAS.read_text(encoding="utf-8"))
    return found
