"""Compare wheels and source archives with the working tree: ``python tests/repository/archives.py dist/*``.

Nothing that the package needs may be missing, and nothing that was built may be inside.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

from tree import package_files, tracked_files

GENERATED = ("*.c", "*.cpp", "*.html", "*.pyc", "*.o")
NOT_SHIPPED = {".gitignore"}
MODEL = "stackmask/runtime/embedded/model.safetensors"  # four million numbers, which no archive makes much smaller
LARGEST_WHEEL = 16_000_000  # bytes beside the model: more is a mistake, such as names and lines for debuggers
SHARED = "stackmask/_cython.*.so"  # what compiled modules have in common, which is not a file of the tree


def problems_of_wheel(names: set[str]) -> list[str]:
    """Return what a wheel lacks, and what it should not hold."""
    wanted = {
        name.removesuffix(".pyx") + ".*.so" if name.endswith(".pyx") else name
        for name in package_files()
        if not name.endswith((".pxd", ".h"))  # nothing is compiled against a wheel
    } | {SHARED}
    lacks = {name for name in wanted if not any(fnmatch(found, name) for found in names)}
    foreign = {
        name
        for name in names
        if not name.startswith("stackmask-")
        and not name.endswith("/")
        and not any(fnmatch(name, pattern) for pattern in wanted)
    }
    return [f"lacks {name}" for name in sorted(lacks)] + [f"holds {name}" for name in sorted(foreign)]


def problems_of_source(names: set[str]) -> list[str]:
    """Return what a source archive lacks, and what in it was built."""
    lacks = set(tracked_files()) - NOT_SHIPPED - names
    built = {name for name in names if any(fnmatch(name, pattern) for pattern in (*GENERATED, "*.so"))}
    return [f"lacks {name}" for name in sorted(lacks)] + [f"holds {name}" for name in sorted(built)]


def main() -> None:
    failed = False
    for archive in map(Path, sys.argv[1:]):
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                found = problems_of_wheel(set(wheel.namelist()))
                size = sum(item.compress_size for item in wheel.infolist() if item.filename != MODEL)
            if size > LARGEST_WHEEL:
                found.append(f"is {size:,} bytes beside the model, more than {LARGEST_WHEEL:,}")
        else:
            with tarfile.open(archive) as source:
                found = problems_of_source({name.partition("/")[2] for name in source.getnames()})
        print(f"{archive.name}: {archive.stat().st_size:,} bytes, {len(found)} problems")
        print("".join(f"  {line}\n" for line in found), end="")
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
