"""Run the workloads on the engine that ``import stackmask`` finds, each between two requests to callgrind.

``measure.py`` starts this under valgrind, which counts nothing outside of these requests. Each workload runs in a fork: none changes
what another one meets.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path


def main() -> int:
    library, prepared, *names = sys.argv[1:]
    requests = ctypes.CDLL(library)
    requests.counting_end.argtypes = [ctypes.c_char_p]
    gc.disable()
    requests.counting_begin()
    import stackmask

    requests.counting_end(b"import")
    import workloads

    setting = workloads.Setting(Path(prepared))
    setting.meet_requests()
    for name in names or workloads.WORKLOADS:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run = workloads.WORKLOADS[name](setting)
                gc.collect()
                requests.counting_begin()
                run()
                requests.counting_end(name.encode())
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            print(f"the workload {name!r} failed", file=sys.stderr)
            return 1
    print(stackmask.__file__)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # what is held is not worth freeing under valgrind
