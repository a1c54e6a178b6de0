"""``stackmask play``: a page to try grammars on, served on this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any, Final

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.files import bundled_names, bundled_path, read_text
from stackmask.runtime.cli.command_convert import lark_as_ebnf
from stackmask.runtime.cli.console import messages, show
from stackmask.runtime.cli.loading import load_tokenizer
from stackmask.runtime.cli.play_judging import Playground, read
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

FIRST: Final = """root  ::= order ("," order)*
order ::= [1-9] [0-9]* " x " item note?
item  ::= "tea" | "cake"
note  ::= " (" [^()\\n]{1,40} ")"
"""
FIRST_TEXT: Final = "2 x tea (hot),1 x cake"
MAX_SAMPLE: Final = 200  # bytes


class PlayError(StackmaskError):
    """A playground that cannot be served."""


def first_state(name: str | None, text: str | None) -> dict[str, Any]:
    """Return what the page begins with: a file, a bundled grammar, ``/a pattern/``, a schema, or an example.

    ``text``: None for a sample of the grammar, where one is found.
    """
    if name is None:
        return {"kind": "ebnf", "grammar": FIRST, "text": FIRST_TEXT if text is None else text}
    kind = "ebnf"
    path = bundled_path(name) if name in bundled_names() and not Path(name).exists() else None
    if path is not None:
        source = read_text(path)
    elif len(name) > 2 and name[0] == name[-1] == "/" and not Path(name).exists():
        kind, source = "regex", name[1:-1]
    elif name.lstrip()[:1] == "{":
        kind, source = "schema", name
    else:
        source = read_text(Path(name))
        kind = "schema" if name.lower().endswith(".json") else "ebnf"
        if name.lower().endswith(".lark"):
            source = lark_as_ebnf(source, name=name, base=Path(name).parent).text
    if text is None:
        try:
            text = max(read(kind, source).sample(5, max_bytes=MAX_SAMPLE), key=len)
            text.encode()
        except (StackmaskError, UnicodeEncodeError):  # the page says what is wrong with the grammar
            text = ""
    return {"kind": kind, "grammar": source, "text": text}


def run_play(name: str | None, text: str | None, model: str | None, port: int, *, opens: bool) -> int:
    """Serve the page until it is interrupted; return the exit status."""
    from stackmask.runtime.cli.play_server import PlayServer

    state = first_state(name, text)
    tokenizer = load_tokenizer(model)
    playground = Playground(tokenizer, Vocabulary.from_huggingface(tokenizer))
    try:
        server = PlayServer(playground, port, state)
    except OSError as error:
        raise PlayError(
            f"port {port} cannot be used: {error.strerror or error}; name another one with --port"
        ) from None
    with server:
        show(messages(), f"{server.url} (this machine only; Ctrl-C ends it)")
        if opens:
            webbrowser.open(server.url)
        server.serve_forever()
    return 0
