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
    Id() = default;  // trivial, so that structs of ids are plain data
    template <class N, class = IfInteger<N>>
    constexpr Id(N n) : number(static_cast<int32_t>(n)) {}
    template <class Other>
    Id(const Id<Other>&) = delete;
    template <class Other>
    Id& operator=(const Id<Other>&) = delete;

    constexpr operator int32_t() const { return number; }

    Id& operator++() {
        ++number;
        return *this;
    }
    Id& operator--() {
        --number;
        return *this;
    }
    Id operator++(int) {
        Id before = *this;
        ++number;
        return before;
    }
    Id operator--(int) {
        Id before = *this;
        --number;
        return before;
    }

    // what is added or masked is a plain integer: never another id
#define STACKMASK_ASSIGN(op) \
    template <class N>       \
    Id& operator op(N n) {   \
        number op plain(n);  \
        return *this;        \
    }
    STACKMASK_ASSIGN(+=)
    STACKMASK_ASSIGN(-=)
    STACKMASK_ASSIGN(*=)
    STACKMASK_ASSIGN(/=)
    STACKMASK_ASSIGN(%=)
    STACKMASK_ASSIGN(&=)
    STACKMASK_ASSIGN(|=)
    STACKMASK_ASSIGN(^=)
    STACKMASK_ASSIGN(<<=)
    STACKMASK_ASSIGN(>>=)
#undef STACKMASK_ASSIGN

  private:
    template <class N>
    static constexpr int32_t plain(N n) {
        return static_cast<int32_t>(Id(n));
    }
};

// ids of one name compare as integers do; ids of two names do not compare
#define STACKMASK_COMPARE(op)                                      \
    template <class Tag>                                           \
    constexpr bool operator op(Id<Tag> a, Id<Tag> b) {             \
        return static_cast<int32_t>(a) op static_cast<int32_t>(b); \
    }                                                              \
    template <class Tag, class Other>                              \
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

#define STACKMASK_ID(NAME)                                                 \
    struct NAME##Tag;                                                      \
    typedef stackmask::Id<NAME##Tag> NAME;                                 \
    static_assert(sizeof(NAME) == sizeof(int32_t), "an id is an integer"); \
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
STACKMASK_ID(CalleeId)
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

namespace stackmask {

// How often at most, where there is no bound: more than every count.
constexpr int32_t UNBOUNDED = INT32_MAX;

// Whether a term may end here: never, or where the next byte is in a guard.
class Nullability {
    uint8_t code;  // 0: never; else the guard + 1

    constexpr explicit Nullability(int code) : code(static_cast<uint8_t>(code)) {}

  public:
    Nullability() = default;
    static constexpr Nullability never() { return Nullability(0); }
    static constexpr Nullability under(GuardId guard) {
        return Nullability(static_cast<int>(static_cast<int32_t>(guard)) + 1);
    }

    constexpr bool possible() const { return code != 0; }
    constexpr bool always() const { return code == 1; }            // guard 0 allows every byte
    constexpr GuardId guard() const { return GuardId(code - 1); }  // where it is possible
};

constexpr Nullability NEVER = Nullability::never();
constexpr Nullability ALWAYS = Nullability::under(GuardId(0));

// What happens when a call returns: a capture ends and its action runs, or one of the constants below.
class ReturnAction {
    enum Kind : uint32_t { CAPTURE, NONE, SCOPE, KEYED, COUNTED, BACK };
    uint32_t bits;  // three of the kind; above them, where a capture ends, the action

    constexpr ReturnAction(Kind kind, uint32_t number) : bits(number << 3 | kind) {}
    constexpr uint32_t kind() const { return bits & 7; }

  public:
    ReturnAction() = default;
    static constexpr ReturnAction end_of(ActionId action) {
        return ReturnAction(CAPTURE, static_cast<uint32_t>(static_cast<int32_t>(action)));
    }
    static constexpr ReturnAction of_code(uint32_t code) {
        return ReturnAction(static_cast<Kind>(code & 7), code >> 3);
    }
    static constexpr ReturnAction none() { return ReturnAction(NONE, 0); }
    static constexpr ReturnAction scope() { return ReturnAction(SCOPE, 0); }
    static constexpr ReturnAction keyed() { return ReturnAction(KEYED, 0); }
    static constexpr ReturnAction counted() { return ReturnAction(COUNTED, 0); }
    static constexpr ReturnAction back() { return ReturnAction(BACK, 0); }

    constexpr uint32_t code() const { return bits; }  // all of it, to hash, to sort, and for keys of dicts

    constexpr bool is_capture() const { return kind() == CAPTURE; }  // mutant: first-capture
    constexpr ActionId action() const { return ActionId(static_cast<int32_t>(bits >> 3)); }  // of a capture
    // whether the semantic state of the caller comes back at the return, or its keys
    constexpr bool restores_caller() const { return kind() == SCOPE || kind() == KEYED || kind() == BACK; }

    constexpr bool operator==(ReturnAction other) const { return bits == other.bits; }
    constexpr bool operator!=(ReturnAction other) const { return bits != other.bits; }
};
static_assert(sizeof(ReturnAction) == sizeof(int32_t), "edges of frames are as small as can be");

constexpr ReturnAction ACTION_NONE = ReturnAction::none();
constexpr ReturnAction ACTION_SCOPE = ReturnAction::scope();
constexpr ReturnAction ACTION_KEYED = ReturnAction::keyed();
constexpr ReturnAction ACTION_COUNTED = ReturnAction::counted();
constexpr ReturnAction ACTION_BACK = ReturnAction::back();

}  // namespace stackmask

#endif
