"""Audit one case: follow texts with all engines, compare the masks, and extend each difference to a text that
is judged.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stackmask.runtime.child import WorkerFault
from stackmask.runtime.comparison.audited import OURS
from stackmask.runtime.comparison.cases import Case, CaseResult, EngineRecord, Finding, Kind
from stackmask.runtime.comparison.closing import Closed, Followed
from stackmask.runtime.comparison.judges import OPTIONAL, Verdict
from stackmask.runtime.comparison.workers import Asked

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.comparison.tokenizer import Tokenizer

MOST_FAULTS: Final = 2  # of one engine in one case; then it is left alone
MOST_TOKENS: Final = 4_000  # of a text
ENOUGH_OF_A_HABIT: Final = 2
HABITS: Final = ("blanks", "spelling", "tokens")  # the value can be written, in another way
WANDERING: Final = (3, 24)  # tokens by chance in a sample
# for each try to end a text: whether a shortest end is taken with other digits (0000 is a year for some judges only), and
# tokens by chance before it
OTHER_ENDS: Final = ((False, 0), (True, 0), (True, 12))


@dataclass(frozen=True, slots=True)
class Settings:
    """The extent of an audit, as numbers. ``texts``: given texts of a case; ``mutants``: of each text;
    ``samples``: of each engine; ``places``: judged differences for each text, pair of engines and direction;
    ``tries``: attempted completions; ``steps``: masks kept for a text; ``seconds``: time limit of a case;
    ``call_seconds``: of an engine's call.
    """

    seed: int = 0
    texts: int = 3
    mutants: int = 3
    samples: int = 1
    places: int = 2
    tries: int = 3
    steps: int = 150
    seconds: float = 30.0
    call_seconds: float = 20.0


class Auditor:
    """Engines by name and a judge, as workers; masks are compared with those of this project's engine, or
    else of the first one.
    """

    def __init__(
        self, tokenizer: Tokenizer, engines: Mapping[str, Asked], judge: Asked, settings: Settings
    ) -> None:
        self.tokenizer, self.engines, self.judge, self.settings = tokenizer, engines, judge, settings
        size = tokenizer.vocabulary.size
        words = (size + 31) // 32
        self.stops: npt.NDArray[np.uint32] = np.zeros(words, np.uint32)
        for stop in tokenizer.vocabulary.stop_ids:
            self.stops[stop >> 5] |= np.uint32(1 << (stop & 31))
        self.looks = looks_of(tokenizer)
        texts = tokenizer.vocabulary.token_bytes
        self.bytes = {
            text: i for i in tokenizer.vocabulary.text_ids.tolist() if len(text := texts[i] or b"") == 1
        }

    def audit(self, case: Case) -> CaseResult:
        """Audit one case. Cost: seconds; at most about twice ``settings.seconds`` plus the time of one call."""
        run = _CaseRun(self, case)
        run.run()
        return run.result

    def by_bytes(self, data: bytes) -> list[int] | None:
        """Return a text as tokens of one byte each; None if the vocabulary lacks one, or the text is long."""
        vocabulary = self.tokenizer.vocabulary
        if len(data) > MOST_TOKENS or vocabulary.strip_first_space:
            return None
        ids = [self.bytes.get(data[at : at + 1]) for at in range(len(data))]
        return None if None in ids else [token for token in ids if token is not None]

    def close(self) -> None:
        """End all workers."""
        for worker in (*self.engines.values(), self.judge):
            worker.end()


class _CaseRun:
    def __init__(self, auditor: Auditor, case: Case) -> None:
        self.auditor, self.case, self.settings = auditor, case, auditor.settings
        self.vocabulary = auditor.tokenizer.vocabulary
        self.result = CaseResult(case.name, case.language.kind, case.language.source)
        self.rng = random.Random(f"{auditor.settings.seed}:{case.name}")
        self.verdicts: dict[bytes, Verdict] = {}
        self.faults: dict[str, int] = {}
        # by (allower, forbidder): the looks of tokens that are known to differ in how a value is written only
        self.known: dict[tuple[str, str], int] = {}
        self.habits: Counter[tuple[str, str, int]] = Counter()
        self.live: list[str] = []
        self.is_json = case.language.kind == "schema"
        self.begun = time.monotonic()

    def run(self) -> None:
        """Judge, compile, follow, compare."""
        self.result.engines = {name: EngineRecord() for name in self.auditor.engines}
        try:
            reason = self.auditor.judge.ask("load", self.case.language)
        except WorkerFault as fault:
            reason = str(fault)
        self.result.unjudged = reason or ""
        if reason is None:
            for name in self.auditor.engines:
                self.compile(name)
            self.all_texts()
        self.result.seconds = round(time.monotonic() - self.begun, 3)

    def compile(self, name: str) -> None:
        record = self.result.engines[name]
        try:
            refusal = self.auditor.engines[name].ask("compile", self.case.language)
        except WorkerFault as fault:
            record.state, record.message = "fault", str(fault)
            self.fault(name, fault, "compile", [])
            return
        if refusal is None:
            self.live.append(name)
        else:
            record.state, record.message = "refused", refusal

    def is_over(self) -> bool:
        """Return whether the time for the case is over, or no engine is left."""
        late = time.monotonic() - self.begun > self.settings.seconds
        self.result.cut |= late
        return late or not self.live

    def all_texts(self) -> None:
        """Follow given texts, samples and mutants; valid samples are then used for all engines."""
        settings = self.settings
        given = list(self.case.texts[: settings.texts])
        schema = json.loads(self.case.language.source) if self.is_json else None
        sources = [(text, "given") for text in given]
        if self.is_json:
            for text in given:
                ordered = json.dumps(declared_order(json.loads(text), schema), ensure_ascii=False)
                sources += [(ordered, "given, in declared order")] if ordered != text else []
        for name in tuple(self.live):
            sources += [(text, f"sample of {name}") for text in self.samples(name)]
        for text, source in sources[: max(1, settings.texts)]:
            made = mutants(text, settings.mutants, settings.seed, is_json=self.is_json)
            sources += [(mutant, f"mutant, {source}") for mutant in made]
        seen = set()
        for text, source in sources:
            if self.is_over():
                return
            if text not in seen:
                seen.add(text)
                self.follow(text, source)

    def ask(self, name: str, call: str, *arguments: Any) -> Any:
        """Call an engine. If it has no answer, record the fault and return None."""
        if name not in self.live:
            return None
        try:
            return self.auditor.engines[name].ask(call, *arguments)
        except WorkerFault as fault:
            self.fault(name, fault, call, arguments[0])
            return None

    def fault(self, name: str, fault: WorkerFault, call: str, ids: list[int]) -> None:
        """Record a fault with the tokens of the call."""
        category = {"WrongMask": "wrong mask", "EngineFault": "error state"}.get(fault.name, fault.kind)
        message = fault.said if category != fault.kind else str(fault)
        self.result.note(
            Finding(
                name,
                "fault",
                category,
                message,
                before=_shown(self.vocabulary.decode(ids)),
                source=f"asked to {call}",
            )
        )
        self.faults[name] = self.faults.get(name, 0) + 1
        if name in self.live and (fault.kind != "raised" or self.faults[name] >= MOST_FAULTS):
            self.live.remove(name)  # what it had compiled is gone, or it fails again and again

    def verdict(self, text: bytes) -> Verdict:
        """Judge a text only once."""
        if text not in self.verdicts:
            try:
                self.verdicts[text] = self.auditor.judge.ask("judge", text)
            except WorkerFault as fault:
                self.verdicts[text] = Verdict(None, f"the judge {fault.kind}")
                if fault.kind != "raised":
                    self.auditor.judge.ask("load", self.case.language)
        return self.verdicts[text]

    def encoded(self, text: str) -> list[int] | None:
        """Return the tokens of a text; None if the tokenizer does not reproduce the text, or they are too many."""
        try:
            data = text.encode()
            ids = self.auditor.tokenizer.encode(data)
        except ValueError:
            return None
        return ids if len(ids) <= MOST_TOKENS and self.vocabulary.decode(ids) == data else None

    def samples(self, name: str) -> list[str]:
        """Let an engine draw texts under its own masks; return the texts that are not wrong."""
        found = []
        for _ in range(self.settings.samples):
            seed, wander = self.rng.randrange(1, 1 << 30), self.rng.randint(*WANDERING)
            closed: Closed | None = None
            # where no end is found, a shorter way may have one; where a text has no verdict, none of its places has
            for tokens in (wander, wander // 4, 0):
                closed = self.ask(name, "close", [], seed, tokens)
                if closed is None or (closed.ending != "open" and not self.is_undecided(closed)):
                    break
            if closed is None:
                break
            verdict = self.judge_own(name, closed, f"sample of {name}")
            if verdict is not None and verdict.valid is not False:
                text = self.vocabulary.decode(closed.ids)
                found.append(text.decode("utf-8", "replace"))
        return found

    def is_undecided(self, closed: Closed) -> bool:
        """Return whether the judges have no verdict on a whole text, for a reason without a separate count."""
        if closed.ending != "ended":
            return False
        verdict = self.verdict(self.vocabulary.decode(closed.ids))
        return verdict.valid is None and verdict.category not in OPTIONAL

    def judge_own(self, name: str, closed: Closed, source: str) -> Verdict | None:
        """Judge a text generated under an engine's own masks; record errors, and return the verdict on a whole text."""
        ids, at = closed.ids, len(closed.ids)
        if closed.ending == "ended":
            verdict = self.verdict(self.vocabulary.decode(ids))
            self.note_accepted(name, ids, at, source, verdict)
            return verdict
        if closed.ending == "dead":
            self.note(name, "under", "dead end", "its own mask allows nothing more", ids, at, source)
        return None

    def follow(self, text: str, source: str) -> None:
        """Follow one text with all engines, and compare their masks."""
        ids = self.encoded(text)
        if ids is None:
            return
        data = text.encode()
        verdict = self.verdict(data)
        self.result.texts[{True: "valid", False: "invalid", None: "undecided"}[verdict.valid]] += 1
        found: dict[str, Followed] = {}
        for name in tuple(self.live):
            followed: Followed | None = self.ask(name, "follow", ids, self.settings.steps)
            if followed is None:
                continue
            found[name] = followed
            accepted = followed.refused is None and followed.may_end
            if followed.stuck:
                reached = ids[: followed.refused]
                self.note(
                    name,
                    "under",
                    "dead end",
                    "its own mask allows nothing more",
                    reached,
                    len(reached),
                    source,
                )
            if verdict.valid is True and not accepted:
                at = len(ids) if followed.refused is None else followed.refused
                self.over(name, ids, at, source, verdict)
            elif accepted:
                self.note_accepted(name, ids, len(ids), source, verdict)
        self.compare(ids, found)

    def note_accepted(self, name: str, ids: list[int], at: int, source: str, verdict: Verdict) -> bool:
        """Record a whole text that an engine accepts, if the text is invalid or programs may refuse it.
        Return whether it was recorded.
        """
        if verdict.valid is False:
            proof = "a whole invalid text is accepted"
        elif verdict.valid is None and verdict.category in OPTIONAL:
            proof = "a whole text is accepted that others may refuse"
        else:
            return False
        self.note(name, "under", verdict.category, proof, ids, at, source, verdict)
        return True

    def compare(self, ids: list[int], found: dict[str, Followed]) -> None:
        """Compare each engine's masks with the reference's, and judge some differences in each direction."""
        if not found:
            return
        reference = OURS if OURS in found else next(iter(found))
        theirs = found[reference].masks
        self.result.engines[reference].places += len(theirs)
        for name, followed in found.items():
            if name == reference:
                continue
            masks = followed.masks
            places = min(len(masks), len(theirs))
            record = self.result.engines[name]
            record.places += places
            mine, other = masks[:places], theirs[:places]
            record.differing += _bits(mine ^ other)
            for allower, forbidder, allowed in (
                (name, reference, mine & ~other),
                (reference, name, other & ~mine),
            ):
                self.compare_ends(
                    ids, allower, forbidder, (mine, other) if allower == name else (other, mine)
                )
                self.compare_tokens(ids, allower, forbidder, allowed & ~self.auditor.stops)

    def compare_tokens(
        self, ids: list[int], allower: str, forbidder: str, allowed: npt.NDArray[np.uint32]
    ) -> None:
        """Judge tokens that one engine allows and the other forbids. Shapes: ``allowed`` (places, words)."""
        known = self.auditor.looks[self.known.get((allower, forbidder), 0)]
        differing = np.flatnonzero((allowed & ~known).any(axis=1)).tolist()
        allowed = allowed & ~known
        chosen = differing[:1] + self.rng.sample(
            differing[1:], min(len(differing[1:]), self.settings.places - 1)
        )
        for place in chosen:
            if self.is_over():
                return
            bits = np.unpackbits(allowed[place].view(np.uint8), bitorder="little")
            tokens = np.flatnonzero(bits)
            token = int(tokens[self.rng.randrange(len(tokens))])
            self.count(allower, forbidder, self.decide(allower, forbidder, ids[:place], token))

    def compare_ends(self, ids: list[int], allower: str, forbidder: str, masks: tuple[Any, Any]) -> None:
        """Judge the first position where one engine lets the text end and the other does not."""
        ends = [(mask & self.auditor.stops).any(axis=1) for mask in masks]
        for place in np.flatnonzero(ends[0] & ~ends[1]).tolist()[:1]:
            before = ids[:place]
            verdict = self.verdict(self.vocabulary.decode(before))
            source = f"difference of {allower} and {forbidder}"
            decided = True
            if verdict.valid:
                self.over(forbidder, before, place, source, verdict)
            elif not self.note_accepted(allower, before, place, source, verdict):
                decided = False
                self.note(allower, "undecided", verdict.category, "", before, place, source, verdict)
            self.count(allower, forbidder, decided)

    def count(self, allower: str, forbidder: str, decided: bool) -> None:
        """Count a judged difference for both of its engines."""
        for name in (allower, forbidder):
            record = self.result.engines[name]
            record.judged += 1
            record.decided += decided

    def decide(self, allower: str, forbidder: str, before: list[int], token: int) -> bool:
        """Determine the engine that is wrong about a token. Return whether the result is certain."""
        ids, at = [*before, token], len(before)
        source = f"difference of {allower} and {forbidder}"
        texts = self.vocabulary.token_bytes
        if token >= len(texts) or not texts[token]:
            self.note(allower, "under", "special token", "the token is not text", ids, at, source)
            return True
        if self.cannot_begin(ids):
            self.note(allower, "under", "no beginning", "no text of the language begins so", ids, at, source)
            return True
        dead: list[int] | None = None
        ends: dict[bool | None, tuple[list[int], Verdict]] = {}  # the first whole text of each verdict
        reason = "no end was found"
        for seed in range(self.settings.tries):
            # the shortest end is the same each time: other digits, or tokens before it, make another text
            vary, wander = OTHER_ENDS[seed % len(OTHER_ENDS)] if allower == OURS else (False, 0)
            closed: Closed | None = self.ask(allower, "close", ids, seed, wander, vary)
            if closed is None:
                reason = "the engine failed"
                break
            if closed.ending == "ended":
                verdict = self.verdict(self.vocabulary.decode(closed.ids))
                if verdict.valid:
                    category = self.over(forbidder, closed.ids, at, source, verdict)
                    if category in HABITS:
                        self.learn(allower, forbidder, token)
                    return True
                if verdict.valid is False or verdict.category in OPTIONAL:
                    ends.setdefault(verdict.valid, (closed.ids, verdict))
                    if verdict.valid is False and allower == OURS:
                        break
                else:
                    reason = verdict.category
            elif closed.ending == "dead":
                dead = dead or closed.ids
            elif closed.ending == "refused":
                self.note(
                    allower,
                    "fault",
                    "other mask",
                    "the same tokens are refused when asked again",
                    ids,
                    at,
                    source,
                )
                return True
        if dead is not None and False not in ends:
            self.note(allower, "under", "dead end", "its own mask allows nothing more", dead, at, source)
            return True
        for valid in (False, None):
            if valid in ends:
                return self.note_accepted(allower, ends[valid][0], at, source, ends[valid][1])
        self.note(allower, "undecided", reason, "", ids, at, source)
        return False

    def learn(self, allower: str, forbidder: str, token: int) -> None:
        """After some tokens of one appearance that differ by a spelling habit, skip the others of that appearance."""
        look = next((each for each in (1, 2, 4) if _has(self.auditor.looks[each], token)), 0)
        self.habits[allower, forbidder, look] += 1
        if look and self.habits[allower, forbidder, look] >= ENOUGH_OF_A_HABIT:
            self.known[allower, forbidder] = self.known.get((allower, forbidder), 0) | look

    def cannot_begin(self, ids: list[int]) -> bool:
        try:
            return self.auditor.judge.ask("may_begin", self.vocabulary.decode(ids)) is False
        except WorkerFault:
            self.auditor.judge.ask("load", self.case.language)
            return False

    def over(self, name: str, ids: list[int], at: int, source: str, verdict: Verdict) -> str:
        """Record a valid text that an engine forbids at a token; return the smallest change that makes it accepted."""
        text = self.vocabulary.decode(ids)
        category, proof = "value", "a valid text is forbidden"
        shown = text.decode("utf-8", "replace")
        ways = [("tokens", self.encoded(shown)), ("tokens", self.auditor.by_bytes(text))]
        if self.is_json:
            others = ways_to_write(shown, json.loads(self.case.language.source))
            others += [
                ("order", given) for given in self.case.texts if given != shown and same_value(given, shown)
            ]
            ways += [(kind, self.encoded(way)) for kind, way in others]
        for kind, written in ways:
            if written is None or written == ids:
                continue
            followed: Followed | None = self.ask(name, "follow", written, 0)
            if followed is not None and followed.refused is None and followed.may_end:
                category = kind
                break
        self.note(name, "over", category, proof, ids, at, source, verdict)
        return category

    def note(
        self,
        name: str,
        kind: Kind,
        category: str,
        proof: str,
        ids: list[int],
        at: int,
        source: str,
        verdict: Verdict | None = None,
    ) -> None:
        """Record a finding. ``at``: the index of its token, or the number of tokens for the end."""
        decode = self.vocabulary.decode
        before = decode(ids[:at])
        through = decode(ids[: at + 1])
        whole = decode(ids)
        if at < len(ids):
            texts = self.vocabulary.token_bytes
            token = (
                _shown(through[len(before) :])
                if at < len(ids) and texts_of(texts, ids[at])
                else f"token {ids[at]}"
            )
        else:
            token = "(end)"
        says = verdict.says if verdict is not None else {}
        after = _shown(whole[len(through) :])
        self.result.note(Finding(name, kind, category, proof, _shown(before), token, after, says, source))


def looks_of(tokenizer: Tokenizer) -> list[npt.NDArray[np.uint32]]:
    """Return masks of tokens by their appearance: with an escape (1), with DEL (2), with a space (4), and
    unions of these.

    An engine that never allows one of these differs everywhere in a string, which would hide its other
    differences.
    """
    vocabulary = tokenizer.vocabulary
    bits = np.zeros((8, (vocabulary.size + 31) // 32 * 32), np.bool_)
    for token in vocabulary.text_ids.tolist():
        text = vocabulary.token_bytes[token] or b""
        look = (b"\\" in text) | (b"\x7f" in text) << 1 | any(blank in text for blank in b" \t\r\n") << 2
        for union in range(1, 8):
            bits[union, token] = bool(look & union)
    return [np.packbits(row, bitorder="little").view(np.uint32) for row in bits]


def _has(mask: npt.NDArray[np.uint32], token: int) -> bool:
    return bool(int(mask[token >> 5]) >> (token & 31) & 1)


def texts_of(texts: Any, token: int) -> bytes | None:
    """Return the bytes of a token, if it is text."""
    return texts[token] if token < len(texts) else None


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _bits(words: npt.NDArray[np.uint32]) -> int:
    return int(np.unpackbits(np.ascontiguousarray(words).view(np.uint8)).sum())


# Other texts made of one: mutants, which the validators then judge, and the same JSON value written in another way


MAX_DEPTH: Final = 60  # of schemas and values that are looked into
BLANK: Final = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]')  # or a string, which is kept
ATOMS: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    10**12,
    "",
    "a",
    "A b",
    "2020-01-01",
    [],
    {},
)


def mutants(text: str, count: int, seed: int, *, is_json: bool) -> list[str]:
    """Return texts with a small change of the given text: of characters, and of the value if it is JSON."""
    rng = random.Random(f"{seed}:{text}")
    found: dict[str, None] = {}
    for number in range(count * 3):
        if len(found) == count:
            break
        made = _json_mutant(text, rng) if is_json and number % 3 else _character_mutant(text, rng)
        if made is not None and made != text:
            found[made] = None
    return list(found)


def _character_mutant(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    match rng.randrange(4):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + rng.choice(text or "a") + text[at:]
        case 2:
            return text[:at] + rng.choice('aZ09 "{}[],:.-') + text[at + 1 :]
        case _:
            return text[:at]


def _json_mutant(text: str, rng: random.Random) -> str | None:
    try:
        value = json.loads(text)
        places = list(_places(value))
    except (ValueError, RecursionError):
        return None
    holder, key = rng.choice(places)
    _change(holder, key, rng)
    return json.dumps(places[0][0][0], ensure_ascii=False)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of all values; the first container is a list of the whole value."""
    todo: list[tuple[Any, Any]] = [([value], 0)]
    while todo:
        holder, key = todo.pop()
        yield holder, key
        inner = holder[key]
        if isinstance(inner, dict):
            todo.extend((inner, name) for name in inner)
        elif isinstance(inner, list):
            todo.extend((inner, at) for at in range(len(inner)))


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    if isinstance(value, dict) and rng.random() < 0.7:
        names = list(value)
        if names and rng.random() < 0.6:
            del value[rng.choice(names)]
        else:
            value[rng.choice(("a", "zz", *names)) + "x"] = rng.choice(ATOMS)
    elif isinstance(value, list) and rng.random() < 0.7:
        if value and rng.random() < 0.3:
            value.append(rng.choice(value))
        elif len(value) > 1 and rng.random() < 0.5:
            value[rng.randrange(1, len(value))] = value[0]
        elif value:
            value.pop()
        else:
            value.append(rng.choice(ATOMS))
    elif isinstance(value, str) and rng.random() < 0.6:
        holder[key] = rng.choice((value + "x", value[:-1], value.upper(), value * 2, " " + value))
    elif isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.6:
        holder[key] = rng.choice((value + 1, value - 1, -value, value * 1000, value + 0.5, str(value)))
    else:
        holder[key] = rng.choice(ATOMS)


def ways_to_write(text: str, schema: Any) -> list[tuple[str, str]]:
    """Return (change, text) for other ways to write a JSON value, with the smallest change first.

    ``blanks``: no whitespace, or one space after each comma and colon; ``spelling``: also strings and numbers
    as in ``json.dumps``, or with escapes for DEL or all but printable ASCII; ``order``: also the properties
    of objects in declared order.
    """
    try:
        value = _plain(json.loads(text), 0)
    except (ValueError, RecursionError):
        return []
    usual, compact = _written(value)
    kind = "blanks" if BLANK.sub(r"\1", text) == compact else "spelling"
    found = [(kind, usual), (kind, compact)]
    # JSON allows DEL unescaped, but some engines do not
    for ways, changed in ((_written(value), "spelling"), (_written(declared_order(value, schema)), "order")):
        found += [(changed, way) for way in ways]
        found += [(changed, way.replace("\x7f", "\\u007f")) for way in ways]
        found += [(changed, _ascii(way)) for way in ways]
    first: dict[str, str] = {}
    for kind, way in found:
        first.setdefault(way, kind)
    return [(kind, way) for way, kind in first.items() if way != text]


def same_value(one: str, other: str) -> bool:
    """Return whether two texts are the same JSON value, regardless of the order of properties."""
    try:
        return bool(_key(json.loads(one)) == _key(json.loads(other)))
    except (ValueError, RecursionError):
        return False


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # `True` is not `1`


def _written(value: Any) -> tuple[str, str]:
    """Return a value as JSON with a space after each comma and colon, and without whitespace."""
    return json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _ascii(text: str) -> str:
    """Return JSON with escapes for all characters but printable ASCII, which only occur inside strings."""
    return "".join(c if " " <= c <= "~" else json.dumps(c)[1:-1] for c in text)


def _plain(value: Any, depth: int) -> Any:
    """Return a value with whole floats as integers, as most writers do."""
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    return value


def declared_order(value: Any, schema: Any) -> Any:
    """Return a value with the properties of objects in declared order, then required ones, then others."""
    return _ordered(value, [schema], schema, 0)


def _ordered(value: Any, schemas: list[Any], root: Any, depth: int) -> Any:
    if depth > MAX_DEPTH or not isinstance(value, dict | list):
        return value
    parts = _parts(schemas, root)
    if isinstance(value, list):
        return [_ordered(item, [*_of_items(parts, at)], root, depth + 1) for at, item in enumerate(value)]
    declared: dict[str, list[Any]] = {}
    for part in parts:
        properties = part.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            declared.setdefault(name, []).append(inner)
    others = [
        inner
        for part in parts
        for inner in (part.get("additionalProperties"), *_values(part.get("patternProperties")))
        if isinstance(inner, dict)
    ]
    required = [name for part in parts for name in _listed(part.get("required"))]
    names = [name for name in dict.fromkeys([*declared, *required]) if name in value]
    names += [name for name in value if name not in declared and name not in required]
    return {name: _ordered(value[name], declared.get(name, others), root, depth + 1) for name in names}


def _listed(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _of_items(parts: list[dict[str, Any]], at: int) -> Iterator[Any]:
    for part in parts:
        for name in ("prefixItems", "items"):
            inner = part.get(name)
            if isinstance(inner, list):
                if at < len(inner):
                    yield inner[at]
            elif isinstance(inner, dict):
                yield inner


def _parts(schemas: list[Any], root: Any) -> list[dict[str, Any]]:
    """Return the schemas for the same value, through references and branches, each once, in source order."""
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    todo = list(reversed(schemas))
    while todo and len(found) < 500:
        schema = todo.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        found.append(schema)
        inner = [target(schema["$ref"], root)] if isinstance(schema.get("$ref"), str) else []
        for name in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(name)
            inner += branches if isinstance(branches, list) else []
        inner += [schema.get(name) for name in ("if", "then", "else")]
        todo.extend(reversed(inner))
    return found


def target(reference: str, root: Any) -> Any:
    """Return the target of a reference within the document (``#/…``); None for other references."""
    if not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found
