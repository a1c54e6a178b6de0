# distutils: language = c++
"""Masks made ahead of time, for a server that knows its grammars."""

from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.heads cimport NO_RUN_ITEM, Cut, Leaf
from stackmask.pda.interning cimport EMPTY, EPS, SiteList
from stackmask.pda.keys cimport KEYS_UNKNOWN
from stackmask.pda.mask_table cimport NO_TOKENS
from stackmask.pda.masks cimport MaskStore
from stackmask.pda.parts cimport WHOLE
from stackmask.pda.semantics cimport SEM_SYMBOL


def precompute(MaskStore masks, rules, long long budget):
    """Make the masks of every reachable local state of the rules, and of every (state, return state) pair.

    Stops after ``budget`` walks. Returns (states seen, walks done, complete).
    """
    cdef int32_t rule, state, d, s, g, mask, rest
    cdef SiteList sites
    cdef uint64_t before = masks.walks
    calls = []      # (caller rule, callee rule, return state)
    reach = {}
    # a rule that an earlier grammar brought along may be listed without the rules that it calls
    rules = list(dict.fromkeys(rules))
    known = set(rules)
    for rule in rules:
        seen = {masks.terms.rule_body[rule]}
        todo = list(seen)
        while todo:
            state = todo.pop()
            masks.terms.find_sites(state)
            sites = masks.terms.site_lists[masks.terms.terms[state].calls]
            for s in range(sites.first, sites.first + sites.count):
                callee = masks.terms.call_rule[masks.terms.sites[s].call]
                rest = masks.terms.sites[s].rest
                if callee >= 0:
                    calls.append((rule, callee, rest))
                    if callee not in known:
                        known.add(callee)
                        rules.append(callee)
                if rest not in seen:
                    seen.add(rest)
                    todo.append(rest)
            for d in range(256 + masks.terms.token_classes):
                d = masks.terms.step(state, d)
                if d != EMPTY and d not in seen:
                    seen.add(d)
                    todo.append(d)
            if len(seen) > budget:
                return len(seen), 0, False
        reach[rule] = seen
    returns = {rule: set() for rule in rules}
    for _, callee, rest in calls:
        if rest != EPS:
            returns[callee].add(rest)
    changed = True
    while changed:
        # a tail call returns to where its caller returns
        changed = False
        for caller, callee, rest in calls:
            if rest == EPS and not returns[caller] <= returns[callee]:
                returns[callee] |= returns[caller]
                changed = True
    total = sum(map(len, reach.values()))
    for rule in rules:
        for state in reach[rule]:
            if <long long>(masks.walks - before) > budget:
                return total, masks.walks - before, False
            todo = make(masks, WHOLE, state)
            seen = set()
            while todo:
                mask, rest, below = todo.pop()
                if (mask, rest, below) in seen:
                    continue
                seen.add((mask, rest, below))
                g = masks.masks[mask].include_first
                for g in range(g, g + masks.masks[mask].include_count):
                    todo.append((masks.includes[g].mask, rest, below))
                g = masks.masks[mask].group_first
                for g in range(g, g + masks.masks[mask].group_count):
                    if rest != EPS:
                        found = make(masks, masks.mask_groups[g], rest)
                        todo += [(part, after, below) for part, after, _ in found]
                    elif not below:
                        for rest_below in returns[rule]:
                            found = make(masks, masks.mask_groups[g], rest_below)
                            todo += [(part, after, True) for part, after, _ in found]
    return total, masks.walks - before, True


cdef list make(MaskStore masks, int32_t group, int32_t state):
    """Make the masks of a state over a group, or over the whole vocabulary if that is WHOLE.

    Returns (mask, what follows its heads, False) for each of them.
    """
    cdef int32_t i, found
    cdef Cut cut
    cdef Leaf leaf
    made = []
    if masks.is_cut(state, KEYS_UNKNOWN):
        cut = masks.heads.cut(state)
        if group != WHOLE or masks.heads.leaves[cut.first].run == NO_RUN_ITEM:
            state = cut.other
        for i in range(cut.first, cut.first + cut.count):
            leaf = masks.heads.leaves[i]
            if group == WHOLE:
                found = masks.root(leaf.head, False, leaf.words)
            else:
                found = masks.child(group, leaf.head, SEM_SYMBOL, False, leaf.words)
            if found != NO_TOKENS:
                made.append((found, masks.heads.rest_of(i), False))
    if state != EMPTY:
        if group == WHOLE:
            found = masks.root(state, False)
        else:
            found = masks.child(group, state, masks.groups[group].sem, False)
        made.append((found, EPS, False))
    return made
