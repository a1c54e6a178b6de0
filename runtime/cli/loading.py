"""Load the model named on the command line."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from stackmask.runtime.embedded import load_embedded, load_embedded_tokenizer
from stackmask.runtime.extras import require
from stackmask.runtime.generation.errors import GenerationError

CONNECT_SECONDS: Final = 2.0


def refuse_missing_model(name: str | None) -> None:
    """Refuse the path of a missing folder, and offline a name on the hub that is not in the cache.

    Raises: GenerationError.
    Cost: for a name on the hub, up to ``CONNECT_SECONDS``. No large library is imported.
    """
    if name is None:
        return
    is_path = name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1
    path = Path(name)
    if is_path and not path.is_dir():
        what = "it is a file" if path.is_file() else "there is no such folder"
        raise GenerationError(
            f"cannot load the model {name}: {what}; --model takes a folder, or a name of the hub (owner/model)"
        )
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise GenerationError(f"cannot load the model {name}: the folder has no config.json")
        return
    with contextlib.suppress(ImportError):  # what is missing is said later
        _is_offline(name)


def _is_offline(name: str) -> bool:
    """Return whether a model must be loaded from this machine. Raises: GenerationError if so, and it is missing."""
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    if Path(name).is_dir() or (not constants.HF_HUB_OFFLINE and _is_reachable(constants.ENDPOINT)):
        return False
    with contextlib.suppress(HFValidationError):  # no name of the hub, which transformers says
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            why = (
                "HF_HUB_OFFLINE is set"
                if constants.HF_HUB_OFFLINE
                else f"{constants.ENDPOINT} cannot be reached"
            )
            raise GenerationError(f"cannot load the model {name}: it is not on this machine, and {why}")
    return True


def _is_reachable(url: str) -> bool:
    """Return whether a server, or its proxy, accepts a connection. The hub's own client tries for a minute
    and a half.
    """
    try:
        server = urlsplit(url)
        proxy = None if proxy_bypass(server.hostname or "") else getproxies().get(server.scheme)
        place = urlsplit(proxy if proxy and "://" in proxy else f"http://{proxy}" if proxy else url)
        port = place.port or (443 if place.scheme == "https" else 80)
    except ValueError:
        return True  # the hub's own client says what is wrong with the address
    found: list[bool] = []

    def connect() -> None:
        with (
            contextlib.suppress(OSError, UnicodeError),
            socket.create_connection((place.hostname, port), CONNECT_SECONDS),
        ):
            found.append(True)

    attempt = threading.Thread(target=connect, daemon=True)  # nothing else bounds the look-up of a name
    attempt.start()
    attempt.join(CONNECT_SECONDS)
    return bool(found)


def load_model(name: str | None) -> tuple[Any, Any]:
    """Return (model, tokenizer): the embedded ones if no name is given, else those of a transformers model.

    Raises: MissingExtraError without the extra ``hf``; GenerationError if the model does not exist.
    """
    refuse_missing_model(name)
    with require("hf"):
        import torch
        import transformers  # noqa: F401  # both are there: what follows needs them, but not all of their parts
    if name is None:
        return load_embedded()
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        here = _is_offline(name)
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=here)
        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype="auto", local_files_only=here)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GenerationError(f"cannot load the model {name}: {first}") from None
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def load_tokenizer(name: str | None) -> Any:
    """Return the embedded tokenizer if no name is given, else that of a transformers model.

    Raises: MissingExtraError without the extra ``hf``; GenerationError if the model does not exist.
    """
    if name is None:
        return load_embedded_tokenizer()
    refuse_missing_model(name)
    with require("hf"):
        from transformers import AutoTokenizer
    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=_is_offline(name))
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GenerationError(f"cannot load the tokenizer of {name}: {first}") from None
