"""What the site adds to the pages: the reference, files from outside of docs/, and cells of tables with a bar."""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

REPO = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\[[^\]]*\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
API_TABLE = re.compile(r"^\| `(stackmask[\w.]*)` \|.*\n\|[-|]+\n((?:\| .*\n?)+)", re.MULTILINE)
API_NAME = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
LANGUAGES = {".py": "python", ".json": "json"}
OUTSIDE = "repository"  # where pages of files from outside of docs/ are on the site
# boxes of docs/grammar.md; Pygments' "ebnf" is another dialect, and would colour this one wrongly
BOXES = {
    "```ebnf\n": "```text\n",
    "```accepted\n": '```text title="accepted"\n',
    "```rejected\n": '```text title="rejected"\n',
}
LARGEST = 100_000  # bytes of a file that is shown


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of reference, and one for each file or folder outside of docs/ that a page links to."""
    waiting = [Path(file.abs_src_path) for file in files.documentation_pages()]
    while waiting:
        place = waiting.pop()
        if place.suffix != ".md":
            continue
        for _, link, _ in LINK.findall(BLOCK.sub("", place.read_text(encoding="utf-8"))):
            target = _target(place, link)
            made = target and _outside(target)
            if target and made and files.get_file_from_path(made) is None:
                hidden = InclusionLevel.NOT_IN_NAV
                files.append(File.generated(config, made, content=_content(target), inclusion=hidden))
                waiting.append(target)
    for uri, text in _reference().items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    place = _place(page.file.src_uri)
    parts = re.split(f"({BLOCK.pattern})", markdown, flags=re.MULTILINE | re.DOTALL)
    for i in range(1, len(parts), 2):
        first = parts[i].partition("\n")[0] + "\n"
        parts[i] = BOXES.get(first, first) + parts[i].removeprefix(first)
    for i in range(0, len(parts), 2):  # the others are blocks of code
        parts[i] = LINK.sub(lambda link: _moved(link, place, page.file.src_uri), parts[i])
        parts[i] = re.sub(r"`[^`\n]*\\\|[^`\n]*`", lambda code: code[0].replace("\\|", "&#124;"), parts[i])
        parts[i] = re.sub(r"`([^`\n]*&#124;[^`\n]*)`", _code, parts[i])
        parts[i] = API_TABLE.sub(_with_reference, parts[i])
    return "".join(parts)


def _reference() -> dict[str, str]:
    """Return the pages of names and errors, made in a process that imports the build in place, or else what is installed."""
    env = dict(os.environ)
    if any((REPO / "pda").rglob("*.so")) and (REPO / "build" / "view").is_dir():
        env["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(REPO / "build" / "view"), env.get("PYTHONPATH")])
        )
    command = [sys.executable, str(REPO / "docs" / "site" / "reference.py")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def _target(place: Path, link: str) -> Path | None:
    """Return the file or folder that a link of a file leads to, if it is one of the repository."""
    if "://" in link or link.startswith("mailto:"):
        return None
    found = (place.parent / link).resolve()
    return found if found.exists() and found.is_relative_to(REPO) else None


def _outside(target: Path) -> str | None:
    """Return the address of the page of a file outside of docs/, or None of one inside."""
    if target.is_relative_to(REPO / "docs"):
        return None
    name = target.relative_to(REPO).as_posix()
    return f"{OUTSIDE}/{name}" if name.endswith(".md") else f"{OUTSIDE}/{name}.md"


def _place(uri: str) -> Path:
    """Return the file that a page of the site was made of."""
    if not uri.startswith(f"{OUTSIDE}/"):
        return REPO / "docs" / uri
    name = uri.removeprefix(f"{OUTSIDE}/")
    return REPO / name if (REPO / name).exists() else REPO / name.removesuffix(".md")


def _moved(link: re.Match[str], place: Path, uri: str) -> str:
    target = _target(place, link[2])
    if target is None:
        return link[0]
    if target == REPO / "docs":
        target /= "README.md"
    uri_of = _outside(target) or target.relative_to(REPO / "docs").as_posix()
    return f"{link[1]}{posixpath.relpath(uri_of, posixpath.dirname(uri) or '.')}{link[3]}"


def _content(target: Path) -> str:
    if target.suffix == ".md":
        return target.read_text(encoding="utf-8")
    name = target.relative_to(REPO).as_posix()
    if target.is_dir():
        listed = sorted(path.name for path in target.iterdir() if path.is_file())
        return f"# `{name}/`\n\nFiles of the repository:\n\n" + "".join(f"- `{each}`\n" for each in listed)
    if target.stat().st_size > LARGEST:
        return f"# `{name}`\n\nA file of the repository, too long for a page.\n"
    text = target.read_text(encoding="utf-8")
    return f"# `{name}`\n\n````{LANGUAGES.get(target.suffix, 'text')}\n{text}\n````\n"


def _code(code: re.Match[str]) -> str:
    """Return code of a table's cell as HTML: Markdown's own code shows the backslash before a bar."""
    text = code[1].replace("&#124;", "|").replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return f"<code>{text}</code>"


def _with_reference(table: re.Match[str]) -> str:
    """Return a table of public names, each a link, followed by what their docstrings say; modules have pages of their own."""
    module, rows = table[1], table[2]
    names = [name for name in API_NAME.findall(rows) if not _is_module(f"{module}.{name}")]
    linked = rows
    for name in names:
        linked = linked.replace(f"| `{name}` |", f"| [`{name}`][{module}.{name}] |")
    head = table[0].removesuffix(rows)
    return f"{head}{linked.rstrip()}\n\n" + "".join(f"::: {module}.{name}\n\n" for name in names)


def _is_module(name: str) -> bool:
    place = REPO / "build" / "view" / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()
