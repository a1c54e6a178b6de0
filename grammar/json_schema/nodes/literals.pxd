# From the schemas of a document to the numbers of nodes.
cimport cython

from stackmask.grammar.ir.failures cimport FAILED
from stackmask.grammar.json_schema.nodes.structural_keys cimport Contents


@cython.final
cdef class Literals:
    cdef readonly list nodes
    cdef public Contents contents       # None where equal parts are not looked for
    cdef readonly bint repeats          # whether a node stands for several schemas
    cdef list repeated                  # of the report: the place of a node, and of an equal schema, …
    cdef object registry                # where references lead
    cdef object root                    # the resource that nearly all schemas are in
    cdef dict in_root                   # id of a schema of the root, outside of dynamic scopes -> number
    cdef dict elsewhere                 # id, resource, scope -> number
    cdef dict saying                    # what it says, outside of the root with resource and scope -> number
    cdef object resource                # the one asked for last, and what its draft says
    cdef object id_keyword
    cdef frozenset keywords
    cdef object draft

    cpdef object literal(self, object schema, object resource, tuple scope, object where)
    cdef object entered(self, object schema, object resource, object where)
    cpdef object known(self, object schema, object resource, tuple scope)
    cpdef object number(self, object schema, object resource, tuple scope, object where)
    cpdef int add_properties(
        self, list atoms, dict schemas, object resource, tuple scope, object place
    ) except FAILED
    cdef int look_at(self, object resource) except FAILED
