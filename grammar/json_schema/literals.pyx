"""From the schemas of a document to the numbers of nodes: what is done for each subschema."""

cimport cython

from stackmask.grammar.json_schema.errors import SchemaError
from stackmask.grammar.json_schema.leaves import MAX_CONTENT, recall
from stackmask.grammar.json_schema.nodes import EVERYTHING, NOTHING, PROPERTY, Node

cdef Py_ssize_t MAX_SIZE = MAX_CONTENT
cdef object ALL = EVERYTHING, NONE = NOTHING, A_PROPERTY = PROPERTY


@cython.final
cdef class Literals:
    """The numbers of the nodes of one schema: one for all subschemas that say the same.

    ``repeated``: gets the place of a node and that of another schema with its number, one after the other.
    """

    def __cinit__(self, list nodes, object root, list repeated, bint assert_formats):
        self.nodes = nodes
        self.contents = None
        self.repeats = False
        self.repeated = repeated
        self.assert_formats = assert_formats
        self.root = root
        self.in_root = {}
        self.elsewhere = {}
        self.saying_in_root = {}
        self.saying_elsewhere = {}
        self.resource = None

    cdef int look_at(self, object resource) except -1:
        """Note what the draft of a resource says."""
        cdef object draft = resource.draft
        self.id_keyword = draft.id_keyword
        self.keywords = draft.keywords
        self.draft_name = draft.name
        self.resource = resource
        return 0

    cpdef object plain(self, object schema, object resource, tuple scope, object where):
        """Return the literal of a schema, or None where references, resources or errors are to be seen to."""
        cdef object found, parts
        if type(schema) is not dict:
            if schema is True:
                return ALL
            return NONE if schema is False else None
        if not <dict>schema:
            return ALL
        if resource is not self.resource:
            self.look_at(resource)
        if self.id_keyword in <dict>schema:
            return None
        found = self.known(schema, resource, scope)
        if found is not None:
            return found
        if "$ref" in <dict>schema:
            return None
        parts = (<dict>schema).get("allOf")
        if parts is not None and isinstance(parts, list) and len(<list>parts) == 1:
            return None
        return self.number(schema, resource, scope, where)

    cpdef object known(self, object schema, object resource, tuple scope):
        """Return the number of a schema, a dict of any type, that was met before, or None."""
        cdef object address = <Py_ssize_t><void*>schema
        if resource is self.root and not scope:
            return self.in_root.get(address)
        return self.elsewhere.get((address, resource, scope))

    cpdef object number(self, object schema, object resource, tuple scope, object where):
        """Return the number of a schema not met before: of a node that says the same, or a new one."""
        cdef Py_ssize_t count = len(self.nodes)
        cdef object number = count, address = <Py_ssize_t><void*>schema, said = None, found, node
        cdef bint in_root = resource is self.root and not scope
        if self.contents is not None and type(schema) is dict:
            if resource is not self.resource:
                self.look_at(resource)
            said = self.contents.key(schema, self.keywords)
            if said is not None:
                if in_root:
                    found = self.saying_in_root.setdefault(said, number)
                else:
                    found = self.saying_elsewhere.setdefault((said, resource, scope), number)
                if found is not number:
                    self.repeated.append(self.nodes[found].where)
                    self.repeated.append(where)
                    self.repeats = True
                    number = found
        if in_root:
            self.in_root[address] = number
        else:
            self.elsewhere[(address, resource, scope)] = number
        if <Py_ssize_t>number == count:
            node = Node(number, schema, resource, scope, where)
            if said is not None and self.contents.portable and self.contents.size <= MAX_SIZE:
                recall(node, (said, self.draft_name, self.assert_formats))
            self.nodes.append(node)
        return number

    cpdef int add_properties(
        self, list atoms, dict schemas, object resource, tuple scope, object place, object literal_in
    ) except -1:
        """Add what `properties` says; ``literal_in`` is asked for what is not plain.

        Raises: SchemaError for a name that is no string, and what ``literal_in`` raises.
        """
        cdef object name, schema, where, literal
        for name, schema in schemas.items():
            if not isinstance(name, str):
                raise SchemaError(place, "properties", f"{name!r:.60} is no key of a JSON object")
            where = (place, name)
            literal = self.plain(schema, resource, scope, where)
            if literal is None:
                literal = literal_in(schema, resource, scope, where)
            atoms.append((A_PROPERTY, name, literal))
        return 0
