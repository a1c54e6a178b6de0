"""How sure a model was of what it wrote: a note beside an answer that it would hardly have written by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# natural logarithms, the mean over the tokens of an answer. Of the 200 held-out questions about the shop 5 of 192 that are
# answered right are below, and 5 of 8 wrong ones; of 24 questions that the shop does not answer 21
LEAST_EMBEDDED: Final = -0.05
LEAST_OTHER: Final = -1.0  # other models spread their weight over more spellings; this one is not calibrated
LONGEST: Final = 8_192  # tokens that are read again


def mean_log_probability(model: Any, tokenizer: Any, prompt: Any, token_ids: Sequence[int]) -> float | None:
    """Return the mean logarithm of the probabilities that a model gives to its own tokens, no grammar in the way.

    None where it cannot be told: nothing was written, or it is too long to be read again. Cost: one pass of the model.
    """
    import torch

    if isinstance(prompt, str):
        before = tokenizer(prompt)["input_ids"]
    else:
        text = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        before = tokenizer(text, add_special_tokens=False)["input_ids"]
    if (
        not before
        or not token_ids
        or len(before) + len(token_ids) > LONGEST
        or model.config.is_encoder_decoder
    ):
        return None
    ids = torch.tensor([[*before, *token_ids]], device=model.device)
    with torch.no_grad():
        logits = model(ids).logits[0, len(before) - 1 : -1].float()
    chosen = torch.log_softmax(logits, -1).gather(1, ids[0, len(before) :, None])
    return float(chosen.mean())


def is_unsure(mean: float | None, *, embedded: bool) -> bool:
    """Say whether an answer should be marked."""
    return mean is not None and mean < (LEAST_EMBEDDED if embedded else LEAST_OTHER)
