# What one walk is asked, and what it finds.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.runs.run_splitting cimport DeferredRun


cdef struct RepeatableWalk:
    # a walk that can be repeated with the frames below its start known: remainders that are larger than the
    # vocabulary cost more to merge than to walk again
    int32_t state
    int32_t sem
    bint closed             # the start is a return state, with its calls
    bint with_tokens
    int32_t return_first      # what is returned to, first to last: rests[return_first:][:return_count]
    int32_t return_count
    int32_t place_first     # what is walked: walked_places[place_first:][:place_count]
    int32_t place_count


cdef struct WalkQuery:
    int32_t start           # the configuration to begin with, over the unknown frame
    # with `origin`: the same places, as a group is to name them if the start returns ...
    int32_t run
    bint with_tokens        # ... before it consumes a byte. Special tokens may come first
    bint strict             # an action may forbid a return that is below the start
    bint repeatable         # the walk may be repeated with the frame known:
    RepeatableWalk again             # ... how


cdef extern from *:
    """
    #ifndef STACKMASK_WALK_RESULT
    #define STACKMASK_WALK_RESULT
    #include <vector>
    struct WalkGroups {     // places where the walk returns with bytes left over, by guard and semantic state
        std::vector<uint64_t> keys;     // guard << 32 | semantic state
        std::vector<std::vector<int32_t>> places;
        std::vector<int32_t> has_run;
        int32_t at(int32_t guard, int32_t sem) {
            uint64_t key = (static_cast<uint64_t>(guard) << 32) | static_cast<uint64_t>(sem);
            for (size_t g = 0; g < keys.size(); g++)
                if (keys[g] == key) return static_cast<int32_t>(g);
            keys.push_back(key);
            places.resize(keys.size());
            has_run.push_back(0);
            return static_cast<int32_t>(keys.size() - 1);
        }
        int32_t guard(size_t g) const { return static_cast<int32_t>(keys[g] >> 32); }
        int32_t sem(size_t g) const { return static_cast<int32_t>(static_cast<uint32_t>(keys[g])); }
        size_t size() const { return keys.size(); }
        // whether all returns are such as a repeated walk makes
        bool can_repeat(int32_t with) const {
            for (size_t g = 0; g < keys.size(); g++)
                if (has_run[g] || sem(g) != with) return false;
            return true;
        }
        void clear() { keys.clear(); places.clear(); has_run.clear(); }
    };
    struct WalkPendings {   // tokens that are allowed under some guards only
        std::vector<uint64_t> ends;
        std::vector<std::vector<int32_t>> tokens;
        int32_t at(uint64_t guards) {
            for (size_t g = 0; g < ends.size(); g++)
                if (ends[g] == guards) return static_cast<int32_t>(g);
            ends.push_back(guards);
            tokens.resize(ends.size());
            return static_cast<int32_t>(ends.size() - 1);
        }
        size_t size() const { return ends.size(); }
    };
    #endif
    """
    cdef cppclass WalkGroups:
        vector[uint64_t] keys
        vector[vector[int32_t]] places
        vector[int32_t] has_run
        int32_t at(int32_t guard, int32_t sem) except +
        int32_t guard(size_t g)
        int32_t sem(size_t g)
        size_t size()
        bint can_repeat(int32_t sem)
        void clear()

    cdef cppclass WalkPendings:
        vector[uint64_t] ends
        vector[vector[int32_t]] tokens
        int32_t at(uint64_t guards) except +
        size_t size()


cdef cppclass WalkResult:
    uint32_t* bits                  # the row of the tokens that are allowed whatever the stack is, or NULL:
    int32_t dense                   # ... its number, or -1
    vector[int32_t] few             # ... these then
    WalkPendings pendings
    WalkGroups groups
    vector[int32_t] subtrees        # nodes with returns at every place below them
    vector[int32_t] subtree_groups  # ... and their groups
    vector[int32_t] readers         # places where the semantic state decides
    vector[int32_t] key_starts      # places where an undeclared key begins
    vector[DeferredRun] deferred          # what run tables are to add
    int64_t merged                  # nodes of what the groups are merged from; more is walked again instead
    bint repeats                    # the walk is to be repeated with the frame known, and has no groups
    int32_t visited                 # nodes
    bint reads_tokens               # the semantic state decides on special tokens
