// Integers that name things, each with a type of its own. See ids.pxd for what they name.
//
// A release build has plain 32-bit integers. A debug build (STACKMASK_DEBUG, see setup.py) has a class for
// each name, which converts to and from integers: an id of one name where one of another is wanted does not
// compile. Where that is meant, the code says so through an integer: `<TermId><int32_t>state`.
#ifndef STACKMASK_IDS_H
#define STACKMASK_IDS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#ifdef STACKMASK_DEBUG

namespace stackmask {

template <class N>
using IfInteger = typename std::enable_if<std::is_integral<N>::value || std::is_enum<N>::value>::type;

template <class Tag, class Other>
using IfDifferent = typename std::enable_if<!std::is_same<Tag, Other>::value, bool>::type;

template <class Tag>
class Id {
    int32_t number;

  public:
    Id() = default;     // trivial, so that structs of ids are plain data
    template <class N, class = IfInteger<N>>
    constexpr Id(N n) : number(static_cast<int32_t>(n)) {}
    template <class Other>
    Id(const Id<Other>&) = delete;
    template <class Other>
    Id& operator=(const Id<Other>&) = delete;

    constexpr operator int32_t() const { return number; }

    Id& operator++() { ++number; return *this; }
    Id& operator--() { --number; return *this; }
    Id operator++(int) { Id before = *this; ++number; return before; }
    Id operator--(int) { Id before = *this; --number; return before; }

    // what is added or masked is a plain integer: never another id
    template <class N> Id& operator+=(N n) { number += plain(n); return *this; }
    template <class N> Id& operator-=(N n) { number -= plain(n); return *this; }
    template <class N> Id& operator*=(N n) { number *= plain(n); return *this; }
    template <class N> Id& operator/=(N n) { number /= plain(n); return *this; }
    template <class N> Id& operator%=(N n) { number %= plain(n); return *this; }
    template <class N> Id& operator&=(N n) { number &= plain(n); return *this; }
    template <class N> Id& operator|=(N n) { number |= plain(n); return *this; }
    template <class N> Id& operator^=(N n) { number ^= plain(n); return *this; }
    template <class N> Id& operator<<=(N n) { number <<= plain(n); return *this; }
    template <class N> Id& operator>>=(N n) { number >>= plain(n); return *this; }

  private:
    template <class N>
    static constexpr int32_t plain(N n) { return static_cast<int32_t>(Id(n)); }
};

// ids of one name compare as integers do; ids of two names do not compare
#define STACKMASK_COMPARE(op)                                                                       \
    template <class Tag>                                                                            \
    constexpr bool operator op(Id<Tag> a, Id<Tag> b) {                                              \
        return static_cast<int32_t>(a) op static_cast<int32_t>(b);                                  \
    }                                                                                               \
    template <class Tag, class Other>                                                               \
    IfDifferent<Tag, Other> operator op(Id<Tag>, Id<Other>) = delete;
STACKMASK_COMPARE(==)
STACKMASK_COMPARE(!=)
STACKMASK_COMPARE(<)
STACKMASK_COMPARE(<=)
STACKMASK_COMPARE(>)
STACKMASK_COMPARE(>=)
#undef STACKMASK_COMPARE

}  // namespace stackmask

namespace std {
template <class Tag>
struct hash<stackmask::Id<Tag>> {
    size_t operator()(stackmask::Id<Tag> id) const noexcept {
        return hash<int32_t>()(static_cast<int32_t>(id));
    }
};
}  // namespace std

#define STACKMASK_ID(NAME)                                                                          \
    struct NAME##Tag;                                                                               \
    typedef stackmask::Id<NAME##Tag> NAME;                                                          \
    static_assert(sizeof(NAME) == sizeof(int32_t), "an id is an integer");                          \
    static_assert(std::is_trivially_copyable<NAME>::value, "ids are plain data");

#else

#define STACKMASK_ID(NAME) typedef int32_t NAME;

#endif

// terms
STACKMASK_ID(TermId)
STACKMASK_ID(SetId)
STACKMASK_ID(GuardId)
STACKMASK_ID(MapId)
STACKMASK_ID(CallId)
STACKMASK_ID(SitesId)
STACKMASK_ID(RuleId)
STACKMASK_ID(TestId)
STACKMASK_ID(TokenClassId)
STACKMASK_ID(SymbolId)
// context
STACKMASK_ID(SemId)
STACKMASK_ID(ValueId)
STACKMASK_ID(TextId)
STACKMASK_ID(ActionId)
STACKMASK_ID(ResolverId)
STACKMASK_ID(TextNodeId)
STACKMASK_ID(SlotId)
STACKMASK_ID(KeysId)
STACKMASK_ID(SpecId)
STACKMASK_ID(NeedsId)
// stack
STACKMASK_ID(FrameId)
STACKMASK_ID(ConfigId)
STACKMASK_ID(StepRowId)
STACKMASK_ID(CallNodeId)
STACKMASK_ID(LinkId)
// vocabulary
STACKMASK_ID(TokenId)
STACKMASK_ID(NodeId)
STACKMASK_ID(PlaceId)
STACKMASK_ID(SummaryId)
STACKMASK_ID(GroupId)
// masks
STACKMASK_ID(MaskId)
STACKMASK_ID(RowId)
STACKMASK_ID(SuffixesId)
STACKMASK_ID(EntryId)
STACKMASK_ID(PendingId)
STACKMASK_ID(WalkGroupId)
STACKMASK_ID(WalkPendingId)
STACKMASK_ID(RepeatId)
STACKMASK_ID(CodeId)
STACKMASK_ID(RunId)
STACKMASK_ID(RunMemberId)
STACKMASK_ID(TailId)
STACKMASK_ID(FilterId)
STACKMASK_ID(LiteralId)
STACKMASK_ID(SplitId)
STACKMASK_ID(AlternativeId)
STACKMASK_ID(OperandsId)
STACKMASK_ID(PatchedId)
// forced
STACKMASK_ID(ForcedRunId)
STACKMASK_ID(ForcedPlaceId)
// ahead
STACKMASK_ID(FrameStateId)

#undef STACKMASK_ID

#endif
