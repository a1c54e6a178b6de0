"""What can be said of a wheel without running it: its files, and what its extensions are and ask for."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile
from macholib.mach_o import LC_BUILD_VERSION, LC_ID_DYLIB, LC_LOAD_DYLIB
from macholib.MachO import MachO
from macholib.SymbolTable import SymbolTable
from targets import Target

MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
CPU_TYPES = {"x86_64": 0x01000007, "arm64": 0x0100000C}
# glibc and musl; the loader takes libc.so for itself where it is musl
LIBRARIES = re.compile(r"(lib(c|m|pthread|dl|rt)\.so(\.\d)?|ld-linux[\w-]*\.so\.\d|libc\.musl-\w+\.so\.1)")
MAC_LIBRARIES = ("/usr/lib/libSystem.B.dylib",)
PYTHON = re.compile(r"_?Py[A-Z_]\w*")
ARCHIVES = Path(__file__).resolve().parents[1] / "tests" / "repository" / "archives.py"


def problems_of(wheel: Path, target: Target, python: str, libraries: Path) -> list[str]:
    """Return what is wrong with a wheel for a target; names of Python are compared with an interpreter here."""
    found = []
    tag = f"cp{python.rstrip('t').replace('.', '')}-cp{python.replace('.', '')}-{target.tag}.whl"
    if not wheel.name.endswith(tag):
        found.append(f"has not the tag {tag}")
    # whether it is whole: one that lacks an extension may never be run here
    compared = subprocess.run([sys.executable, ARCHIVES, wheel], capture_output=True, text=True, check=False)
    if compared.returncode:
        found.append((compared.stdout + compared.stderr).strip())
    known = names_of_interpreter(python, libraries)
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".so")]
        for name in names:
            if not name.endswith(target.suffix(python)):
                found.append(f"{name}: does not end with {target.suffix(python)}")
                continue
            read = mach_o if target.is_mac else elf
            problems, asked, given = read(archive.read(name), target)
            entry = f"PyInit_{name.rpartition('/')[2].partition('.')[0]}"
            if entry not in given:
                problems.append(f"does not export {entry}")
            if known is not None and asked - known:
                problems.append(f"asks Python {python} for {', '.join(sorted(asked - known))}")
            found += [f"{name}: {problem}" for problem in problems]
    if not target.is_mac:
        shown = subprocess.run(
            [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=False
        )
        if f'"{target.tag}"' not in shown.stdout:
            found.append(
                f"auditwheel does not find it to be {target.tag}: {(shown.stdout + shown.stderr).strip()}"
            )
    return found


def elf(data: bytes, target: Target) -> tuple[list[str], set[str], set[str]]:
    """Return the problems of an ELF file, the names of Python that it asks for, and the names that it gives."""
    file = ELFFile(io.BytesIO(data))
    problems = []
    if file["e_machine"] != MACHINES[target.machine]:
        problems.append(f"is for {file['e_machine']}")
    dynamic = file.get_section_by_name(".dynamic")
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
    problems += [f"needs {name}" for name in needed if not LIBRARIES.fullmatch(name)]
    symbols = list(file.get_section_by_name(".dynsym").iter_symbols())
    given = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}
    foreign = {name for name in given if not name.startswith("PyInit_")}
    problems += [f"exports {len(foreign)} other names, {min(foreign)} among them"] if foreign else []
    asked = {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF"}
    return problems, {name for name in asked if PYTHON.fullmatch(name)}, given


def mach_o(data: bytes, target: Target) -> tuple[list[str], set[str], set[str]]:
    """Return the same of a Mach-O file, and which macOS it asks for."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(data)
        file.flush()
        image = MachO(file.name)
        (header,) = image.headers
        problems = []
        if header.header.cputype & 0xFFFFFFFF != CPU_TYPES[target.machine]:
            problems.append(f"is for processor {header.header.cputype:#x}")
        for load, command, text in header.commands:
            if load.cmd == LC_LOAD_DYLIB:
                name = text.rstrip(b"\0").decode()
                if name not in MAC_LIBRARIES:
                    problems.append(f"needs {name}")
            if load.cmd == LC_ID_DYLIB and text.startswith(b"/"):
                problems.append("names the folder where it was made")
            if load.cmd == LC_BUILD_VERSION and int(command.minos) >> 16 > 11:
                problems.append(f"asks for macOS {int(command.minos) >> 16}")
        table = SymbolTable(image)
        asked = {name.decode().removeprefix("_") for _, name in table.undefsyms}
        given = {name.decode().removeprefix("_") for _, name in table.extdefsyms}
    return problems, {name for name in asked if PYTHON.fullmatch(name)}, given


def names_of_interpreter(python: str, libraries: Path) -> set[str] | None:
    """Return the names that an interpreter exports, None if there is neither its library nor its program."""
    for path in candidates(python, libraries):
        with path.open("rb") as opened:
            section = ELFFile(opened).get_section_by_name(".dynsym")
            names = {symbol.name for symbol in section.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}
        if "PyModule_Create2" in names:
            return names
    return None


def candidates(python: str, libraries: Path) -> Iterator[Path]:
    """Yield the files that may hold an interpreter's code."""
    yield from sorted(libraries.rglob(f"libpython{python}.so*"))
    program = libraries.parent / "bin" / f"python{python}"
    if program.exists():
        yield program
