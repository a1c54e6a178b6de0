"""The judges of patterns: JavaScript's own engine where Node is installed, and Python's ``re``."""

from __future__ import annotations

import json
import re
import select
import shutil
import subprocess
from typing import IO, Final

from stackmask.runtime.audit.judges import Unjudgeable, Verdict

PATIENCE_S: Final = 10.0  # less than the audit waits for the judge
SCRIPT = """
const lines = require("readline").createInterface({ input: process.stdin });
let pattern;
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  try {
    if (asked.pattern !== undefined) pattern = new RegExp("^(?:" + asked.pattern + ")$", "u");
    console.log(asked.pattern !== undefined ? "true" : String(pattern.test(asked.text)));
  } catch (error) { console.log(JSON.stringify(String(error))); }
});
"""


class RegexJudge:
    """Whole texts of a pattern. ECMA-262 is what Node says, and Python's flavour what ``re`` says; one of them alone decides
    only its own flavour, and both must agree without Node."""

    def __init__(self, pattern: str, flavor: str) -> None:
        self.flavor = flavor
        self.node: _Node | None = None
        self.python: re.Pattern[str] | None = None
        if flavor == "ecma" and (path := shutil.which("node")) is not None:
            self.node = _Node(path, pattern)
            return
        try:
            self.python = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unjudgeable(f"re: {error}") from None
        # the two mean the same by these, and by nothing else that is safe to tell by looking
        if flavor != "python" and not re.fullmatch(
            r"[\w \-\[\](){},|*+?.:;/@%#~!&=<>'\"]*", pattern, re.ASCII
        ):
            raise Unjudgeable(f"a pattern of the flavour {flavor} beyond what `re` surely reads alike")

    def judge(self, text: bytes) -> Verdict:
        """Say whether the pattern matches all of a text."""
        try:
            characters = text.decode()
        except UnicodeDecodeError:
            return Verdict(False, "no UTF-8", {"utf-8": "cannot decode"})
        if self.node is not None:
            name, matches = "node", self.node.matches(characters)
        else:
            assert self.python is not None
            name, matches = "re", self.python.fullmatch(characters) is not None
        return Verdict(matches, "" if matches else "no match", {name: "matches" if matches else "no match"})

    def may_begin(self, text: bytes) -> bool | None:
        """Neither tells of beginnings."""
        return None


class _Node:
    """A process of Node that keeps one pattern; it ends with its input."""

    def __init__(self, path: str, pattern: str) -> None:
        self.process = subprocess.Popen(
            [path, "-e", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        answer = self._ask({"pattern": pattern})
        if answer is not True:
            self.close()
            raise Unjudgeable(f"node: {answer}")

    def matches(self, text: str) -> bool:
        answer = self._ask({"text": text})
        if not isinstance(answer, bool):
            raise Unjudgeable(f"node: {answer}")
        return answer

    def close(self) -> None:
        """End the process."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.wait()

    def __del__(self) -> None:
        if self.process.poll() is None:
            self.close()

    def _ask(self, question: dict[str, str]) -> object:
        write: IO[str] | None = self.process.stdin
        read: IO[str] | None = self.process.stdout
        assert write is not None and read is not None
        write.write(json.dumps(question) + "\n")
        write.flush()
        if not select.select([read], [], [], PATIENCE_S)[0]:
            self.process.kill()  # it backtracks: no other pattern would be answered either
            raise Unjudgeable(f"node: no answer after {PATIENCE_S:g} s")
        line = read.readline()
        if not line:
            raise Unjudgeable("node ended")
        found: object = json.loads(line)
        return found
