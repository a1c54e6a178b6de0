"""``stackmask serve``: a model behind OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path

from stackmask.runtime.cli.loading import load_model
from stackmask.runtime.extras import require


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
        model, tokenizer, shown, embedded=model_name is None, style=style, concurrency=concurrency
    )
    uvicorn.run(make_app(service), host=host, port=port, log_level="info")
