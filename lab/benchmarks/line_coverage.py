"""Say which lines of the compiled code a run of the tests reached.

    ./dev coverage [PYTEST ARGS]                        # compiles a copy that counts lines, runs tests there, and calls this
    python lab/benchmarks/line_coverage.py BUILD [--lines] [--write]

``BUILD``: the folder of the objects of a build with ``STACKMASK_CHECK=lines``, after tests ran. Prints for each room how many
lines were reached; with ``--lines`` those that were not. gcov (of gcc) counts; lines of ``.pxd`` files count
where any module that includes them reached them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from pathlib import Path

from record import REPO, write_result

Counts = dict[str, dict[int, int]]  # file → line → how often it ran


def counted(build: Path) -> Counts:
    """Return how often each line of the sources ran. Raises: SystemExit if nothing was counted."""
    found: Counts = defaultdict(dict)
    objects = sorted(path.resolve() for path in build.rglob("*.gcno"))
    if not objects:
        raise SystemExit(f"no counts in {build}: compile with STACKMASK_CHECK=lines")
    lengths: dict[str, int] = {}
    for path in objects:
        report = subprocess.run(
            ["gcov", "--json-format", "--stdout", str(path)], cwd=build, capture_output=True, check=True
        )
        for text in report.stdout.splitlines():
            for file in json.loads(text)["files"]:
                name = file["file"].removeprefix("stackmask/")
                if not name.endswith((".pyx", ".pxd")) or not (REPO / name).exists():
                    continue
                if name not in lengths:
                    lengths[name] = len((REPO / name).read_text(encoding="utf-8").splitlines())
                lines = found[name]
                for line in file["lines"]:
                    number = line["line_number"]
                    if number <= lengths[name]:  # what Cython adds has numbers after the end
                        lines[number] = max(lines.get(number, 0), line["count"])
    return found


def spans(numbers: list[int]) -> str:
    """Return numbers as text: ``3, 7-9``."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--lines", action="store_true", help="list the lines that were not reached")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    files = counted(arguments.build)
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, lines in sorted(files.items()):
        missed = [number for number, count in lines.items() if not count]
        room = rooms[str(Path(name).parent)]
        room[0] += len(lines)
        room[1] += len(lines) - len(missed)
        if arguments.lines and missed:
            print(f"{name}: {spans(missed)}")
    total = [sum(room[k] for room in rooms.values()) for k in (0, 1)]
    for name, (all_lines, reached) in [*sorted(rooms.items()), ("in all", (total[0], total[1]))]:
        print(f"{name:32} {reached:6} of {all_lines:6} lines, {100 * reached / all_lines:5.1f}%")
    if arguments.write:
        result = {
            "lines": total[0],
            "reached": total[1],
            "rooms": {
                name: {"lines": all_lines, "reached": reached}
                for name, (all_lines, reached) in sorted(rooms.items())
            },
        }
        write_result("line_coverage", "./dev coverage tests; python lab/benchmarks/line_coverage.py", result)


if __name__ == "__main__":
    main()
