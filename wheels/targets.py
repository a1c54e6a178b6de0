"""The systems that wheels are made for, and what an extension for them is compiled against.

Headers of Python are the same everywhere but for ``pyconfig.h``, which says what the interpreter's own build found. Of
it, an extension sees what the public headers ask for: the sizes of types, and a few names that differ between systems.
Those of a target are derived from the ``pyconfig.h`` of an interpreter here; `probe` writes a C file that does not
compile where a size is wrong. Headers of NumPy differ in the size of ``long double`` alone.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A system: its name here, zig's name for it, and the platform tag of its wheels."""

    name: str
    zig: str
    tag: str
    multiarch: str  # in the names of extensions

    @property
    def machine(self) -> str:
        """Return the processor, as platform tags name it."""
        return self.name.rpartition("-")[2]

    @property
    def is_mac(self) -> bool:
        """Return whether it is macOS, whose files are Mach-O and not ELF."""
        return self.multiarch == "darwin"

    @property
    def platform(self) -> str:
        """Return what ``sysconfig.get_platform()`` returns there."""
        return f"macosx-11.0-{self.machine}" if self.is_mac else f"linux-{self.machine}"

    def suffix(self, python: str) -> str:
        """Return the ending of extensions for a version of Python, such as 3.13 or 3.13t."""
        # before 3.11, interpreters beside musl took themselves for glibc's
        multiarch = self.multiarch.replace("musl", "gnu") if python == "3.10" else self.multiarch
        return f".cpython-{python.replace('.', '')}-{multiarch}.so"


# the C library of manylinux_2_17 is older than what any wheel of NumPy for Python 3.11 or later asks for
TARGETS = {
    target.name: target
    for target in (
        Target("manylinux-x86_64", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", "x86_64-linux-gnu"),
        Target("manylinux-aarch64", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", "aarch64-linux-gnu"),
        Target("musllinux-x86_64", "x86_64-linux-musl", "musllinux_1_2_x86_64", "x86_64-linux-musl"),
        Target("musllinux-aarch64", "aarch64-linux-musl", "musllinux_1_2_aarch64", "aarch64-linux-musl"),
        Target("macos-arm64", "aarch64-macos.11.0", "macosx_11_0_arm64", "darwin"),
        Target("macos-x86_64", "x86_64-macos.11.0", "macosx_11_0_x86_64", "darwin"),
    )
}

# what compilers know of their target
PREDEFINED = {
    "SIZEOF_SHORT": "__SIZEOF_SHORT__",
    "SIZEOF_INT": "__SIZEOF_INT__",
    "SIZEOF_LONG": "__SIZEOF_LONG__",
    "SIZEOF_LONG_LONG": "__SIZEOF_LONG_LONG__",
    "SIZEOF_FLOAT": "__SIZEOF_FLOAT__",
    "SIZEOF_DOUBLE": "__SIZEOF_DOUBLE__",
    "SIZEOF_LONG_DOUBLE": "__SIZEOF_LONG_DOUBLE__",
    "SIZEOF_SIZE_T": "__SIZEOF_SIZE_T__",
    "SIZEOF_VOID_P": "__SIZEOF_POINTER__",
    "SIZEOF_UINTPTR_T": "__SIZEOF_POINTER__",
    "SIZEOF_WCHAR_T": "__SIZEOF_WCHAR_T__",
}
TYPES = {
    "SIZEOF_SHORT": "short",
    "SIZEOF_INT": "int",
    "SIZEOF_LONG": "long",
    "SIZEOF_LONG_LONG": "long long",
    "SIZEOF_FLOAT": "float",
    "SIZEOF_DOUBLE": "double",
    "SIZEOF_LONG_DOUBLE": "long double",
    "SIZEOF_SIZE_T": "size_t",
    "SIZEOF_VOID_P": "void *",
    "SIZEOF_UINTPTR_T": "uintptr_t",
    "SIZEOF_WCHAR_T": "wchar_t",
    "SIZEOF_PID_T": "pid_t",
    "SIZEOF_TIME_T": "time_t",
    "SIZEOF_PTHREAD_T": "pthread_t",
    "SIZEOF__BOOL": "_Bool",
}
# macOS hides its own functions from those who ask for POSIX alone, so that its interpreters do not
LINUX_ONLY = re.compile(r"_(GNU_SOURCE|POSIX_C_SOURCE|XOPEN_SOURCE\w*)|HAVE_NCURSESW\w*")
X86_ONLY = re.compile(r"HAVE_GCC_ASM_FOR_(X64|X87)")
DEFINED = re.compile(r"^#\s*define (\w+)(.*)$", re.MULTILINE)


def asked_for(include: Path) -> set[str]:
    """Return the words of all public headers: what they do not name in pyconfig.h makes no difference."""
    headers = [path for path in include.rglob("*.h") if path.name != "pyconfig.h"]
    return {word for path in headers for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


def pyconfig(include: Path, target: Target) -> str:
    """Return the ``pyconfig.h`` of a target, from the headers of an interpreter here."""
    words = asked_for(include)
    lines = []
    for name, value in DEFINED.findall((include / "pyconfig.h").read_text(encoding="utf-8")):
        if name not in words and name not in PREDEFINED:
            continue
        if (target.is_mac and LINUX_ONLY.fullmatch(name)) or (
            target.machine != "x86_64" and X86_ONLY.fullmatch(name)
        ):
            continue
        if name == "ALIGNOF_MAX_ALIGN_T":
            value = f" {8 if target.is_mac and target.machine == 'arm64' else 16}"
        lines.append(f"#define {name} {PREDEFINED.get(name, value.strip())}".rstrip())
    if target.is_mac:
        lines.append("#define HAVE_KQUEUE 1")
    return "\n".join(["#ifndef Py_PYCONFIG_H", "#define Py_PYCONFIG_H", *lines, "#endif", ""])


def probe(config: str) -> str:
    """Return a C file that compiles where every size in a ``pyconfig.h`` is right."""
    checks = [
        f'_Static_assert({name} == sizeof({TYPES[name]}), "{name}");'
        for name, _ in DEFINED.findall(config)
        if name in TYPES
    ]
    if "ALIGNOF_MAX_ALIGN_T" in config:
        checks.append('_Static_assert(ALIGNOF_MAX_ALIGN_T == _Alignof(max_align_t), "ALIGNOF_MAX_ALIGN_T");')
    headers = ("pthread.h", "stddef.h", "stdint.h", "sys/types.h", "time.h", "wchar.h")
    return "".join(
        f"{line}\n" for line in ('#include "pyconfig.h"', *(f"#include <{h}>" for h in headers), *checks)
    )


def write_headers(include: Path, numpy_include: Path, target: Target, folder: Path) -> None:
    """Write the headers of Python and NumPy for a target into an empty folder, and `probe` as ``probe.c``."""
    shutil.copytree(include, folder, ignore=shutil.ignore_patterns("pyconfig.h"), dirs_exist_ok=True)
    config = pyconfig(include, target)
    (folder / "pyconfig.h").write_text(config, encoding="utf-8")
    (folder / "probe.c").write_text(probe(config), encoding="utf-8")
    shutil.copytree(numpy_include / "numpy", folder / "numpy", dirs_exist_ok=True)
    sizes = folder / "numpy" / "_numpyconfig.h"
    text = sizes.read_text(encoding="utf-8")
    text = re.sub(r"(NPY_SIZEOF_LONGDOUBLE) \d+", r"\1 __SIZEOF_LONG_DOUBLE__", text)
    text = re.sub(r"(NPY_SIZEOF_COMPLEX_LONGDOUBLE) \d+", r"\1 (2 * __SIZEOF_LONG_DOUBLE__)", text)
    if target.is_mac:
        text = re.sub(r"#define NPY_HAVE_ENDIAN_H.*", "", text)
    sizes.write_text(text, encoding="utf-8")
