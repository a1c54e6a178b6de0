"""Install a wheel where it can be run, and run ``tests/smoke.py`` with it.

Wheels for glibc and this processor run in a new environment of an interpreter that is here. Those for aarch64 run under
qemu, with Debian's interpreter of that architecture and its libraries, unpacked into a folder of their own: bookworm
has Python 3.11, trixie 3.13, and sid 3.14. For the rest, the reason why they are not run is returned.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from targets import Target

SMOKE = Path.cwd() / "tests" / "smoke.py"
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
DEBIAN = {"aarch64": "arm64", "x86_64": "amd64"}
# what the interpreter and NumPy load; names that a suite does not have are left out
PACKAGES = (
    *("libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5"),
    *("libuuid1", "libsqlite3-0", "libssl3", "libssl3t64", "libzstd1"),
)
ARCHIVE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian"


@dataclass(frozen=True)
class Trial:
    """How a wheel was tried and what came of it, or why it was not run."""

    text: str
    digest: str | None = None  # of the masks
    failed: bool = False


def try_wheel(wheel: Path, target: Target, python: str, interpreter: Path, kept: Path) -> list[Trial]:
    """Return what a wheel did in each place where it can be run."""
    linux, machine = platform.system() == "Linux", platform.machine()
    if target.is_mac:
        return [Trial("not run: it needs a Mac")]
    if target.name.startswith("musllinux"):
        return [Trial("not run: no interpreter beside musl is here")]
    if linux and target.machine == machine and platform.libc_ver()[0] == "glibc":
        return [here(wheel, python, interpreter, kept)]
    return [emulated(wheel, target, python, kept)]


def here(wheel: Path, python: str, interpreter: Path, kept: Path) -> Trial:
    """Install into a new environment, without a compiler, and run there."""
    folder = kept / f"trial-{python}"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    begin = time.time()
    install = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--only-binary", ":all:", wheel]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        return Trial(f"pip refuses it: {done.stderr.strip()}", failed=True)
    where = f"installed in {time.time() - begin:.0f} s, run beside glibc {platform.libc_ver()[1]}"
    return smoke([folder / "bin" / "python"], where, {})


def emulated(wheel: Path, target: Target, python: str, kept: Path) -> Trial:
    """Run under qemu, with what Debian has for the processor."""
    qemu = shutil.which(f"qemu-{target.machine}-static") or shutil.which(f"qemu-{target.machine}")
    if qemu is None:
        return Trial("not run: qemu-user is not here (apt-get install qemu-user-static)")
    if python not in SUITES:
        return Trial(f"not run: Debian has no Python {python}")
    root = debian_root(SUITES[python], DEBIAN[target.machine], python, kept)
    if root is None:
        return Trial(f"not run: Debian's Python {python} for {target.machine} cannot be had here")
    libc = glibc_of(root)
    packages = kept / f"packages-{python}-{target.machine}"
    shutil.rmtree(packages, ignore_errors=True)
    # what an installer there would take; it refuses what does not fit
    fits = [
        f"--platform=manylinux_2_{minor}_{target.machine}" for minor in range(int(libc.split(".")[1]), 16, -1)
    ]
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", packages, "--only-binary", ":all:"]
    install += [
        *fits,
        f"--python-version={python}",
        "--implementation=cp",
        f"--abi=cp{python.replace('.', '')}",
        wheel,
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        return Trial(f"pip refuses it: {done.stderr.strip()}", failed=True)
    command = [qemu, "-L", str(root), str(root / "usr" / "bin" / f"python{python}")]
    environment = {
        "PYTHONPATH": str(packages),
        "PYTHONHOME": str(root / "usr"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return smoke(command, f"run under qemu, beside glibc {libc}", environment)


def smoke(command: list[str | Path], where: str, environment: dict[str, str]) -> Trial:
    """Run ``tests/smoke.py`` where no compiler can be found."""
    empty = {"PATH": os.devnull, "CC": "none", "CXX": "none", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, SMOKE], env=empty | environment, capture_output=True, text=True, check=False
    )
    said = re.search(r"(\d+) extensions load, masks are right; digest of [\d,]+ masks: (\w+)", done.stdout)
    if done.returncode or said is None:
        return Trial(f"{where}: FAILED: {(done.stdout + done.stderr).strip()[-2000:]}", failed=True)
    return Trial(f"{where}: {said[1]} extensions, digest {said[2]}", said[2])


def debian_root(suite: str, architecture: str, python: str, kept: Path) -> Path | None:
    """Return a folder with Debian's interpreter and its libraries, None if they cannot be had."""
    root = kept / "roots" / f"{suite}-{architecture}"
    program = root / "usr" / "bin" / f"python{python}"
    if program.exists():
        return root
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return None
    state = kept / "apt" / f"{suite}-{architecture}"
    for folder in ("lists/partial", "cache/archives/partial", "debs"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(f"{ARCHIVE} {suite} main\n")
    (state / "status").write_text("")  # nothing is installed, as far as apt knows
    options = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "root",
    }
    apt = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    wanted = [f"python{python}-minimal", f"libpython{python}-minimal", f"libpython{python}-stdlib", *PACKAGES]
    if subprocess.run(["apt-get", "-qq", *apt, "update"], check=False).returncode:
        return None
    for name in wanted:  # one at a time: an unknown name would stop the others
        subprocess.run(
            ["apt-get", "-qq", *apt, "download", name],
            cwd=state / "debs",
            check=False,
            stderr=subprocess.DEVNULL,
        )
    root.mkdir(parents=True, exist_ok=True)
    for package in sorted((state / "debs").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    for name in ("lib", "lib64"):  # newer suites have them as links, which their packages do not bring
        if (root / "usr" / name).is_dir() and not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    return root if program.exists() else None


def glibc_of(root: Path) -> str:
    """Return the version of the C library in a folder."""
    for path in root.rglob("libc.so.6"):
        found = re.search(rb"GNU C Library \(.*?\) stable release version (2\.\d+)", path.read_bytes())
        if found:
            return found[1].decode()
    raise FileNotFoundError(f"{root} has no glibc")
