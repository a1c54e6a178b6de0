"""The process that asks the database: it may be killed at any time, and its memory has a limit.

It is started with the module search path of the command line on its standard input, followed by frames: the database
to open, then queries. A thread reads them, so that the end of the input, which means that the command line is gone,
ends the process even inside of a query.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO, Final

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.cli.database import ConnectionLostError, Database, QueryError, too_much_memory
from stackmask.runtime.cli.frames import in_steps, packed_schema, read_frame, write_frame
from stackmask.runtime.cli.open_database import open_directly

MEMORY_BYTES: Final = (
    1 << 30
)  # that the process may take beyond what it has when it is ready to open the database
LONGEST_REQUEST: Final = 1 << 30
PAGES_OF_PROCESS: Final = Path("/proc/self/statm")  # where Linux says how large a process is


def limit_process() -> None:
    """Bound the memory of this process where the system can, and leave no core file: a password would be in it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        pages = int(PAGES_OF_PROCESS.read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY_BYTES
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def requests(pipe: BinaryIO) -> queue.SimpleQueue[dict[str, Any]]:
    """Read requests in a thread; the end of the pipe ends the process."""
    found: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        try:
            while (frame := read_frame(pipe, LONGEST_REQUEST)) is not None:
                found.put(frame[0])
        finally:
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return found


def opened(request: dict[str, Any], pipe: BinaryIO) -> Database | None:
    """Open the database and send what it is, or why it cannot be opened."""
    source = request["source"]
    try:
        database = open_directly(Path(source) if request["is_path"] else source)
    except MemoryError:
        write_frame(pipe, {"error": "sql", "text": str(too_much_memory(MEMORY_BYTES))})
    except Exception as error:  # noqa: BLE001  # said in words, whatever it is
        write_frame(pipe, {"error": "sql", "text": _text_of(error)})
    else:
        found = packed_schema(database.schema, database.keys()) if request["schema"] else {}
        write_frame(pipe, {"dialect": database.dialect, "product": database.product, "schema": found})
        return database
    return None


def answer(database: Database, request: dict[str, Any], pipe: BinaryIO) -> bool:
    """Run what is asked and send the answer in steps; say whether this process is still good for the next query."""
    timeout = request["timeout"]
    try:
        if request["plan"]:
            write_frame(pipe, {"end": True, "plan": database.plan(request["query"], timeout=timeout)})
            return True
        rows = database.run(request["query"], timeout=timeout, limit=request["limit"], size=request["size"])
        for group in in_steps(rows.rows):
            write_frame(pipe, {"rows": group})
        write_frame(pipe, {"end": True, "columns": list(rows.columns), "more": rows.more})
    except QueryError as error:
        lost = isinstance(error, ConnectionLostError)
        write_frame(pipe, {"error": "query", "text": str(error), "last": lost})
        return not lost
    except MemoryError:
        write_frame(pipe, {"error": "query", "text": str(too_much_memory(MEMORY_BYTES)), "last": True})
        return False
    except BrokenPipeError:
        return False
    except Exception as error:  # noqa: BLE001  # a fault of a driver is no fault of the command line
        write_frame(pipe, {"error": "query", "text": _text_of(error), "last": True})
        return False
    return True


def _text_of(error: Exception) -> str:
    if isinstance(error, StackmaskError):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Open the database of the first request and answer the others."""
    waiting = requests(source)
    database = opened(waiting.get(), target)
    while database is not None and answer(database, waiting.get(), target):
        pass


def main() -> None:
    """Serve on the standard pipes; nothing else is written to them."""
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command line is interrupted, and ends this process
    from stackmask.runtime.cli.sqlite_database import limit_heap

    limit_process()
    limit_heap()
    serve(sys.stdin.buffer, sys.stdout.buffer)
    os._exit(0)  # threads of a driver do not hold it up
