# distutils: language = c++
"""Why a mask is what it is, and what it cost: for people, tests and ``stackmask trace``.

The operands of a mask are collected as a fill collects them. What a fill would have to make is made and
remembered, so the fill after it is quicker.
"""

from libc.stdint cimport uint64_t

from stackmask.pda.ids cimport NO_PENDING, NO_ROW, FrameId
from stackmask.pda.masks.assembly.worklist cimport Operand
from stackmask.pda.masks.shared.arena cimport NO_FILTER, Mask
from stackmask.pda.memory.byte_sets cimport count_bits
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.frames cimport BOTTOM, Edge

MOST_SHOWN = 8     # return states that a dump shows of a frame


cpdef dict explain_mask(MaskEngine engine, ConfigSpace family, ConfigId config):
    """Return the operands of a mask, what is left to trials, and what making all of it cost.

    Cost: that of the first fill there; the lock of the store is held by the caller.
    """
    cdef uint64_t walks = engine.walker.walks, nodes = engine.walker.visited_nodes
    cdef uint64_t spelled = engine.literals.spelled_masks
    cdef size_t i
    engine.assembler.collect(family, config)
    cdef list operands = [describe(engine, engine.assembler.found.sure[i], True)
                          for i in range(engine.assembler.found.sure.size())]
    for i in range(engine.assembler.found.unsure.size()):
        operands.append(describe(engine, engine.assembler.found.unsure[i], False))
    return {
        "operands": operands,
        "places_to_try": engine.trials.places_to_try.size(),
        "tokens_to_try": engine.trials.tokens_to_try.size(),
        "tries_everything": bool(engine.trials.tries_everything),
        "walks": engine.walker.walks - walks,
        "visited_nodes": engine.walker.visited_nodes - nodes,
        "spelled_masks": engine.literals.spelled_masks - spelled,
    }


cdef dict describe(MaskEngine engine, Operand operand, bint sure):
    """Return one operand: how its tokens are kept, how many there are, what a filter leaves, what it cost."""
    cdef Mask mask
    cdef int32_t excluded = 0
    cdef bint narrowed = False
    if operand.filter != NO_FILTER:
        excluded = engine.slices.filters[operand.filter].count
        narrowed = engine.slices.filters[operand.filter].row != NO_ROW
    found = {"sure": bool(sure), "narrowed": bool(narrowed), "excluded": excluded}
    if operand.pending != NO_PENDING:
        found["kind"] = "pending"
        found["tokens"] = engine.arena.pendings[operand.pending].count
        found["visited_nodes"] = 0
        return found
    mask = engine.arena.masks[operand.mask]
    found["kind"] = "row" if mask.dense != NO_ROW else "list"
    found["tokens"] = mask.sparse_count
    if mask.dense != NO_ROW:
        found["tokens"] = count_bits(<uint64_t*>engine.arena.rows[mask.dense], engine.width // 2)
        if engine.width & 1:
            found["tokens"] += bin(engine.arena.rows[mask.dense][engine.width - 1]).count("1")
    found["visited_nodes"] = mask.cost
    return found


cpdef list dump_configuration(ConfigSpace family, ConfigId config):
    """Return the members of a configuration as text, sorted: the local state, then its return states."""
    cdef int32_t i, first = family.configs[config].first
    cdef Member m
    cdef Edge edge
    cdef FrameId frame
    lines = []
    for i in range(first, first + family.configs[config].count):
        m = family.members[i]
        line = family.terms.dump(m.state)
        frame = m.frame
        shown = 0
        while frame != BOTTOM and shown < MOST_SHOWN:
            edge = family.edges[family.frames[frame].first]
            line += f" · {family.terms.dump(edge.continuation)}"
            if family.frames[frame].count > 1:
                line += f" (and {family.frames[frame].count - 1} more)"
            frame = edge.parent
            shown += 1
        lines.append(line + (" · …" if frame != BOTTOM else ""))
    return sorted(lines)
