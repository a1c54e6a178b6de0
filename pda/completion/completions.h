// Classes of special tokens of a grammar.
#ifndef STACKMASK_COMPLETIONS_H
#define STACKMASK_COMPLETIONS_H

#include <algorithm>
#include <vector>

#include "../ids.h"

namespace stackmask {

struct SpecialClass {
    TokenClassId number;
    std::vector<TokenId> tokens;
    bool holds(TokenId token) const { return std::binary_search(tokens.begin(), tokens.end(), token); }
};

}  // namespace stackmask

#endif
