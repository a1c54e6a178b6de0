"""From the schemas of a document to the numbers of nodes: what is done for each subschema."""

cimport cython

from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.nodes.leaf_cache import MAX_CONTENT, leaf_key, recall
from stackmask.grammar.json_schema.nodes.nodes import EVERYTHING, NOTHING, PROPERTY, Node

cdef Py_ssize_t MAX_SIZE = MAX_CONTENT
cdef object ALL = EVERYTHING, NONE = NOTHING, A_PROPERTY = PROPERTY


@cython.final
cdef class Literals:
    """The numbers of the nodes of one schema: one for all subschemas that say the same.

    ``repeated``: gets the place of a node and that of another schema with its number, one after the other.
    ``leaves``: scalar values that were met before, in whatever schema.
    """

    def __cinit__(self, list nodes, object root, list repeated, str formats, dict leaves):
        self.nodes = nodes
        self.contents = None
        self.repeats = False
        self.repeated = repeated
        self.formats = formats
        self.leaves = leaves
        self.root = root
        self.in_root = {}
        self.elsewhere = {}
        self.saying_in_root = {}
        self.saying_elsewhere = {}
        self.sketches = {}
        self.words = {}
        self.referred = {}
        self.resource = None

    cdef int look_at(self, object resource) except -1:
        """Note what the draft of a resource says."""
        cdef object draft = resource.draft
        self.id_keyword = draft.id_keyword
        self.keywords = draft.keywords
        self.draft = draft
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
            return self.referred_to(schema) if resource is self.root and not scope else None
        parts = (<dict>schema).get("allOf")
        if parts is not None and isinstance(parts, list) and len(<list>parts) == 1:
            return None
        return self.number(schema, resource, scope, where)

    cdef object referred_to(self, dict schema):
        """Return the literal that a reference within the root leads to; None where there is more to see to.

        ``schema`` lies in the root, outside of dynamic scopes. There is no more to it where nothing counts
        beside the reference, and it leads by plain names to a schema that is no reference itself.
        """
        cdef object ref, name, found, target = self.root.root, place
        for name in schema:
            if name != "$ref" and (name in self.keywords or name == self.id_keyword):  # mutant: beside-ref
                return None
        ref = schema["$ref"]
        if type(ref) is not str:
            return None
        found = self.referred.get(ref)
        if found is not None or not (<str>ref).startswith("#/") or "%" in <str>ref or "~" in <str>ref:
            return found
        place = self.root.where
        for name in (<str>ref).split("/")[1:]:
            if type(target) is not dict:
                return None
            target = (<dict>target).get(name)
            place = (place, name)
            if type(target) is dict and self.id_keyword in <dict>target:
                return None
        if type(target) is not dict or "$ref" in <dict>target:
            return None
        found = self.plain(target, self.root, (), place)
        if found is not None:
            self.referred[ref] = found
        return found

    cpdef object known(self, object schema, object resource, tuple scope):
        """Return the number of a schema, a dict of any type, that was met before, or None."""
        cdef object address = <Py_ssize_t><void*>schema
        if resource is self.root and not scope:
            return self.in_root.get(address)
        return self.elsewhere.get((address, resource, scope))

    cpdef object number(self, object schema, object resource, tuple scope, object where):
        """Return the number of a schema not met before: of a node that says the same, or a new one."""
        cdef Py_ssize_t count = len(self.nodes)
        cdef object number = count, address = <Py_ssize_t><void*>schema, said = None, found = None, node
        cdef object name, value, keyword = None
        cdef bint in_root = resource is self.root and not scope
        if self.contents is not None and type(schema) is dict:
            if resource is not self.resource:
                self.look_at(resource)
            if in_root:
                for name, value in (<dict>schema).items():
                    if name in self.keywords:
                        if keyword is not None or type(value) is not str:
                            keyword = None
                            break
                        keyword = name
                if keyword is not None:  # one word, such as the type: no key is made to find it
                    value = (<dict>schema)[keyword]
                    found = self.words.get(keyword)
                    if found is None:
                        found = self.words[keyword] = {}
                    found = (<dict>found).setdefault(value, number)
            if found is None or found is number:
                said = self.said_by(schema, in_root, number)
                if said is not None:
                    if in_root:
                        found = self.saying_in_root.setdefault(said, number)
                    else:
                        found = self.saying_elsewhere.setdefault((said, resource, scope), number)
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
            node = Node(number, schema, resource, scope, where)
            if said is not None and self.contents.portable and self.contents.size <= MAX_SIZE:
                recall(self.leaves, node, leaf_key(said, self.draft, self.formats))
            self.nodes.append(node)
        return number

    cdef object said_by(self, dict schema, bint in_root, object number):
        """Return what a schema says, as a key; None for what no JSON says, and where no other may say it yet.

        What is below is looked at when a second schema has the same sketch: in most there are no two.
        """
        cdef Contents contents = self.contents
        cdef object sketch = contents.sketch(schema, self.keywords), first, said
        if sketch is None or contents.portable:
            return sketch
        if in_root:
            first = self.sketches.get(sketch, ALL)
            if first is ALL:
                self.sketches[sketch] = (schema, number)
                return None
            if first is not None:
                self.sketches[sketch] = None
                said = contents.key((<tuple>first)[0], self.keywords)
                if said is not None:
                    self.saying_in_root[said] = (<tuple>first)[1]
        return contents.key(schema, self.keywords)

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
