from collections.abc import Iterable, Mapping

def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components, each after those that it refers to.

    Source: R. E. Tarjan, Depth-first search and linear graph algorithms, 1972; with an explicit stack.
    """
