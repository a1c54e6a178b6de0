"""Mutations of JSON values as trees: values, keys and members are replaced, moved and wrapped."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from fuzz.mutators import TextMutator, mutate_input

AS_TREE = 0.7  # share of the mutations; the others change the text


class TreeMutator:
    """Mutates inputs of an options byte and JSON text.

    ``words`` are the keys that mean something, ``value`` makes a value for one, ``around`` wraps a value.
    """

    def __init__(
        self,
        words: Sequence[str],
        value: Callable[[random.Random], Any],
        around: Callable[[Any, random.Random], Any],
        texts: TextMutator,
    ) -> None:
        self.words = words
        self.value = value
        self.around = around
        self.texts = texts

    def mutate(self, data: bytes, source: random.Random) -> bytes:
        """Mutate the tree if there is one, else the text."""
        if source.random() < AS_TREE:
            try:
                tree = json.loads(data[1:])
            except (ValueError, RecursionError):
                pass
            else:
                for _ in range(source.choice((1, 1, 2, 3))):
                    tree = self.changed(tree, source)
                first = bytes([source.randrange(48, 112)]) if source.random() < 0.1 else data[:1]
                return first + json.dumps(tree).encode()
        return mutate_input(data, source, self.texts)

    def changed(self, tree: Any, source: random.Random) -> Any:
        """Return a tree that differs in one place, which is changed in the tree itself.

        Values are copied: one that is given again, into what came of it before, would make a circle.
        """
        places: list[tuple[Any, Any]] = []
        todo = [tree]
        while todo:
            node = todo.pop()
            keys = (
                list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            )
            for key in keys:
                places.append((node, key))
                todo.append(node[key])
        way = source.random()
        if not places or way < 0.05:
            return deepcopy(self.value(source)) if way < 0.02 else self.around(tree, source)
        node, key = source.choice(places)
        if way < 0.3:
            node[key] = deepcopy(self.value(source))
        elif way < 0.45 and isinstance(node, dict):
            node[source.choice(self.words)] = deepcopy(self.value(source))
        elif way < 0.55 and isinstance(node, dict):
            node[source.choice(self.words)] = node.pop(key)
        elif way < 0.65:
            del node[key]
        elif way < 0.8:
            other, name = source.choice(places)
            has_it = name in other or isinstance(other, list)
            node[key] = json.loads(json.dumps(other[name])) if has_it else True
        else:
            node[key] = self.around(node[key], source)
        return tree
