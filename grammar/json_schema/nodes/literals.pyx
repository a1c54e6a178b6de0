"""Map the schemas of a document to node numbers, which is done for each subschema."""

cimport cython

from stackmask.grammar.json_schema.document.drafts import says_only
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.nodes.nodes import EVERYTHING, NOTHING, PROPERTY, Node
from stackmask.grammar.json_schema.sets.values import shown
from stackmask.grammar.source.work import spend

cdef object ALL = EVERYTHING, NONE = NOTHING, A_PROPERTY = PROPERTY


@cython.final
cdef class Literals:
    """The numbers of the nodes of one schema. Subschemas with the same content share a number.

    ``repeated``: receives, in turn, the location of a node and that of another schema with the same number.
    """

    def __cinit__(self, list nodes, object registry, list repeated):
        self.nodes = nodes
        self.contents = None
        self.repeats = False
        self.repeated = repeated
        self.registry = registry
        self.root = registry.root
        self.in_root = {}
        self.elsewhere = {}
        self.saying = {}
        self.resource = None

    cdef int look_at(self, object resource) except FAILED:
        """Record the properties of a resource's draft."""
        cdef object draft = resource.draft
        self.id_keyword = draft.id_keyword
        self.keywords = draft.keywords
        self.draft = draft
        self.resource = resource
        return 0

    cpdef object literal(self, object schema, object resource, tuple scope, object where):
        """Return the literal of a schema in a resource; references without other keywords are followed.

        Raises: SchemaError for a value that is not a schema, and for a dangling or circular reference.
        """
        cdef object found, only
        cdef set seen = None    # schemas that only lead on
        while True:
            if not isinstance(schema, dict):
                if schema is True:
                    return ALL
                if schema is False:
                    return NONE
                raise SchemaError(where, "", f"a schema is an object or a boolean, not {shown(schema)}")
            if not <dict>schema:
                return ALL
            if resource is not self.resource:
                self.look_at(resource)
            if self.id_keyword in <dict>schema:
                found = self.entered(schema, resource, where)
                if found is not resource:
                    resource, scope = found, self.registry.scope_in(found, scope)
                    self.look_at(resource)
            found = self.known(schema, resource, scope)
            if found is not None:
                return found
            if "$ref" in <dict>schema and (
                self.draft.ref_alone or says_only(schema, "$ref", self.draft)  # mutant: beside-ref
            ):
                found = (<dict>schema)["$ref"]
                if not isinstance(found, str):
                    raise SchemaError(where, "$ref", f"must be a string, not {shown(found)}")
                seen = led_on(schema, seen, where)
                found = self.registry.resolve(found, resource, where)
                if found.resource is not resource:
                    scope = self.registry.scope_in(found.resource, scope)
                schema, resource, where = found.schema, found.resource, found.where
                continue
            only = (<dict>schema).get("allOf")
            if not isinstance(only, list) or len(<list>only) != 1 or not says_only(schema, "allOf", self.draft):
                return self.number(schema, resource, scope, where)
            seen = led_on(schema, seen, where)
            schema, where = (<list>only)[0], ((where, "allOf"), 0)

    cdef object entered(self, object schema, object resource, object where):
        """Return the resource that begins at a schema with an identifier, or the enclosing resource."""
        cdef object identifier = schema[self.id_keyword]
        if not isinstance(identifier, str) and not (self.draft.ref_alone and "$ref" in schema):
            raise SchemaError(where, self.id_keyword, f"must be a string, not {shown(identifier)}")
        return self.registry.enter(schema, resource, where)

    cpdef object known(self, object schema, object resource, tuple scope):
        """Return the number of a known schema, which is any dict, or None."""
        cdef object address = <Py_ssize_t><void*>schema
        if resource is self.root and not scope:
            return self.in_root.get(address)
        return self.elsewhere.get((address, resource, scope))

    cpdef object number(self, object schema, object resource, tuple scope, object where):
        """Return the number of an unknown schema: that of a node with the same content, or a new one."""
        cdef Py_ssize_t count = len(self.nodes)
        cdef object number = count, address = <Py_ssize_t><void*>schema, said, found = None
        cdef bint in_root = resource is self.root and not scope
        if self.contents is not None and type(schema) is dict:
            if resource is not self.resource:
                self.look_at(resource)
            said = self.contents.key(schema, self.keywords)
            if said is not None:
                found = self.saying.setdefault(said if in_root else (said, resource, scope), number)
            if found is not None and found is not number:
                self.repeated.append(self.nodes[found].where)
                self.repeated.append(where)
                self.repeats = True
                number = found
        if in_root:
            self.in_root[address] = number
        else:
            self.elsewhere[(address, resource, scope)] = number
        if <Py_ssize_t>number == count:
            self.nodes.append(Node(number, schema, resource, scope, where))
        return number

    cpdef int add_properties(
        self, list atoms, dict schemas, object resource, tuple scope, object place
    ) except FAILED:
        """Add the content of `properties`. Raises: SchemaError for a name that is not a string; as ``literal``.
        """
        cdef object name, schema
        for name, schema in schemas.items():
            if not isinstance(name, str):
                raise SchemaError(place, "properties", f"{name!r:.60} is not a key of a JSON object")
            atoms.append((A_PROPERTY, name, self.literal(schema, resource, scope, (place, name))))
        return 0


cdef set led_on(object schema, set seen, object where):
    """Record a schema that only refers to another one. Raises: SchemaError if it was already seen."""
    cdef object address = <Py_ssize_t><void*>schema
    spend(2)
    if seen is None:
        seen = set()
    if address in seen:
        raise SchemaError(where, "$ref", "the reference leads back to itself and never to a schema")
    seen.add(address)
    return seen
