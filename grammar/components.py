"""Strongly connected components of a graph of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components, each after those that it refers to.

    Source: R. E. Tarjan, Depth-first search and linear graph algorithms, 1972; with an explicit stack.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    result = []
    for root in graph:
        if root in number:
            continue
        path = [(root, iter(graph[root]))]
        number[root] = low[root] = len(number)
        open_names.append(root)
        is_open.add(root)
        while path:
            name, targets = path[-1]
            for target in targets:
                if target not in number:
                    number[target] = low[target] = len(number)
                    open_names.append(target)
                    is_open.add(target)
                    path.append((target, iter(graph[target])))
                    break
                if target in is_open:
                    low[name] = min(low[name], number[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == number[name]:
                    component: list[str] = []
                    while not component or component[-1] != name:
                        component.append(open_names.pop())
                        is_open.discard(component[-1])
                    result.append(component[::-1])
    return result
