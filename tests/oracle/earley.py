"""A byte-level Earley recogniser for a RuleSet as written: the judge of the engine's exactness.

It shares no code and no method with the engine: no derivatives, no normalisation, no left-recursion
removal, no stack. Slow is fine, wrong is not. An item of a column is

    (node, position, origin column, class at the origin, class of the next symbol, class after the node,
     semantic value at the origin, semantic value now)

where the classes are guesses checked when the symbol comes (see ``nodes.py``). Items are made only where
the relations say that the guesses can come true, so every item leads to a complete string, and "viable
prefix" is "some symbol can be read here, or the input may end".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from oracle.nodes import Node, Nodes
from stackmask.grammar import ir

Symbol = int | tuple[str, int]
Item = tuple[int, int, "Column", int, int, int, Hashable, Hashable]
Key = tuple[int, int, int, Hashable]

END = 0  # the class of the end of input and of special tokens


class Column:
    """The Earley set between two symbols; it never changes what it says, so states are persistent.

    Items with different guesses of the next symbol's class never meet inside a column, so each class is
    closed (predictions and completions) only when it is asked for.
    """

    __slots__ = (
        "_accepting",
        "_owner",
        "closed",
        "completed",
        "kernel",
        "number",
        "scans",
        "text",
        "waiting",
    )

    def __init__(self, owner: Recognizer, number: int, text: bytes, kernel: Iterable[Item]) -> None:
        self._owner = owner
        self.number = number  # symbols read so far
        self.text = text  # bytes read so far
        self.kernel: dict[int, list[Item]] = {}  # by the class of the next symbol
        for item in kernel:
            self.kernel.setdefault(item[4], []).append(item)
        self.closed: set[int] = set()
        self.scans: dict[int, list[Item]] = {}
        self.waiting: dict[Key, list[Item]] = {}
        self.completed: dict[Key, set[Hashable]] = {}  # empty derivations, which begin and end here
        self._accepting = False

    @property
    def accepting(self) -> bool:
        """Tell whether what was read is in the language."""
        self.close(END)
        return self._accepting

    @property
    def viable(self) -> bool:
        """Tell whether what was read is a prefix of a string of the language."""
        if not self._owner.nodes.has_callables:
            return bool(self.kernel)  # every item leads to a complete string
        return self.accepting or any(self.close(f) for f in self.kernel)

    def close(self, f: int) -> list[Item]:
        """Return the items that can read a symbol of class ``f``."""
        if f not in self.closed:
            self.closed.add(f)
            self.scans[f] = []
            self._owner.fill(self, f)
        return self.scans[f]

    def accept(self) -> None:
        """Note that the whole input is derived."""
        self._accepting = True


class Recognizer:
    """Recognise the language of a RuleSet, symbol by symbol.

    A symbol is a byte 0..255 or ``("token", id)`` for a special token. ``known_ids`` are the ids that a
    negated token terminal ranges over (default: those with a name).
    """

    def __init__(
        self,
        ruleset: ir.RuleSet,
        special_names: Mapping[str, int] | None = None,
        known_ids: Collection[int] | None = None,
    ) -> None:
        self.nodes = Nodes(ruleset, special_names or {}, known_ids)
        self.initial = ruleset.initial

    def start(self) -> Column:
        """Return the state before any symbol."""
        start = self.nodes.start
        column = Column(self, 0, b"", ())
        for f, row in enumerate(self.nodes.relation(start)):
            if row >> END & 1:
                column.kernel[f] = [(start, 0, column, f, f, END, self.initial, self.initial)]
        return column

    def advance(self, state: Column, symbol: Symbol) -> Column:
        """Return the state after one more symbol (a dead one stays dead)."""
        if isinstance(symbol, int):
            scanned = self._scan_byte(state, symbol)
            return Column(self, state.number + 1, state.text + bytes([symbol]), scanned)
        return Column(self, state.number + 1, state.text, self._scan_token(state, symbol[1]))

    def run(self, symbols: Iterable[Symbol], state: Column | None = None) -> Column:
        """Return the state after many symbols."""
        state = self.start() if state is None else state
        for symbol in symbols:
            if not state.viable:
                break
            state = self.advance(state, symbol)
        return state

    def accepts(self, symbols: Iterable[Symbol]) -> bool:
        """Tell whether the whole string is in the language."""
        return self.run(symbols).accepting

    def viable_prefix(self, symbols: Iterable[Symbol]) -> bool:
        """Tell whether the string is a prefix of one in the language."""
        return self.run(symbols).viable

    # --- scanning -------------------------------------------------------------------------------

    def _scan_byte(self, state: Column, byte: int) -> Iterable[Item]:
        for node, position, origin, f0, _, c, value0, value in state.close(self.nodes.class_of_byte[byte]):
            dfa = self.nodes.nodes[node].dfa
            if dfa is None or byte not in dfa.steps[position]:
                continue
            target = dfa.steps[position][byte]
            following = self.nodes.leaf_classes(dfa, target)
            if target in dfa.accepting:
                following |= 1 << c
            for f2 in range(self.nodes.n_classes):
                if following >> f2 & 1:
                    yield node, target, origin, f0, f2, c, value0, value

    def _scan_token(self, state: Column, token: int) -> Iterable[Item]:
        for node, _, origin, f0, _, c, value0, value in state.close(END):
            if token in self.nodes.nodes[node].token_ids:
                yield node, 1, origin, f0, c, c, value0, value

    # --- prediction and completion --------------------------------------------------------------

    def fill(self, column: Column, symbol_class: int) -> None:
        """Close the items of a column that expect a symbol of a class, under prediction and completion."""
        agenda = list(column.kernel.get(symbol_class, ()))
        seen = set(agenda)

        def add(item: Item) -> None:
            if item not in seen:
                seen.add(item)
                agenda.append(item)

        def predict(parent: Item, kid: int, after: int) -> None:
            """Wait for ``kid``, followed by a symbol of class ``after``."""
            f, value = parent[4], parent[7]
            key = (kid, f, after, value)
            if key not in column.waiting:
                column.waiting[key] = []
                add((kid, 0, column, f, f, after, value, value))
            column.waiting[key].append(parent)
            for value_after in column.completed.get(key, ()):
                proceed(parent, after, value_after)

        def proceed(parent: Item, after: int, value_after: Hashable) -> None:
            """Move a waiting item over a kid that has just ended here."""
            node_id, position, origin, f0, _, c, value0, _ = parent
            node = self.nodes.nodes[node_id]
            if node.kind == "nonempty" and origin is column:
                return
            if node.kind == "capture":
                if node.call == "push":
                    assert isinstance(value_after, tuple)
                    value_after = (*value_after, column.text[len(origin.text) :])
                else:
                    assert callable(node.call)
                    result = node.call(value_after, column.text[len(origin.text) :])
                    if result is None:
                        return
                    assert isinstance(result, Hashable)
                    value_after = result
            elif node.kind == "scope":
                value_after = value0
            position += 1
            if node.kind == "repeat" and node.high is None:
                position = min(position, node.low)
            add((node_id, position, origin, f0, after, c, value0, value_after))

        def complete(item: Item) -> None:
            node, _, origin, f0, _, c, value0, value = item
            if node == self.nodes.start and origin.number == 0 and c == END:
                column.accept()
            key = (node, f0, c, value0)
            if origin is column:
                ended = column.completed.setdefault(key, set())
                if value in ended:
                    return
                ended.add(value)
            for parent in list(origin.waiting.get(key, ())):
                proceed(parent, c, value)

        while agenda:
            item = agenda.pop()
            node = self.nodes.nodes[item[0]]
            if self._has_ended(node, item[1]) and item[4] == item[5]:
                complete(item)
            self._expand(node, item, column, predict)

    @staticmethod
    def _has_ended(node: Node, position: int) -> bool:
        """Tell whether an item at this position may be complete (if the guessed classes agree)."""
        match node.kind:
            case "seq":
                return position == len(node.kids)
            case "repeat":
                return position >= node.low
            case "leaf":
                assert node.dfa is not None
                return position in node.dfa.accepting
            case "restrict":
                return True  # made only where the relation allows it
            case _:
                return position == 1

    def _expand(
        self, node: Node, item: Item, column: Column, predict: Callable[[Item, int, int], None]
    ) -> None:
        nodes = self.nodes
        node_id, position, _, _, f, c, _, value = item
        match node.kind:
            case "seq" | "repeat":
                if node.kind == "seq":
                    if position == len(node.kids):
                        return
                    kid = node.kids[position]
                else:
                    if node.high is not None and position >= node.high:
                        return
                    kid = node.kids[0]
                next_position = position + 1
                if node.kind == "repeat" and node.high is None:
                    next_position = min(next_position, node.low)
                row, rest = nodes.relation(kid)[f], nodes.rest(node_id, next_position)
                for g in range(nodes.n_classes):
                    if row >> g & 1 and rest[g] >> c & 1:
                        predict(item, kid, g)
            case "choice" | "capture" | "scope":
                if position == 0:
                    for kid in node.kids:
                        if nodes.relation(kid)[f] >> c & 1:
                            predict(item, kid, c)
            case "nonempty":
                if position == 0:
                    predict(item, node.kids[0], c)
            case "leaf":
                assert node.dfa is not None
                if nodes.leaf_classes(node.dfa, position) >> f & 1:
                    column.scans[f].append(item)
            case "token":
                if position == 0:
                    column.scans[f].append(item)
            case "dynamic":
                if position == 0:
                    leaf = nodes.resolve(node.call, value)
                    if leaf is not None:
                        predict(item, leaf, c)
