# distutils: language = c++
"""Masks made ahead of time, for a server that knows its grammars."""

from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.interning cimport EMPTY, EPS
from stackmask.pda.masks cimport MaskStore


def precompute(MaskStore masks, rules, long long budget):
    """Make the masks of every reachable local state of the rules, and of every (state, return state) pair.

    Stops after ``budget`` walks. Returns (states seen, walks done, complete).
    """
    cdef int32_t rule, state, d, s, g, mask
    cdef uint64_t before = masks.walks
    calls = []      # (caller rule, callee rule, return state)
    reach = {}
    for rule in rules:
        seen = {masks.terms.rule_body[rule]}
        todo = list(seen)
        while todo:
            state = todo.pop()
            masks.terms.find_sites(state)
            s = masks.terms.site_of[state]
            for s in range(s, s + masks.terms.site_count[state]):
                callee = masks.terms.call_rule[masks.terms.sites[s].call]
                rest = masks.terms.sites[s].rest
                if callee >= 0:
                    calls.append((rule, callee, rest))
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
            mask = masks.root(state, False)
            g = masks.masks[mask].group_first
            for g in range(g, g + masks.masks[mask].group_count):
                for rest in returns[rule]:
                    masks.child(masks.mask_groups[g], rest, masks.groups[masks.mask_groups[g]].sem, False)
    return total, masks.walks - before, True
