"""Tools that came before as dicts: servers are given the same ones with every request of a conversation."""

from __future__ import annotations

import marshal
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any, Final

from stackmask.grammar.json_schema.document.schema_size import is_plain_json
from stackmask.grammar.source.work import input_limit, spend
from stackmask.grammar.tools.errors import ToolError
from stackmask.grammar.tools.tool import Tool

MAX_TOOLS: Final = 2048  # that are remembered, those met longest ago are forgotten first
MAX_BYTES: Final = (
    2_000_000  # of their dicts in all; of one, a fiftieth. The rules of a tool take about 30 times as much
)
LONGEST_ESCAPE: Final = 6  # bytes that JSON may need for one of a dict, as for a control character
PLAIN_FORMAT: Final = 0  # of `marshal`: equal values give equal bytes, and no others do


class KnownTools:
    """The tools met last, by what their dicts say. Safe to share between threads.

    A tool keeps what was read of it, so that a dict that comes again costs a look-up. It is made of a copy of the
    dict, and so knows nothing of later changes.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._tools: OrderedDict[bytes, Tool] = OrderedDict()
        self._bytes = 0

    def of(self, source: dict[str, Any], make: Callable[[Any], Tool]) -> Tool:
        """Return the tool of a dict; ``make`` reads one that did not come before. Raises: as that."""
        longest = min(MAX_BYTES // 50, input_limit() // LONGEST_ESCAPE)
        # `marshal` would take all else that has a buffer, such as numbers of NumPy, for bytes
        if not is_plain_json(source, longest):
            return make(source)
        try:
            key = marshal.dumps(source, PLAIN_FORMAT)
        except ValueError:  # it nests too deeply
            return make(source)
        if len(key) > longest:
            return make(source)  # to be looked at as a whole
        with self._lock:
            found = self._tools.get(key)
            if found is not None:
                self._tools.move_to_end(key)
                return found
        copy = marshal.loads(key)
        found = make(copy)
        with self._lock:
            if key not in self._tools:
                self._tools[key] = found
                self._bytes += len(key)
            while len(self._tools) > MAX_TOOLS or self._bytes > MAX_BYTES:
                self._bytes -= len(self._tools.popitem(last=False)[0])
        return found


KNOWN_TOOLS: Final = KnownTools()


def read_tools(sources: Iterable[Any]) -> list[Tool]:
    """Return tools from what ``Tool.of`` reads. Raises: ToolError, for names that come twice too."""
    if isinstance(sources, str | bytes | Mapping) or not isinstance(sources, Iterable):
        raise ToolError("/tools", f"a list of tools is needed, not {type(sources).__name__}")
    found: list[Tool] = []
    names: dict[str, int] = {}
    for index, source in enumerate(sources):
        spend(10)
        try:
            if type(source) is Tool:
                tool = source
            else:
                tool = KNOWN_TOOLS.of(source, Tool.of) if type(source) is dict else Tool.of(source)
        except ToolError as error:
            raise ToolError(f"/tools/{index}{error.pointer}", str(error).partition(": ")[2]) from None
        first = names.setdefault(tool.name, index)
        if first != index:
            raise ToolError(f"/tools/{index}", f"`{tool.name}` is the name of /tools/{first} already")
        found.append(tool)
    return found
