# distutils: language = c++
"""One switch for each optimisation of masks, for tests and benchmarks.

No layer changes masks: each layer only finds the same masks faster. The tests run the same cases with each
layer off (``tests/matrix``), and ``lab/benchmarks/ablation.py`` measures each gain. This is not public API.

>>> from stackmask.pda.masks import layers
>>> with layers.without("runs"):    # stores that are created here have no tables of runs
...     pass
"""

from contextlib import contextmanager


cdef Layers NOW

LAYERS = (
    "walks",
    "runs",
    "subtrees",
    "accepted",
    "counts",
    "prefixes",
    "literals",
    "operand_lists",
    "patched",
    "settled_places",
)


cdef Layers layers_now() noexcept nogil:
    """Return the current switches. An engine copies them when it is created."""
    return NOW


def switch(names, bint on):
    """Switch layers on or off for the engines created from now on."""
    global NOW
    cdef dict found = NOW
    for name in names:
        if name not in found:
            raise ValueError(f"there is no layer {name!r}; the layers are {', '.join(LAYERS)}")
        found[name] = on
    NOW = found


@contextmanager
def without(*names):
    """Switch some layers off for the engines created inside the ``with`` block.

    Afterwards, all switches are restored, so that such blocks may be nested.
    """
    global NOW
    cdef dict before = NOW
    switch(names, False)
    try:
        yield
    finally:
        NOW = before


switch(LAYERS, True)
