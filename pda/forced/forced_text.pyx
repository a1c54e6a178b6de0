# distutils: language = c++
"""Forced text: from a configuration with one continuation, the bytes up to the next branch.

A byte is forced where it is the only one that may come, the text may not end, and no special token may
come. Where only one special token may come, that token is forced. Runs are remembered: every place in a run
has the run and its offset in it. So a chain of forced states costs one lookup, at any place where it is
entered.
"""

cimport cython

from stackmask.pda.ids cimport NO_TOKEN, MapId
from stackmask.pda.stack.configuration_table cimport DEAD, has_row
from stackmask.pda.forced.boundary_tokens cimport Crossings
from stackmask.pda.terms.term_table cimport EMPTY, F_TOKEN, is_byte, token_class_of, token_symbol
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put
from stackmask.pda.vocabulary.token_trie cimport Trie

cdef enum:
    MAX_RUN = 65_536        # bytes of one run; a longer run is split
    MAX_KEPT = 1 << 20      # bytes of all runs that are remembered, about 17 bytes of memory each

cdef enum:
    NOTHING = 0
    ONE = 1
    SEVERAL = 2


@cython.final
cdef class ForcedRuns(Crossings):
    """The forced runs of one family of configurations. Hold the store's lock to use it."""

    def __cinit__(self, ConfigSpace family, token_classes, Trie trie):
        self.family = family
        self.set_trie(trie)
        for ids, number in token_classes.items():
            self.class_numbers.push_back(number)
            if <size_t>number >= self.class_token.size():
                self.class_token.resize(<size_t>number + 1, NO_TOKEN)
            if len(ids) == 1:
                self.class_token[number] = ids[0]
        map_init(&self.place_of)

    def __dealloc__(self):
        map_free(&self.place_of)

    cdef ConfigId follow(self, ConfigId config, uint8_t byte) except -1 nogil:
        return self.family.step(config, byte)

    def belongs_to(self, ConfigSpace family):
        """Tell whether the runs are those of this family."""
        return self.family is family

    cdef int only_successor(self, ConfigId config, SymbolId* symbol, ConfigId* next) except -1 nogil:
        """Find the only symbol that may come. Return NOTHING, ONE or SEVERAL; stop at the second symbol."""
        cdef int32_t c, k, m, first
        cdef ConfigId after
        cdef TokenClassId number
        cdef int32_t found = NOTHING
        cdef MapId map_id
        cdef bint tokens = False, is_row
        if self.family.counts_tokens(config):
            # how it is cut into tokens matters here
            return SEVERAL
        # a step gives the configuration its row
        self.family.step(config, 0)
        is_row = has_row(self.family.configs[config])
        first = self.family.configs[config].first
        for m in range(first, first + self.family.configs[config].count):
            if self.family.terms.terms[self.family.members[m].state].flags & F_TOKEN:
                tokens = True
        if is_row:
            map_id = self.family.configs[config].map
            for k in range(self.family.terms.classes.maps[map_id].count):
                c = self.family.terms.classes.maps[map_id].byte_of[k]
                after = self.family.step(config, c)
                if after == DEAD:
                    continue
                if found:
                    return SEVERAL
                found = ONE
                symbol[0] = c
                next[0] = after
                for m in range(c + 1, 256):
                    if self.family.terms.classes.maps[map_id].of[m] == k:
                        return SEVERAL
        else:
            for c in range(256):
                after = DEAD
                for m in range(first, first + self.family.configs[config].count):
                    # steps of terms are remembered for all configurations, steps of this one are not
                    if self.family.terms.step(self.family.members[m].state, c) != EMPTY:
                        after = self.family.step(config, c)
                        break
                if after == DEAD:
                    continue
                if found:
                    return SEVERAL
                found = ONE
                symbol[0] = c
                next[0] = after
        if tokens:
            for m in range(<int32_t>self.class_numbers.size()):
                number = self.class_numbers[m]
                after = self.family.step(config, token_symbol(number))
                if after == DEAD:
                    continue
                if found or self.class_token[number] == NO_TOKEN:  # mutant: lone-token
                    return SEVERAL
                found = ONE
                symbol[0] = token_symbol(number)
                next[0] = after
        return found

    cdef ForcedPlaceId find(self, ConfigId config) except -1 nogil:
        """Return the place of a configuration: its run and its offset there."""
        cdef ForcedPlaceId known = map_get(&self.place_of, config)
        cdef ConfigId here = config, next = DEAD
        cdef ForcedRunId number
        cdef SymbolId symbol = 0
        cdef ForcedPlaceId joined = NO_VALUE
        cdef size_t i, first, stop
        cdef int found
        cdef Run run
        cdef Place place
        if known != NO_VALUE:
            return known
        if self.data.size() > MAX_KEPT or self.places.size() > MAX_KEPT:
            self.places.clear()
            self.runs.clear()
            self.data.clear()
            self.configs.clear()
            map_clear(&self.place_of)
        first = self.data.size()
        run.first = first
        run.kind = RUN_BRANCH
        run.token = NO_TOKEN
        run.after = DEAD
        while True:
            joined = map_get(&self.place_of, here)
            if joined != NO_VALUE:
                break
            if self.family.configs[here].accepting:
                if self.only_successor(here, &symbol, &next) == NOTHING:
                    run.kind = RUN_FINAL
                break
            found = self.only_successor(here, &symbol, &next)
            if found != ONE:
                break
            if not is_byte(symbol):
                run.kind = RUN_TOKEN
                run.token = self.class_token[token_class_of(symbol)]
                run.after = next
                break
            if self.data.size() - first >= MAX_RUN:
                run.kind = RUN_LONG
                break
            self.data.push_back(<uint8_t>symbol)
            self.configs.push_back(here)
            here = next
        number = <int32_t>self.runs.size()
        place.run = number
        if joined != NO_VALUE:
            # the end is known: copy it, so that this run is complete, too
            place = self.places[joined]
            run.kind = self.runs[place.run].kind
            run.token = self.runs[place.run].token
            run.after = self.runs[place.run].after
            here = self.runs[place.run].end
            i = self.runs[place.run].first + place.offset
            stop = self.runs[place.run].first + self.runs[place.run].length
            while i < stop:
                self.data.push_back(self.data[i])
                self.configs.push_back(self.configs[i])
                i += 1
            place.run = number
        run.length = <int32_t>(self.data.size() - first)
        run.end = here
        self.runs.push_back(run)
        for place.offset in range(run.length + 1):
            here = run.end if place.offset == run.length else self.configs[first + place.offset]
            if map_get(&self.place_of, here) != NO_VALUE:
                break
            map_put(&self.place_of, here, <int32_t>self.places.size())
            self.places.push_back(place)
        return map_get(&self.place_of, config)

    cdef bint inside_character(self, ConfigId config) except -1 nogil:
        """Tell whether the next byte may continue a character."""
        cdef int32_t c
        for c in range(0x80, 0xC0):
            if self.family.step(config, c) != DEAD:
                return True
        return False

    def run(self, ConfigId config):
        """Return (bytes, number of bytes in whole characters, kind, token, next configuration) of a place.

        The last three say what comes after the run. RUN_TOKEN: the special token, and the configuration after
        it. Other kinds: -1, and the configuration at the end of the run. At most three bytes at the end
        belong to an incomplete character. If the place is inside of a character that the run does not
        complete, no byte is in a whole character.
        Cost: one lookup once the place is known.
        """
        cdef Place place = self.places[self.find(config)]
        cdef Run run = self.runs[place.run]
        cdef int32_t length = run.length - place.offset
        cdef int32_t whole
        cdef size_t start = run.first + place.offset
        cdef bytes text = (<char*>self.data.data())[start:start + length] if length else b""
        whole = length
        if length and text[length - 1] >= 0x80 and self.inside_character(run.end):
            while whole and text[whole - 1] & 0xC0 == 0x80:
                whole -= 1
            whole = max(whole - 1, 0)
        if run.kind == RUN_TOKEN:
            return text, whole, run.kind, run.token, run.after
        return text, whole, run.kind, -1, run.end
