// The records of terms and of calls. term_table.pxd says what their fields mean.
#ifndef STACKMASK_TERM_TABLE_H
#define STACKMASK_TERM_TABLE_H

#include <cstdint>

#include "../ids.h"

namespace stackmask {

struct Sequence {
    TermId first;
    TermId rest;
};
struct Repetition {
    TermId item;
    int32_t low;
    int32_t high;
};
struct OperandList {
    int32_t first;
    int32_t count;
};
struct Literal {
    int32_t first;
    int32_t length;
};
struct CallTerm {
    CallId id;
    int32_t nonempty;
};

struct Term {
    uint8_t kind;
    uint8_t flags;
    Nullability nu;
    uint8_t live;
    union {
        int32_t key[3];
        SetId set_id;
        GuardId guard;
        Literal literal;
        Sequence seq;
        OperandList operands;
        Repetition rep;
        TermId negated;
        CallTerm call;
        TokenClassId token_class;
    };
    MapId map;
    SymbolId symbol;
    TermId derivative;
    SitesId calls;
};
static_assert(sizeof(Term) == 32, "a term is half a line of the cache");

struct Call {
    int32_t kind;
    union {
        RuleId rule;
        ResolverId resolver;
        TestId test;
    };
    ReturnAction action;
    union {
        int32_t operand;
        SpecId spec;
        int32_t most_tokens;
    };
};

}  // namespace stackmask

#endif
