"""The compiled request of each prompt, and the interpretation of rows of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.outputs import Output, OutputError, is_choice
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.work import Event
from stackmask.grammar.turns.parser import ParsedTurn
from stackmask.runtime.fsm.compiling import CompiledFsm
from stackmask.runtime.generation.endings import closing_place
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.result import GenerationResult, JumpReport, Prompt, Reason
from stackmask.runtime.generation.text import TextDecoder
from stackmask.runtime.generation.turns import Began, TurnPlan, answer_value, value_of
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MISSING: Final = object()
"""The mark of a missing grammar; None means free text."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requested output for one prompt.

    ``compiled``: None for free text. ``output``: converts the text to a value. ``plan``: the plan of a turn
    with tools or reasoning; ``answer``: the grammar of its answer.
    """

    compiled: Any
    output: Output | None = None
    plan: TurnPlan | None = None
    answer: Grammar | None = None
    began: Began = ""


def grammars_of(grammar: Any, prompts: int, plan: TurnPlan | None, *, one: bool) -> list[Any]:
    """Return the grammar given for each prompt. ``one``: the prompt was not given in a list.

    Raises: GenerationError if no grammar was given, or not one for each prompt.
    """
    if grammar is MISSING and plan is not None:
        return [None] * prompts
    if grammar is MISSING:
        raise GenerationError(
            "no output was specified: give a type, a JSON Schema, a grammar or tools=[…]; None for free text"
        )
    if one and isinstance(grammar, list | tuple) and len(grammar) == 1 and "::=" in str(grammar[0]):
        raise GenerationError(
            "for one prompt, a list of str is a list of choices: give the EBNF text itself, without the list"
        )
    if one or not isinstance(grammar, Sequence) or isinstance(grammar, str):
        return [grammar] * prompts
    if grammar and all(map(is_choice, grammar)):
        raise GenerationError(
            f"beside a list of prompts, a list has a grammar for each, and {grammar[0]!r:.60} is none: to choose from all of "
            "them for each prompt, give Grammar.from_choices([…])"
        )
    if len(grammar) != prompts:
        raise GenerationError(f"grammar has {len(grammar)} entries, but there are {prompts} prompts")
    return list(grammar)


def compile_all(
    compiler: Compiler,
    grammars: Sequence[Any],
    profile: Literal["exact", "model"],
    plan: TurnPlan | None,
    texts: Sequence[str],
    cancel: Event | None,
) -> list[Wanted]:
    """Compile the grammar of each prompt, equal objects only once. ``texts``: the prompts."""
    done: dict[tuple[int, Began], Wanted] = {}
    found = []
    for item, text in zip(grammars, texts, strict=True):
        began: Began = "" if plan is None else plan.began(text)
        key = id(item), began
        if key not in done:
            done[key] = _compile(compiler, item, profile, plan, began, cancel)
        found.append(done[key])
    return found


def _compile(
    compiler: Compiler,
    item: Any,
    profile: Literal["exact", "model"],
    plan: TurnPlan | None,
    began: Began,
    cancel: Event | None,
) -> Wanted:
    if item is None and plan is None:
        return Wanted(None)
    if isinstance(item, CompiledGrammar | CompiledFsm):
        if plan is not None:
            raise GenerationError(
                "with tools or reasoning, give the Grammar itself: it becomes part of the grammar of the turn"
            )
        if not item.vocabulary.fits(compiler.vocabulary):
            raise GenerationError(
                f"the grammar was compiled for {item.vocabulary!r}, but the model's vocabulary is "
                f"{compiler.vocabulary!r}: pass the Grammar itself, or its own compiler"
            )
        return Wanted(item, None if item.grammar is None else item.grammar.output)
    source = None
    if item is not None:
        try:
            source = Grammar.of(item, profile=profile, limits=compiler.limits)
        except OutputError as error:
            raise GenerationError(f"grammar is {type(item).__name__}: {error}") from None
    if plan is None:
        assert source is not None
        return Wanted(compiler.compile(source, cancel=cancel), source.output)
    compiled = compiler.compile(plan.grammar(source, began, profile), cancel=cancel)
    return Wanted(compiled, plan=plan, answer=source, began=began)


def result_of(
    prompt: Prompt,
    wanted: Wanted,
    vocabulary: Vocabulary,
    row: list[int],
    limit: int,
    jumps: JumpReport | None,
    watched: int | None = None,
) -> GenerationResult:
    """Truncate a row at its first stop token, and check the row with a separate matcher.

    ``watched``: the budget for ``closing_at``.
    """
    stops = frozenset(vocabulary.stop_ids)
    end = next((i for i, token in enumerate(row) if token in stops), None)
    ids = row[:end]
    finished = end is not None
    closing = None
    is_marker = False  # the stop token is asked for by name
    if wanted.compiled is not None:
        matcher = wanted.compiled.matcher()
        finished = all(matcher.accept_token(token) for token in ids)
        if finished and end is not None and not matcher.is_accepting():
            is_marker = matcher.accept_token(row[end])
        finished = finished and matcher.is_accepting()
        if watched is not None:
            closing = closing_place(wanted.compiled.matcher(), ids, watched)
    reason: Reason = "stop" if end is not None else "length" if len(ids) >= limit else "interrupted"
    note = "" if finished else _note(reason, len(ids), wanted.compiled)
    plan = wanted.plan
    if plan is None:
        text = vocabulary.decode(ids).decode("utf-8", "replace")
        turn = ParsedTurn(content=text)
        if wanted.compiled is None:
            parsed, problem = None, "free text has no value: give a type, a JSON Schema, choices or a pattern"
        else:
            parsed, problem = _parsed(wanted.output, text, note)
    else:
        decoder = TextDecoder(vocabulary, plan.marker_texts(vocabulary))
        text = "".join(map(decoder.push, row[: len(ids) + is_marker])) + decoder.finish()
        turn = plan.read(text, wanted.began)
        parsed, problem = answer_value(turn, wanted.answer) if finished else (None, UNFINISHED + note)
    return GenerationResult(
        prompt=prompt,
        text=text,
        token_ids=tuple(ids),
        finished=finished,
        reason=reason,
        jumps=jumps,
        parsed=parsed,
        parse_error=problem,
        content=turn.content,
        reasoning=turn.reasoning,
        calls=tuple(turn.calls),
        closing_at=closing,
        note=note,
    )


UNFINISHED: Final = "the text is not finished: "


def _note(reason: Reason, count: int, compiled: Any) -> str:
    """Explain in one line why a text is not finished."""
    if reason == "stop":
        return f"the text ended after {count} tokens outside the grammar"
    if reason == "interrupted":
        return f"generation was interrupted after {count} tokens, before the text was complete"
    note = f"max_new_tokens was reached after {count} tokens, before the text was complete: raise it"
    with suppress(StackmaskError):  # no end was found, or a finite-state machine, which counts no tokens
        least = 0 if compiled is None else compiled.matcher().needs_at_least()
        return f"{note}; the shortest text takes {least}, stop token included" if least else note
    return note


def _parsed(output: Output | None, text: str, note: str) -> tuple[Any, str]:
    """Return the value of a text, or None and the reason."""
    if output is None:
        return (
            None,
            "the grammar says nothing of values: make it of a type, a JSON Schema, choices or a pattern",
        )
    if note:
        return None, UNFINISHED + note
    return value_of(output, text)
