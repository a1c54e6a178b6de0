"""The adapter of vLLM among vLLM's real classes: what a step tells the front end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import stackmask as sm

pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the server's
    pytest.importorskip("vllm.v1.core.sched.scheduler", exc_type=ImportError)
    from prometheus_client import REGISTRY
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
    from vllm.v1.engine.input_processor import InputProcessor
    from vllm.v1.metrics.loggers import PrometheusStatLogger
    from vllm.v1.metrics.stats import SchedulerStats
    from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    from stackmask.runtime.serving import vllm_backend, vllm_plugin
    from stackmask.runtime.serving.metrics import publish

END = 256
tells_why = pytest.mark.skipif(
    not vllm_backend.TELLS_WHY, reason="vLLM before 0.33 has no place for a reason"
)


def config(**additional: Any) -> Any:
    outputs = SimpleNamespace(backend="stackmask")
    return SimpleNamespace(structured_outputs_config=outputs, additional_config={"stackmask": additional})


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    tokens = [*(bytes([i]) for i in range(256)), None]
    vocabulary = sm.Vocabulary(tokens, stop_ids=[END], size=260)
    monkeypatch.setattr(sm.Vocabulary, "from_huggingface", lambda *_, **__: vocabulary)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vllm_plugin.register()
    yield vllm_plugin


def backend(**additional: Any) -> Any:
    made = vllm_backend.StackmaskBackend(config(**additional), tokenizer=None, vocab_size=260)
    made.ended = {}
    return made


def compiled(made: Any, pattern: str, **options: Any) -> Any:
    grammar = made.compile_grammar(StructuredOutputOptions.REGEX, pattern)
    made.narrow(grammar, SamplingParams(**options))
    return grammar


def sent(made: Any, *names: str) -> EngineCoreOutputs:
    """Return what the front end reads after a step in which requests failed."""
    outputs = [EngineCoreOutput(name, [], finish_reason=FinishReason.ERROR) for name in names]
    step = EngineCoreOutputs(outputs=outputs, scheduler_stats=SchedulerStats())
    made.report({0: step})
    return MsgpackDecoder(EngineCoreOutputs).decode(MsgpackEncoder().encode(step))


def shown() -> dict[str, float]:
    samples = [sample for metric in REGISTRY.collect() for sample in metric.samples]
    return {
        sample.name.partition(":")[2] + str(sample.labels.get("limit", "")): sample.value
        for sample in samples
        if sample.name.startswith("stackmask:") and not sample.name.endswith("_created")
    }


def test_counts_reach_the_metrics_of_the_front_end(plugin: Any) -> None:
    made = backend()
    grammar = compiled(made, "a{3}")
    made.fill_step([grammar], 4)
    with pytest.raises(VLLMValidationError, match="unclosed"):
        compiled(made, "[a")
    grammar.guarded.fail(sm.BudgetError("max_work", 7, "work"))
    stats = sent(made).scheduler_stats
    assert stats is not None
    counts = stats.stackmask
    assert {name: counts[name] for name in ("compiles", "refusals:none", "refusals:max_work")} == {
        "compiles": 1,
        "refusals:none": 1,
        "refusals:max_work": 1,
    }
    assert counts["mask_seconds"] > 0 < counts["compile_seconds"]
    publish(dict.fromkeys(("compiles", "slow_masks"), 0))
    before = shown()
    plugin._recording(lambda *_: None)(None, stats, None)
    after = shown()
    assert after["compiles_total"] == before["compiles_total"] + 1
    assert after["refusals_totalmax_work"] == before.get("refusals_totalmax_work", 0) + 1
    assert after["mask_seconds_total"] > before.get("mask_seconds_total", 0)
    assert not sent(made).scheduler_stats.stackmask  # each is told once
    plugin._recording(lambda *_: None)(None, SchedulerStats(), None)
    plugin._recording(lambda *_: None)(None, None, None)
    assert shown() == after


@tells_why
def test_a_client_reads_why_its_request_ended(plugin: Any) -> None:
    made = backend()
    limited, narrowed, forced, broken, fine = (
        compiled(made, "a{3}"),
        compiled(made, "a{3}", allowed_token_ids=[98]),
        compiled(made, "a{3}", min_tokens=9),
        compiled(made, "a{3}"),
        compiled(made, "a{3}"),
    )
    limited.guarded.fail(sm.BudgetError("max_work", 7, "work"))
    broken.guarded.fail(MemoryError("no more"))
    mask = made.fill_step([limited, narrowed, forced, fine], 4)
    assert [[i for i in range(260) if row[i >> 5] >> (i & 31) & 1] for row in mask] == [
        [END],
        [END],
        [97],
        [97],
    ]
    names = "limited", "narrowed", "forced", "broken"
    for name, grammar in zip(names, (limited, narrowed, forced, broken), strict=True):
        assert not grammar.accept_tokens(name, [END])
    assert fine.accept_tokens("fine", [97])
    reasons = {output.request_id: output.error for output in sent(made, *names, "fine").outputs}
    assert reasons.pop("fine") is None
    assert {name: type(error.to_exception()).__name__ for name, error in reasons.items()} == {
        "limited": "VLLMValidationError",  # HTTP 400
        "narrowed": "VLLMValidationError",
        "forced": "VLLMValidationError",
        "broken": "GenerationError",  # HTTP 500
    }
    for name, words in (
        ("limited", "max_work"),
        ("narrowed", "allowed_token_ids of the request has no token"),
        ("forced", "min_tokens of the request may leave no token"),
        ("broken", "MemoryError: no more"),
    ):
        assert words in reasons[name].message
    assert sent(made, "limited").outputs[0].error is None


def test_tokens_that_a_request_allows_narrow_its_masks(plugin: Any) -> None:
    made = backend()
    grammar = compiled(made, "[a-z]+", allowed_token_ids=[98, 65, END])
    for letter, following in ((None, [98]), (98, [98, END])):
        if letter is not None:
            assert grammar.accept_tokens("1", [letter])
        rows = made.fill_step([None, grammar], 4)[1], made.allocate_token_bitmask(1)
        grammar.fill_bitmask(rows[1], 0)
        for row in (rows[0], rows[1][0].numpy()):
            assert [i for i in range(260) if row[i >> 5] >> (i & 31) & 1] == following
    assert grammar.accept_tokens("1", [END])
    assert (made.fill_step([grammar], 4)[0] == -1).all()


def test_the_servers_classes_are_wrapped_once(plugin: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plugin.register()
    for owner, name in (
        (InputProcessor, "__init__"),
        (Scheduler, "update_from_output"),
        (PrometheusStatLogger, "record"),
    ):
        original = getattr(getattr(owner, name), plugin.MARK)
        assert not hasattr(original, plugin.MARK)
    outputs = {0: EngineCoreOutputs(scheduler_stats=SchedulerStats())}
    manager = SimpleNamespace(backend=backend())
    compiled(manager.backend, "a")
    reporting = plugin._reporting(lambda *_: outputs)(SimpleNamespace(structured_output_manager=manager))
    assert reporting is outputs and outputs[0].scheduler_stats.stackmask["compiles"] == 1


def test_requests_are_checked_within_the_limits_of_the_server(plugin: Any) -> None:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(regex="a" * 100))
    whole = config(limits={"max_input_bytes": 99})
    plugin._receiving(lambda *_: None)(None, whole)
    model = SimpleNamespace(is_diffusion=False)
    with pytest.raises(VLLMValidationError, match="max_input_bytes"):
        params._validate_structured_outputs(model, whole.structured_outputs_config, object())
    params = SamplingParams(structured_outputs=StructuredOutputsParams(regex="a" * 100))
    params._validate_structured_outputs(model, config().structured_outputs_config, object())
