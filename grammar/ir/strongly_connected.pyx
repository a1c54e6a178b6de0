"""Strongly connected components of a graph of names."""


def components(graph):
    """Return the strongly connected components, each after those that it refers to.

    Source: R. E. Tarjan, Depth-first search and linear graph algorithms, 1972; with an explicit stack.
    """
    # a name's number is its place in the order of discovery; `low` leads to the first name of its component,
    # and is -1 once that is complete
    cdef dict number = {}
    cdef list low = [], open_names = [], path = [], result = [], component
    cdef object root, name, target, targets, at
    cdef Py_ssize_t here, there, depth
    cdef bint deeper
    for root in graph:
        if root in number:
            continue
        number[root] = len(low)
        low.append(len(low))
        open_names.append(root)
        path.append((root, iter(graph[root])))
        while path:
            depth = len(path) - 1
            name, targets = <tuple>path[depth]
            here = number[name]
            deeper = False
            for target in targets:
                at = number.get(target)
                if at is None:
                    number[target] = len(low)
                    low.append(len(low))
                    open_names.append(target)
                    path.append((target, iter(graph[target])))
                    deeper = True
                    break
                there = at
                if low[there] >= 0 and there < <Py_ssize_t>low[here]:
                    low[here] = there
            if deeper:
                continue
            path.pop()
            if path:
                there = number[(<tuple>path[depth - 1])[0]]
                if <Py_ssize_t>low[here] < <Py_ssize_t>low[there]:
                    low[there] = low[here]
            if <Py_ssize_t>low[here] == here:
                component = []
                while True:
                    target = open_names.pop()
                    low[number[target]] = -1
                    component.append(target)
                    if target == name:
                        break
                component.reverse()
                result.append(component)
    return result
