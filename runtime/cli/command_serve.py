"""``stackmask serve``: serve a model over the OpenAI API."""

from __future__ import annotations

from pathlib import Path

from stackmask.runtime.cli.loading import load_model
from stackmask.runtime.extras import require

MAX_CONNECTIONS = 1024


def run_serve(
    model_name: str | None, host: str, port: int, name: str | None, style: str | None, concurrency: int
) -> None:
    """Load the model and serve until interrupted."""
    with require("serve"):
        import uvicorn

        from stackmask.runtime.http.app import Service, make_app
    model, tokenizer = load_model(model_name)
    shown = name or (Path(model_name).name if model_name else "stackmask")
    service = Service(
        model,
        tokenizer,
        shown,
        embedded=model_name is None,
        style=style,
        concurrency=concurrency,
        hosts=hosts_of(host),
    )
    uvicorn.run(make_app(service), host=host, port=port, log_level="info", limit_concurrency=MAX_CONNECTIONS)


def hosts_of(host: str) -> frozenset[str] | None:
    """Return the host names that a server on this address accepts; None for all.

    A server that only listens on this machine must not be reached by another name, which a page of another
    site could direct here.
    """
    local = frozenset({"localhost", "127.0.0.1", "::1"})
    return local if host in local else None
