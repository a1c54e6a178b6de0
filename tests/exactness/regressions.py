"""Cases that once failed, as text files: ``tests/regressions/*.txt``.

Lines that begin with ``#`` say what was wrong. Then Python literals and expressions of the IR, named:

    seed: 17                                    (of the walk; check_case uses it)
    start: 'r0'
    initial: ()
    rule r0: Sequence(items=(...))
    tokens: [b'a', None]
    stop_ids: [1]
    special_names: {'<|x|>': 2}
    special_ids: [2]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oracle.random_grammars import RandomVocabulary

from exactness.walks import Case
from stackmask.grammar import ir
from stackmask.grammar.ir.dump import dump

FOLDER = Path(__file__).resolve().parent.parent / "regressions"
_NAMES = {name: getattr(ir, name) for name in dir(ir) if name[0].isupper()}


def save(path: Path, case: Case, seed: int, title: str) -> None:
    """Write a case."""
    v = case.vocabulary
    lines = [f"# {line}" for line in title.splitlines()]
    lines += [f"# | {line}" for line in dump(case.rules).splitlines()]
    lines += [f"seed: {seed!r}", f"start: {case.rules.start!r}", f"initial: {case.rules.initial!r}"]
    lines += [f"rule {name}: {rule.body!r}" for name, rule in case.rules.rules.items()]
    lines += [f"tokens: {v.tokens!r}", f"stop_ids: {v.stop_ids!r}"]
    lines += [f"special_names: {v.special_names!r}", f"special_ids: {v.special_ids!r}"]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def load(path: Path) -> tuple[Case, Any]:
    """Read a case and the seed of its walk."""
    values: dict[str, Any] = {}
    rules: dict[str, ir.Rule] = {}
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            key, _, text = line.partition(": ")
            value = eval(text, {"__builtins__": {}}, _NAMES)  # the repository's own files
            if key.startswith("rule "):
                rules[key[5:]] = ir.Rule(key[5:], value)
            else:
                values[key] = value
    ruleset = ir.RuleSet(rules, values["start"], values["initial"])
    vocabulary = RandomVocabulary(
        values["tokens"], values["stop_ids"], values["special_names"], values["special_ids"]
    )
    return Case(ruleset, vocabulary), values["seed"]
