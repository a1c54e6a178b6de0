"""The adapters of vLLM and SGLang, against stand-ins of the few names that they take from these servers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Literal
from unittest.mock import Mock

import numpy as np
import pytest

import stackmask as sm

torch = pytest.importorskip("torch")

END = 256
OURS = ("metrics", "vllm_plugin", "vllm_backend", "vllm_drafts", "sglang_plugin", "sglang_backend")


class Tokenizer:
    """Stands for one of transformers: the adapters hand it to ``Vocabulary.from_huggingface``."""


class Options(Enum):
    JSON, JSON_OBJECT, REGEX, GRAMMAR, CHOICE, STRUCTURAL_TAG = range(6)


class ValidationError(ValueError):
    pass


class Counter:
    """Stands for one of Prometheus's client; ``sums`` are all that were made."""

    sums: ClassVar[dict[str, float]] = {}

    def __init__(self, name: str, _: str, labels: list[str]) -> None:
        self.name = name

    def labels(self, **labels: str) -> Counter:
        return Counter(f"{self.name}{labels}", "", [])

    def inc(self, amount: float) -> None:
        self.sums[self.name] = self.sums.get(self.name, 0) + amount


def module(name: str, **names: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    return made


def params(**given: Any) -> SimpleNamespace:
    values = {
        "disable_any_whitespace": False,
        "disable_additional_properties": False,
        "whitespace_pattern": None,
        "json": None,
        "structural_tag": None,
    }
    return SimpleNamespace(**{**values, "_backend": None, "key": (Options.REGEX, "a{3}"), **given})


def refuse_deep(value: Any, structural_tag: bool = False) -> None:
    if value == "[[]]":
        raise ValidationError("nested too deeply")


class Runner:
    """Stands for vLLM's runner of models: a batch of requests, as much of it as proposers see."""

    def __init__(self, drafter: Any) -> None:
        self.drafter = drafter
        self.requests: dict[str, Any] = {}
        self.rows: dict[str, list[int]] = {}

    def add(self, name: str, prompt: str, **given: Any) -> None:
        sampling = SimpleNamespace(structured_outputs=params(**given) if given else None)
        self.requests[name] = SimpleNamespace(
            prompt_token_ids=list(prompt.encode()), sampling_params=sampling
        )
        self.rows[name] = list(prompt.encode())

    @property
    def input_batch(self) -> SimpleNamespace:
        return SimpleNamespace(req_ids=list(self.rows))

    def propose_draft_token_ids(self, sampled: list[list[int]]) -> list[list[int]]:
        counts = np.array([len(row) for row in self.rows.values()])
        table = np.zeros((len(counts), 128), np.int32)
        for row, tokens in zip(table, self.rows.values(), strict=True):
            row[: len(tokens)] = tokens
        return self.drafter.propose(sampled, counts, table, slot_mappings=None)

    def step(self, **written: str) -> dict[str, str]:
        """Write texts and return the drafts after them."""
        for name, text in written.items():
            self.rows[name] += text.encode()
        drafts = self.propose_draft_token_ids([list(written.get(name, "").encode()) for name in self.rows])
        return {name: bytes(draft).decode() for name, draft in zip(self.rows, drafts, strict=True)}


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    base = module(
        "base",
        StructuredOutputBackend=object,
        StructuredOutputGrammar=object,
        StructuredOutputOptions=Options,
    )
    constrained = module(
        "constrained",
        BaseGrammarBackend=object,
        BaseGrammarObject=object,
        InvalidGrammarObject=lambda message: SimpleNamespace(message=message),
    )
    found = {
        "vllm": module("vllm", __version__="0.32.0"),
        "vllm.sampling_params": module("sampling_params", check_json_nesting=refuse_deep),
        "vllm.exceptions": module("exceptions", VLLMValidationError=ValidationError),
        "vllm.tokenizers": module("tokenizers", cached_tokenizer_from_config=lambda _: Tokenizer()),
        "vllm.outputs": module("outputs", RequestError=SimpleNamespace),
        "vllm.v1": module("v1"),
        "vllm.v1.engine": module("engine", EngineCoreOutput=SimpleNamespace(__struct_fields__=("error",))),
        "vllm.v1.worker": module("worker"),
        "vllm.v1.worker.gpu_model_runner": module(
            "gpu_model_runner", GPUModelRunner=type("GPUModelRunner", (Runner,), {})
        ),
        "vllm.v1.structured_output": module("structured_output"),
        "vllm.v1.structured_output.backend_types": base,
        "vllm.v1.structured_output.request": module("request", get_structured_output_key=lambda p: p.key),
        "prometheus_client": module("prometheus_client", Counter=Counter),
        "sglang": module("sglang"),
        "sglang.srt": module("srt"),
        "sglang.srt.constrained": module("constrained"),
        "sglang.srt.constrained.base_grammar_backend": constrained,
    }
    for name, made in found.items():
        monkeypatch.setitem(sys.modules, name, made)
    vocabulary = sm.Vocabulary(
        [*(bytes([i]) for i in range(256)), None], stop_ids=[END], special_ids=[257], size=260
    ).with_encoder(lambda text: list(text.encode()))
    monkeypatch.setattr(sm.Vocabulary, "from_huggingface", lambda *_, **__: vocabulary)
    Counter.sums.clear()
    yield
    for name in OURS:
        sys.modules.pop(f"stackmask.runtime.serving.{name}", None)


def loaded(name: str) -> Any:
    return importlib.import_module(f"stackmask.runtime.serving.{name}")


def vllm_backend(**additional: Any) -> Any:
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(backend="stackmask"),
        additional_config={"stackmask": additional},
    )
    return loaded("vllm_backend").StackmaskBackend(config, tokenizer=Tokenizer(), vocab_size=260)


def allowed(row: Any) -> list[int]:
    return [i for i in range(260) if row[i >> 5].item() >> (i & 31) & 1]


def test_vllm_follows_a_request(servers: None) -> None:
    backend = vllm_backend()
    grammar = backend.compile_grammar(Options.REGEX, "a{3}", stop_token_ids={257})
    mask = backend.allocate_token_bitmask(2)
    assert mask.shape == (2, 9) and mask.dtype == torch.int32
    grammar.fill_bitmask(mask, 1)
    assert allowed(mask[1]) == [97]
    assert grammar.validate_tokens([97, 97, 98]) == [97, 97]
    assert grammar.accept_tokens("1", [97, 97, 97])
    grammar.fill_bitmask(mask, 0)
    assert allowed(mask[0]) == [257]
    assert not grammar.accept_tokens("1", [END])
    assert grammar.accept_tokens("1", [257, 5]) and grammar.is_terminated()
    grammar.rollback(2)
    assert not grammar.is_terminated()
    grammar.reset()
    assert grammar.validate_tokens([97]) == [97]
    backend.destroy()


def test_vllm_takes_the_name_with_options_that_it_keeps_for_others(
    servers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pydantic = pytest.importorskip("pydantic")

    @pydantic.dataclasses.dataclass
    class Outputs:
        backend: Literal["auto", "xgrammar"] = "auto"
        disable_any_whitespace: bool = False

        @pydantic.model_validator(mode="after")
        def _validate_structured_output_config(self) -> Any:
            if self.disable_any_whitespace and self.backend != "xgrammar":
                raise ValueError("only with xgrammar")
            return self

    Outputs.__annotations__["backend"] = Literal["auto", "xgrammar"]

    @pydantic.dataclasses.dataclass
    class Whole:
        outputs: Any

    Whole.__annotations__["outputs"] = Whole.__dataclass_fields__["outputs"].type = Outputs
    pydantic.dataclasses.rebuild_dataclass(Whole, force=True)
    inner = module("structured_outputs", StructuredOutputsConfig=Outputs)
    outer = module("config", structured_outputs=inner, VllmConfig=Whole)
    monkeypatch.setitem(sys.modules, "vllm.config", outer)
    monkeypatch.setitem(sys.modules, "vllm.config.structured_outputs", inner)
    loaded("vllm_plugin")._allow_name()
    given = Outputs(backend="stackmask", disable_any_whitespace=True)
    assert Whole(outputs=given).outputs is given
    with pytest.raises(ValueError, match="only with xgrammar"):
        Outputs(backend="auto", disable_any_whitespace=True)
    with pytest.raises(ValueError, match="auto, xgrammar, stackmask"):
        Outputs(backend="nobody")


def test_vllm_fills_a_step_in_one_call(servers: None) -> None:
    backend = vllm_backend()
    grammars = [backend.compile_grammar(Options.CHOICE, f'["{letter}z"]') for letter in "abcd"]
    for _ in range(2):
        mask = backend.fill_step([grammars[0], None, *grammars[2:]], 6)
        assert mask.shape == (4, 9) and not mask.flags.writeable
        assert [allowed(mask[row]) for row in (0, 2, 3)] == [[97], [99], [100]]
        assert (mask[1] == -1).all()
    for grammar, letter in zip(grammars, (97, 98, 99, 100), strict=True):
        assert grammar.accept_tokens("x", [letter]) and not grammar.accept_tokens("x", [letter])
    grammars[2].accept_tokens("3", [122, END])
    grammars[3].guarded.fail(ValueError("no more"))
    mask = backend.fill_step(grammars, 6)
    assert [allowed(mask[row]) for row in (0, 1, 3)] == [[122], [122], [END]]
    assert (mask[2] == -1).all()
    assert not grammars[3].accept_tokens("4", [122]) and not grammars[3].accept_tokens("4", [END])
    assert allowed(backend.fill_step(grammars, 6)[3]) == [END]
    held = backend.fill_step([grammars[0], None, None], 6, {2: (97, 258)})
    assert (held[1] == -1).all() and allowed(held[2]) == [i for i in range(260) if i not in (97, 258)]
    assert (backend.fill_step([grammars[0], None, None], 6)[1:] == -1).all()
    assert backend.fill_step(grammars * 2, 6).shape == (8, 9)  # more than were announced


def test_vllm_ends_a_request_whose_token_fails(servers: None) -> None:
    grammar = vllm_backend().compile_grammar(Options.REGEX, "a{3}")

    def fail(_: int) -> bool:
        raise MemoryError("no more")

    grammar._accept = fail
    assert not grammar.accept_tokens("1", [97])
    assert "no more" in grammar.guarded.failure
    assert not grammar.accept_tokens("1", [END]) and not grammar.is_terminated()


def test_vllm_undoes_what_failed_along_a_draft(servers: None) -> None:
    ours, ended = loaded("vllm_backend"), {}
    grammar = ours.StackmaskGrammar(
        vllm_backend().compile_grammar(Options.REGEX, "ab+").guarded.matcher,
        (END,),
        loaded("metrics").Metrics(),
        ended,
    )
    assert grammar.accept_tokens("1", [97])
    grammar.guarded.fail(MemoryError("before"))
    grammar.rollback(0)
    assert grammar.guarded.failure  # not of a draft
    grammar.guarded.failure = None
    assert grammar.accept_tokens("1", [98])
    grammar.guarded.fail(MemoryError("in a row of a draft"))
    assert not grammar.accept_tokens("1", [98]) and ended
    grammar.rollback(1)
    assert grammar.guarded.failure is None and not ended
    assert grammar.accept_tokens("1", [98])


def test_vllm_compiles_with_the_options_of_a_request(servers: None) -> None:
    backend = vllm_backend(profile="exact")
    spaced, compact = (b'{ "a" : 1 }', b'{"a":1}')
    schema = '{"properties": {"a": {"type": "integer"}}, "type": "object"}'
    plain = backend.compile_grammar(Options.JSON, schema)
    assert plain.accept_tokens("1", [*spaced])
    with backend.options_of(params(disable_any_whitespace=True)):
        narrow = backend.compile_grammar(Options.JSON, schema)
    assert narrow.accept_tokens("2", [*compact])
    narrow.reset()
    assert not narrow.accept_tokens("2", [*spaced])
    assert backend.compile_grammar(Options.JSON, schema).accept_tokens("3", [*spaced])


def test_vllm_refuses_requests_where_they_come_in(servers: None) -> None:
    ours = loaded("vllm_backend")
    config = SimpleNamespace(backend="stackmask")
    good = params()
    ours.validate_request(SimpleNamespace(structured_outputs=good), SimpleNamespace(), config, Tokenizer())
    assert good._backend == "stackmask"
    for wrong, message in (
        (params(key=(Options.REGEX, "[a-")), "^Invalid grammar specification: .*unclosed class"),
        (params(_backend="xgrammar"), "this server was started with 'stackmask'"),
        (params(key=(Options.JSON, "{}"), whitespace_pattern="["), "whitespace"),
        (params(json=""), "json cannot be an empty string"),
        (params(json_object=False), "json_object must be True"),
        (params(regex="a\x00"), "NUL"),
        (params(json="[[]]"), "nested too deeply"),
    ):
        with pytest.raises(ValidationError, match=message):
            ours.validate_request(
                SimpleNamespace(structured_outputs=wrong), SimpleNamespace(), config, Tokenizer()
            )
    with pytest.raises(ValidationError, match="need a tokenizer"):
        ours.validate_request(SimpleNamespace(structured_outputs=good), SimpleNamespace(), config, None)
    with pytest.raises(ValidationError, match="undefined rule"):
        vllm_backend().compile_grammar(Options.GRAMMAR, "root ::= nope")


def test_vllm_checks_requests_within_the_limits_of_the_server(servers: None) -> None:
    ours, plugin = loaded("vllm_backend"), loaded("vllm_plugin")
    long = params(key=(Options.REGEX, "a" * 100))
    for limits in ({}, {"max_input_bytes": 99}):
        config = SimpleNamespace(backend="stackmask")
        whole = SimpleNamespace(
            structured_outputs_config=config, additional_config={"stackmask": {"limits": limits}}
        )
        plugin._receiving(lambda *_: None)(SimpleNamespace(), whole)
        with pytest.raises(ValidationError, match="max_input_bytes") if limits else nullcontext():
            ours.validate_request(
                SimpleNamespace(structured_outputs=long), SimpleNamespace(), config, Tokenizer()
            )


def test_vllm_leaves_backends_of_others_alone(servers: None) -> None:
    plugin = loaded("vllm_plugin")
    manager = SimpleNamespace(backend=Mock(), vllm_config=SimpleNamespace(num_speculative_tokens=0))
    request = SimpleNamespace(sampling_params=SimpleNamespace(structured_outputs=params()))
    assert plugin._creating(lambda *_: "theirs")(manager, request) == "theirs"
    assert plugin._filling(lambda *_: "theirs")(manager, {"1": request}, ["1"], {}) == "theirs"
    assert not manager.backend.mock_calls


def test_vllm_of_another_version_is_left_alone(
    servers: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys.modules["vllm"], "__version__", "0.28.0", raising=False)
    loaded("vllm_plugin").register()
    assert "for vllm 0.29 to 0.33, not 0.28.0" in caplog.text


def test_vllm_makes_the_backend_of_a_manager(servers: None) -> None:
    plugin = loaded("vllm_plugin")

    class StructuredOutputManager:
        def __init__(self, config: Any) -> None:
            self.vllm_config, self.backend, self.tokenizer = config, None, Tokenizer()
            self._grammar_bitmask = None

        def grammar_init(self, request: Any) -> None:
            request.structured_output_request.grammar = self._create_grammar(request)

        def _create_grammar(self, request: Any) -> Any:
            return self.backend.compile_grammar(*request.sampling_params.structured_outputs.key)

        def _get_constraint_bounds(self, request: Any, tokens: Any) -> Any:
            return SimpleNamespace(constraint_start=0)

        def grammar_bitmask(
            self,
            requests: Any,
            structured_output_request_ids: Any,
            scheduled_spec_decode_tokens: Any,
        ) -> Any:
            return None

        def validate_tokens(self, request: Any, spec_tokens: list[int]) -> list[int]:
            return spec_tokens

        def _fill_bitmasks(self, batch: Any) -> None:
            for grammar, index, applies in batch:
                self._grammar_bitmask[index].fill_(-1)
                if applies:
                    grammar.fill_bitmask(self._grammar_bitmask, index)

    sys.modules["vllm.v1.structured_output"].StructuredOutputManager = StructuredOutputManager
    for name, wrapper in (
        ("__init__", plugin._starting),
        ("_create_grammar", plugin._creating),
        ("grammar_bitmask", plugin._filling),
        ("_fill_bitmasks", plugin._filling_rows),
        ("validate_tokens", plugin._drafting),
    ):
        for _ in range(2):  # the second time changes nothing
            plugin._wrap("vllm.v1.structured_output", "StructuredOutputManager", name, wrapper)
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(backend="auto"),
        model_config=SimpleNamespace(
            skip_tokenizer_init=False, get_vocab_size=lambda: 260, max_model_len=100
        ),
        scheduler_config=SimpleNamespace(max_num_seqs=4),
        num_speculative_tokens=0,
    )
    assert StructuredOutputManager(config).backend is None
    config.structured_outputs_config.backend = "stackmask"
    manager = StructuredOutputManager(config)
    assert manager.backend is not None
    request = SimpleNamespace(
        structured_output_request=SimpleNamespace(),
        sampling_params=SimpleNamespace(structured_outputs=params(), max_tokens=None),
        num_prompt_tokens=0,
    )
    manager.grammar_init(request)
    mask = manager.grammar_bitmask({"1": request}, ["1"], {})
    assert mask.shape == (1, 9)
    assert allowed(mask[0]) == [97]
    again = manager.grammar_bitmask(
        requests={"1": request}, structured_output_request_ids=["1"], scheduled_spec_decode_tokens={}
    )
    assert (again == mask).all()
    assert manager.grammar_bitmask({}, [], {}) is None
    # while the model thinks, what would begin the text is held back where the grammar refuses it
    manager._get_constraint_bounds = lambda *_: SimpleNamespace(constraint_start=1)
    assert (manager.grammar_bitmask({"1": request}, ["1"], {}) == -1).all()
    manager._masked_reasoning_ends = lambda _: (97,)
    assert 97 not in allowed(manager.grammar_bitmask({"1": request}, ["1"], {})[0])
    del manager._get_constraint_bounds, manager._masked_reasoning_ends
    # texts end whole if that is asked for
    request.sampling_params.max_tokens = 7
    for whole, room in ((False, None), (True, 7)):
        manager.backend.options = replace(manager.backend.options, whole=whole)
        manager.grammar_init(request)
        grammar = request.structured_output_request.grammar
        assert (grammar.guarded.room, grammar.thoughts) == (room, None)
    think_and_answer(manager, request)


def think_and_answer(manager: Any, request: Any) -> None:
    """Thoughts leave room for three letters and the stop token, and only their own end ends them."""
    think = 258
    manager.reasoner = SimpleNamespace(end_token_id=think)
    manager.vllm_config.model_config.max_model_len = 11
    request.num_prompt_tokens = 4  # which leaves 7 tokens
    for spends in (0, 1, 2):
        manager.grammar_init(request)
        grammar = request.structured_output_request.grammar
        request.num_output_tokens, thinks = 0, True
        written = []
        while not grammar.is_terminated():
            bounds = SimpleNamespace(constraint_start=int(thinks))
            manager._get_constraint_bounds = Mock(return_value=bounds)
            row = manager.grammar_bitmask({"1": request}, ["1"], {})[0]
            if thinks:
                assert allowed(row) == ([think] if len(written) == 2 else [i for i in range(260) if i != END])
                token = think if len(written) == spends else 5
                thinks = token != think
            else:
                (token,) = allowed(row)
                assert grammar.accept_tokens("1", [token])
            written.append(token)
            request.num_output_tokens += 1
        assert written == [5] * spends + [think, 97, 97, 97, END]
    # drafts: the rows of a step are filled one by one
    manager.grammar_init(request)
    grammar = request.structured_output_request.grammar
    request.num_output_tokens = 0
    manager.vllm_config.num_speculative_tokens = 3
    manager._get_constraint_bounds = Mock(return_value=SimpleNamespace(constraint_start=1))
    manager.grammar_bitmask({"1": request}, ["1"], {"1": [5, 5, think]})
    manager._grammar_bitmask = torch.zeros((4, 9), dtype=torch.int32)
    for row, applies in enumerate((False, False, False, True)):
        manager._fill_bitmasks([(grammar, row, applies)])
    anything = [i for i in range(260) if i != END]
    assert [allowed(row) for row in manager._grammar_bitmask] == [anything, anything, [think], [97]]
    assert grammar.guarded.room == 4
    # what may not be thought is not proposed
    request.use_structured_output = True
    for draft, rest in (
        ([5, 5, 5], [5, 5]),
        ([5, END, 5], [5]),
        ([5, think, 97, END], [5, think, 97, END]),
        ([5], [5]),
        ([], []),
    ):
        assert manager.validate_tokens(request, draft) == rest


def test_sglang_follows_a_request(servers: None) -> None:
    backend = loaded("sglang_backend").StackmaskBackend(Tokenizer(), 260, {END}, compact=True)
    grammar = backend.dispatch_regex("ab")
    other = grammar.copy()
    mask = grammar.allocate_vocab_mask(260, 3, "cpu")
    grammar.accept_token(97)
    wrapped = SimpleNamespace(fill_vocab_mask=lambda mask, row: mask[row].fill_(7))
    entries = [SimpleNamespace(grammar=g, row=i) for i, g in enumerate((grammar, other, wrapped))]
    grammar.fill_vocab_mask_batched(entries, mask)
    assert [allowed(mask[0]), allowed(mask[1]), mask[2, 0].item()] == [[98], [97], 7]
    with pytest.raises(ValueError, match="expected 'b'"):
        grammar.accept_token(99)
    grammar.accept_token(98)
    grammar.accept_token(END)
    assert grammar.is_terminated()
    grammar.accept_token(1)
    grammar.rollback(3)
    assert not grammar.is_terminated()
    grammar.fill_vocab_mask(mask, 0)
    assert allowed(mask[0]) == [97]
    logits = torch.zeros(3, 260)
    grammar.apply_vocab_mask(logits, grammar.move_vocab_mask(mask, "cpu"))
    assert torch.isfinite(logits[0]).nonzero().tolist() == [[97]]
    grammar.reset_vocab_mask(mask)
    assert (mask == -1).all()


def test_sglang_dispatches(servers: None) -> None:
    backend = loaded("sglang_backend").StackmaskBackend(Tokenizer(), 260, None, compact=True)
    for made, text in (
        (backend.dispatch_json("$$ANY$$"), b"[1]"),
        (backend.dispatch_json('{"const": 1}'), b"1"),
        (backend.dispatch_ebnf('root ::= "x"'), b"x"),
        (
            backend.dispatch_structural_tag(
                '{"type": "structural_tag", "format": {"type": "const_string", "value": "y"}}'
            ),
            b"y",
        ),
    ):
        for byte in text:
            made.accept_token(byte)
        made.accept_token(END)
        assert made.is_terminated()
    assert "undefined rule" in backend.dispatch_ebnf("root ::= nope").message
    assert "not JSON" in backend.dispatch_structural_tag("{").message


def test_sglang_requires_tools_and_needs_no_parameters_of_theirs(servers: None) -> None:
    backend = loaded("sglang_backend").StackmaskBackend(Tokenizer(), 260, None)
    structure = '{"begin": "<f>", "schema": null, "end": "</f>"}'
    for required in ("true", "false"):
        tag = f'{{"structures": [{structure}], "triggers": ["<f>"], "at_least_one": {required}}}'
        made = backend.dispatch_structural_tag(tag).guarded.matcher
        assert made.is_accepting() is (required == "false")
        assert made.accept_string('<f>{"a": 1}</f>') and made.is_accepting()
    content = '{"type": "json_schema", "json_schema": null}'
    made = backend.dispatch_structural_tag(f'{{"type": "structural_tag", "format": {content}}}')
    assert made.guarded.matcher.accept_string("[1]")


def test_futures_carry_errors_to_vllm(servers: None) -> None:
    future: Future[Any] = Future()
    try:
        vllm_backend().compile_grammar(Options.JSON, '{"type": "nope"}')
    except ValidationError as error:
        future.set_exception(error)
    assert "is not a type" in str(future.exception())


def runner_of(reasoning_parser: str = "", tokens: int = 8) -> Any:
    """Return a runner whose proposer is ours, made as vLLM makes it."""
    module = loaded("vllm_drafts")
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(backend="stackmask", reasoning_parser=reasoning_parser),
        speculative_config=SimpleNamespace(num_speculative_tokens=tokens),
        model_config=SimpleNamespace(max_model_len=100, get_vocab_size=lambda: 260),
    )
    drafter = module.GrammarProposer(config)
    module.GrammarProposer(config)  # the runner is wrapped once
    return sys.modules["vllm.v1.worker.gpu_model_runner"].GPUModelRunner(drafter)


def ready(runner: Any) -> None:
    """Wait for the grammars that are compiled beside the steps."""
    for one in runner.drafter._grammars.values():
        one.exception()


def counted(name: str) -> float:
    """Return what drafts have counted in this process."""
    return float(loaded("metrics").DRAFTS._sums.get(name, 0))


PLACE = (Options.REGEX, "(place|plain): [A-Z][a-z]+; the end of it all")


def test_vllm_drafts_follow_each_request(servers: None) -> None:
    runner = runner_of()
    runner.add("a", "go to Rome, place", key=PLACE)
    runner.add("free", "go to Rome")
    runner.add("b", "plain, to Oslo", key=PLACE)
    assert runner.step(a="p", free="x", b="p")["free"] == ""
    ready(runner)
    assert runner.step(a="l", free="x", b="l") == {"a": "ace: Rom", "free": "", "b": "ain: Osl"}
    # accepted, refused, and a part of a prompt that is not read to its end
    assert runner.step(a="ace: Romania", b="a") == {"a": "", "free": "", "b": "in: Oslo"}
    assert runner.drafter._requests["a"].follower.matcher.accept_calls == len("place: Romania")
    assert runner.step(a=";")["a"] == " the end"
    del runner.rows["a"], runner.requests["a"]
    assert runner.step(b="i")["b"] == "n: Oslo"
    for i in range(10):
        runner.requests.pop(f"short{i - 1}", None)
        runner.rows.pop(f"short{i - 1}", None)
        runner.add(f"short{i}", "x", key=PLACE)
        runner.step(**{f"short{i}": "p"})
    assert len(runner.drafter._requests) <= 2 * len(runner.requests) + 2


def test_vllm_drafts_end_where_the_text_does(servers: None) -> None:
    runner = runner_of()
    runner.add("a", "x" * 80, key=(Options.REGEX, "a{9}b{200}"))
    runner.step(a="a")
    ready(runner)
    assert runner.step(a="aaaa")["a"] == "aaaabbbb"
    assert runner.step(a="aaaabbbb") == {
        "a": "b" * 6
    }  # 93 of 100 tokens are there, and one comes with the draft
    assert runner.step(a="bbbbbb") == {"a": ""} == runner.step(a="b")
    runner.add("end", "", key=(Options.REGEX, "ab"))
    runner.step(end="a")
    ready(runner)
    runner.rows["end"].append(ord("b"))
    assert runner.step()["end"] == "" and runner.step(end="")["end"] == ""
    runner.rows["end"] += [END]
    assert runner.propose_draft_token_ids([[], [END]]) == [[], []]


def test_vllm_drafts_after_preemption_and_faults(servers: None, caplog: pytest.LogCaptureFixture) -> None:
    runner = runner_of()
    runner.add("a", "go", key=PLACE)
    runner.add("wrong", "go", key=(Options.REGEX, "(("))
    runner.add("strange", "go", key=PLACE)
    runner.step(a="p", wrong="p", strange="p")
    ready(runner)
    runner.step(a="lace: R", wrong="x", strange="l")
    runner.rows["a"] = list(b"goplac")  # what a request wrote may be dropped and written anew
    assert runner.step(a="e") == {"a": ": ", "wrong": "", "strange": ""}
    assert "request wrong" in caplog.text and counted("draft_errors") == 1
    runner.rows["strange"] += b"?"  # not of the grammar: some other backend allowed it
    assert runner.step(strange="?")["strange"] == "" == runner.step(strange="?")["strange"]
    broken = Mock(accept_calls=0, accept_token=Mock(side_effect=MemoryError))
    runner.drafter._requests["a"].follower.matcher = broken
    for _ in range(2):
        assert runner.step(a=":")["a"] == "" and caplog.text.count("request a") == 1
    # what is not of the grammar is no error; errors reach the metrics with the counts of the backend
    assert counted("draft_errors") == 2
    stats = SimpleNamespace()
    loaded("vllm_backend").StackmaskBackend.report(
        SimpleNamespace(ended={}, metrics=loaded("metrics").Metrics()),
        {0: SimpleNamespace(outputs=(), scheduler_stats=stats)},
    )
    assert vars(stats) == {"stackmask": {"draft_errors": 2}} and counted("draft_errors") == 0


def test_vllm_drafts_keep_few_grammars(servers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded("vllm_drafts"), "MAX_TEXT", 2_500)
    runner = runner_of()
    for number in range(5):
        runner.add(f"{number}", "", key=(Options.REGEX, f"a{number}{'b' * 998}"))
        runner.step(**{f"{number}": "a"})
    assert len(runner.drafter._grammars) == 2
    ready(runner)


def test_vllm_drafts_nothing_with_thoughts_or_without_a_runner(servers: None) -> None:
    runner = runner_of(reasoning_parser="qwen3")
    runner.add("a", "go", key=PLACE)
    assert runner.step(a="p") == {"a": ""} and not runner.drafter._grammars
    assert runner_of().drafter.propose([[1], []], np.zeros(2), np.zeros((2, 4))) == [[], []]
    runner.drafter.load_model(None)
