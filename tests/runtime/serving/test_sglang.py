"""The adapter of SGLang among SGLang's real classes: trees of drafts, and models that think first."""

from __future__ import annotations

import importlib
import random
import sys
import warnings
import zlib
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import stackmask as sm

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the server's
    pytest.importorskip("sglang.srt.constrained.base_grammar_backend", exc_type=ImportError)

END, THINK_END, CALL, SIZE = 256, 257, 258, 290  # the logits are wider than the vocabulary
GRAMMARS = (
    ("regex", "(ab|a[0-9]{2,3}c?)*"),
    ("regex", "[ab]{0,3}"),
    ("json", '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'),
    ("ebnf", 'root ::= "a" root "b" | "ab" | "1"'),
)


class Tokenizer:
    """Spells a mark of the model with a token of its own."""

    vocab = ("</think>", "<tool_call>", "<|im_end|>")

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return {"</think>": [THINK_END], "<|im_end|>": [END], "<|endoftext|>": [END]}.get(text, [CALL])

    def decode(self, tokens: Sequence[int], **_: Any) -> str:
        return bytes(t for t in tokens if t < 256).decode(errors="replace")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Make the parts of the adapter anew, with SGLang's classes."""
    names = [f"sglang_{part}" for part in ("backend", "drafts", "reasoning", "plugin")]
    vocabulary = sm.Vocabulary(
        [*(bytes([i]) for i in range(256)), None, None, None],
        stop_ids=[END],
        special_ids=[THINK_END, CALL],
        size=SIZE,
    ).with_encoder(lambda text: list(text.encode()))
    monkeypatch.setattr(sm.Vocabulary, "from_huggingface", lambda *_, **__: vocabulary)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name[7:]: importlib.import_module(f"stackmask.runtime.serving.{name}") for name in names}
        found["spec"] = importlib.import_module("sglang.srt.speculative.spec_utils")
    yield SimpleNamespace(**found, walk=vars(found["spec"])["traverse_tree"])
    for name in names:
        sys.modules.pop(f"stackmask.runtime.serving.{name}", None)


def make_backend(server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, **serving: Any) -> Any:
    given = {
        "constrained_json_disable_any_whitespace": False,
        "reasoning_parser": None,
        "enable_strict_thinking": False,
        **serving,
    }
    monkeypatch.setattr("sglang.srt.runtime_context.get_serving", lambda: SimpleNamespace(**given))
    return server.plugin.make_backend(SimpleNamespace(), Tokenizer(), SIZE, {END})


def compiled(backend: Any, key: tuple[str, str], thinks: bool = False) -> Any:
    return backend._init_value_dispatch(key, thinks)


def random_tree(rng: random.Random, nodes: int, likely: Sequence[int]) -> tuple[Any, Any, Any]:
    """Return first children, next siblings and tokens; a parent may have a greater number than its children."""
    names = [0, *rng.sample(range(1, nodes), nodes - 1)]
    children, siblings = [-1] * nodes, [-1] * nodes
    for place in range(1, nodes):
        parent, node = names[rng.randrange(max(0, place - 3), place)], names[place]
        siblings[node], children[parent] = children[parent], node
    tokens = [rng.choice(likely) for _ in range(nodes)]
    return tuple(torch.tensor(values, dtype=torch.int64) for values in (children, siblings, tokens))


def paths(tree: tuple[Any, Any, Any]) -> list[list[int]]:
    """Return the tokens from the root to each node."""
    children, siblings, tokens = (values.tolist() for values in tree)
    found: list[list[int]] = [[] for _ in tokens]
    work = [0]
    while work:
        node = work.pop()
        child = children[node]
        while child != -1:
            found[child] = [*found[node], tokens[child]]
            work.append(child)
            child = siblings[child]
    return found


LIKELY = [*b'ab01cab01{"a":}', END, END, 7, SIZE - 1, SIZE, SIZE + 500]


@pytest.mark.parametrize("key", GRAMMARS)
def test_masks_of_trees_are_those_of_the_servers_walk_and_of_fresh_matchers(
    server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, key: tuple[str, str]
) -> None:
    backend = make_backend(server, monkeypatch)
    rng = random.Random(5)
    reached = 0
    for _ in range(200):
        grammar = compiled(backend, key)
        prefix = []
        for token in rng.choices(LIKELY, k=rng.randrange(9)):
            if grammar.guarded.valid_prefix([token]):
                grammar.accept_token(token)
                prefix.append(token)
        tree = random_tree(rng, rng.randrange(1, 18), LIKELY)
        nodes = len(tree[0])
        masks = [grammar.allocate_vocab_mask(SIZE, nodes, "cpu") for _ in range(3)]
        server.walk(*tree, grammar, masks[0], SIZE)
        server.drafts.fill_tree(server.walk, *tree, grammar, masks[1], vocab_size=SIZE)
        for node, path in enumerate(paths(tree)):
            fresh = grammar.copy()
            tokens = [*prefix, *path]
            if all(token < SIZE for token in path) and fresh.guarded.valid_prefix(tokens) == tokens:
                for token in tokens:
                    fresh.accept_token(token)
                if not fresh.is_terminated():
                    fresh.fill_vocab_mask(masks[2], node)
                    reached += node > 0
        assert torch.equal(masks[0], masks[1])
        assert torch.equal(masks[2], masks[1])
    assert reached > 20


def test_the_servers_masks_come_from_the_hook(
    server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(server.spec, "traverse_tree", lambda *given, **_: calls.append(given))
    server.drafts.HookRegistry.reset()
    server.drafts.wrap_trees(drafts=False)
    server.drafts.wrap_trees(drafts=False)
    backend = make_backend(server, monkeypatch)
    ours, other = compiled(backend, GRAMMARS[0]), SimpleNamespace()
    tree = [values.expand(3, -1) for values in map(torch.tensor, ([1, 2, -1], [-1, -1, -1], [0, *b"ab"]))]
    requests = [SimpleNamespace(grammar=grammar) for grammar in (ours, None, other)]
    mask, _ = server.spec.generate_token_bitmask(requests, *tree, SIZE)
    assert [bool((row == -1).all()) for row in mask] == [False, False, False, *[True] * 6]
    assert [given[3] for given in calls] == [other]
    server.drafts.HookRegistry.reset()
    wrapped: list[bool] = []
    monkeypatch.setattr(server.drafts, "wrap_trees", wrapped.append)
    for algorithm, ranks in (("ngram", 1), ("ngram", 2), ("eagle", 1)):
        arguments = SimpleNamespace(speculative_algorithm=algorithm, tp_size=ranks)
        server.plugin.make_backend(arguments, Tokenizer(), SIZE, {END})
    assert wrapped == [True, False, False]


def test_trees_in_which_thoughts_end(server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = make_backend(server, monkeypatch, reasoning_parser="qwen3", enable_strict_thinking=True)
    rng = random.Random(6)
    for _ in range(60):
        grammar = compiled(backend, rng.choice(GRAMMARS[:2]), True)
        for token in rng.choice(([], [5, 6], [5, THINK_END], [THINK_END, *b"ab"])):
            grammar.accept_token(token)
        tree = random_tree(rng, 14, [*LIKELY, *[THINK_END] * 9])
        state = [dict(vars(grammar)), grammar.grammar.guarded.matcher.accept_calls]
        masks = [grammar.allocate_vocab_mask(SIZE, 14, "cpu") for _ in range(2)]
        server.walk(*tree, grammar, masks[0], SIZE)
        server.drafts.fill_tree(server.walk, *tree, grammar, masks[1], SIZE)
        assert torch.equal(masks[0], masks[1])
        after = [{**vars(grammar), "current_token": state[0]["current_token"]}]
        assert [*after, grammar.grammar.guarded.matcher.accept_calls] == state


def test_a_tree_whose_masks_fail_ends_its_request_alone(
    server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make_backend(server, monkeypatch, reasoning_parser="qwen3")
    tree = [torch.tensor(values) for values in ([1, 2, 3, -1], [-1] * 4, [0, END, END, 97])]
    for thinks in (False, True):
        grammar = compiled(backend, GRAMMARS[0], thinks)
        grammar.grammar.guarded.fail(MemoryError("no more"))
        if thinks:
            tree[2] = torch.tensor([0, THINK_END, END, 97])
        mask = grammar.allocate_vocab_mask(SIZE, 4, "cpu")
        server.drafts.fill_tree(server.walk, *tree, grammar, mask, SIZE)
        assert allowed(mask[1 if thinks else 0]) == [END]
        if not thinks:
            with pytest.raises(ValueError, match="no more"):
                grammar.accept_token(END)


def allowed(row: Any) -> list[int]:
    return [i for i in range(SIZE) if row[i >> 5].item() >> (i & 31) & 1]


def test_thoughts_are_kept_in_bounds(server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_MAX_THINK_TOKENS", "2")
    backend = make_backend(server, monkeypatch, reasoning_parser="qwen3", enable_strict_thinking=True)
    free = backend.init_strict_reasoning_grammar(True)
    bound = compiled(backend, ("regex", "a{2}"), True).copy()
    answers = compiled(backend, ("regex", "a{2}"), False)
    row = bound.allocate_vocab_mask(SIZE, 1, "cpu")

    def mask(grammar: Any) -> list[int]:
        row.fill_(-1)
        grammar.fill_vocab_mask(row, 0)
        return allowed(row[0])

    for grammar in (free, bound):
        assert mask(grammar) == [i for i in range(SIZE) if i not in (END, CALL)]
        grammar.accept_token(5)
        grammar.accept_token(6)
        assert mask(grammar) == [THINK_END]
        grammar.accept_token(THINK_END)
    assert (mask(free), mask(bound), mask(answers)) == ([*range(SIZE)], [97], [97])
    logits = torch.zeros(1, SIZE)
    mask(bound)
    bound.apply_vocab_mask(logits=logits, vocab_mask=bound.move_vocab_mask(row, "cpu"))
    free.apply_vocab_mask(logits=logits, vocab_mask=free.move_vocab_mask(row, "cpu"))
    assert torch.isfinite(logits[0]).nonzero().tolist() == [[97]]
    bound.rollback(1)
    assert mask(bound) == [THINK_END]


def test_filters_are_those_of_the_server(server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    filters = pytest.importorskip("sglang.srt.constrained.torch_ops.token_filter_torch_ops")
    rng = random.Random(7)
    for _ in range(40):
        tokens = rng.choices(range(SIZE), k=rng.randrange(8))
        masks = [torch.full((2, 10), rng.randrange(-(1 << 31), 1 << 31), dtype=torch.int32)]
        masks.append(masks[0].clone())
        options = {"is_allowed": rng.random() < 0.5, "reset_vocab_mask": rng.random() < 0.5}
        server.backend.StackmaskBackend.set_token_filter(masks[0], tokens, 1, **options)
        filters.set_token_filter_torch(masks[1], tokens, 1, **options)
        assert torch.equal(*masks)


def test_a_step_with_thoughts_is_filled_as_row_by_row(
    server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make_backend(server, monkeypatch, reasoning_parser="qwen3", enable_strict_thinking=True)
    rng = random.Random(8)
    grammars = [compiled(backend, rng.choice(GRAMMARS), True).copy() for _ in range(12)]
    for grammar in grammars:
        for token in rng.choice(([], [5], [THINK_END], [5, THINK_END])):
            grammar.accept_token(token)
    rows = rng.sample(range(16), 12)
    entries = [SimpleNamespace(grammar=grammar, row=row) for grammar, row in zip(grammars, rows, strict=True)]
    batched, serial = (grammars[0].allocate_vocab_mask(SIZE, 16, "cpu") for _ in range(2))
    calls = []
    native = server.backend.fill_batch
    monkeypatch.setattr(server.backend, "fill_batch", lambda *given: calls.append(native(*given)))
    grammars[0].fill_vocab_mask_batched(entries, batched)
    for entry in entries:
        entry.grammar.fill_vocab_mask(serial, entry.row)
    assert torch.equal(batched, serial) and len(calls) == 1


def test_a_server_without_a_reasoning_parser_has_the_backend_itself(
    server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert type(make_backend(server, monkeypatch)) is server.backend.StackmaskBackend
    monkeypatch.setattr(Tokenizer, "encode", lambda *_, **__: [])
    backend = make_backend(server, monkeypatch, reasoning_parser="qwen3")
    assert type(backend) is server.backend.StackmaskBackend


def test_counts_are_among_the_metrics_of_the_server(
    server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = importlib.import_module("prometheus_client").REGISTRY

    def shown(name: str, **labels: str) -> float:
        return registry.get_sample_value(f"stackmask:{name}_total", labels) or 0.0

    monkeypatch.setattr(
        "sglang.srt.runtime_context.get_serving",
        lambda: SimpleNamespace(
            constrained_json_disable_any_whitespace=False, reasoning_parser=None, enable_strict_thinking=False
        ),
    )
    for is_shown in (False, True):
        before = shown("compiles"), shown("mask_seconds"), shown("refusals", limit="none")
        arguments = SimpleNamespace(enable_metrics=is_shown)
        backend = server.plugin.make_backend(arguments, Tokenizer(), SIZE, {END})
        grammar = compiled(backend, GRAMMARS[1])
        mask = grammar.allocate_vocab_mask(SIZE, 1, "cpu")
        grammar.fill_vocab_mask_batched([SimpleNamespace(grammar=grammar, row=0)], mask)
        compiled(backend, ("regex", "[a"))
        assert shown("compiles") == before[0] + is_shown
        assert (shown("mask_seconds") > before[1]) is is_shown
        assert shown("refusals", limit="none") == before[2] + is_shown
    # what met a limit says so where the server takes the reason of a failed request from
    grammar.guarded.fail(sm.BudgetError("max_work", 7, "work"))
    grammar.fill_vocab_mask(mask, 0)
    assert shown("refusals", limit="max_work") == 1
    with pytest.raises(ValueError, match="max_work"):
        grammar.accept_token(END)


NODES = 9
PLACE = ("regex", "(place|plain): [A-Z][a-z]+; the end of it all")
OBJECT = '{"type": "object", "properties": {"%s": {"enum": ["one", "other"]}}, "required": ["%s"]}'
PROMPTS = (  # what is asked, under which grammar, and what the model would like to answer
    ("go to Rome, place", PLACE, "place: Rome; the end of it all"),
    ("plain, to Oslo", PLACE, "plain: Bergen; the end of it all"),
    ("the name", ("json", OBJECT.replace("%s", "name")), '{"name": "other"}'),
    ("anything", None, "anything at all, and more of it"),
    ("the code", ("regex", "[a-z]{1,8}-[0-9]{4}"), "code-1234"),
)


def logits_after(text: Sequence[int], liked: Sequence[int], seed: int) -> Any:
    """Stands for a model: what it likes comes next if all before it is there, else anything."""
    chance = torch.Generator().manual_seed(zlib.crc32(repr((seed, *text)).encode()))
    logits = torch.randn(SIZE, generator=chance)
    if len(text) < len(liked) and list(liked[: len(text)]) == list(text):
        logits[liked[len(text)]] += random.Random(seed + len(text)).choice((3, 9, 9))
    return logits


class Corpus:
    """Stands for SGLang's store of n-grams: a tree of guesses, which is one node with others beside and after it."""

    def __init__(self, **_: Any) -> None:
        self.erase_match_state = self.batch_put = lambda _: None
        self.synchronize = lambda: None

    def batch_get(self, ids: list[str], texts: list[list[int]], _: list[int]) -> tuple[Any, Any]:
        numpy = importlib.import_module("numpy")
        tree = numpy.eye(NODES, dtype=numpy.int64)
        tree[:, 0] = 1
        tree[4:, 3] = 1
        tokens = [[text[-1], *range(97, 97 + NODES - 1)] for text in texts]
        return numpy.array(tokens).ravel(), numpy.tile(tree, (len(ids), 1, 1)).ravel()


def verify_greedily(predicts: Any, accept_index: Any, accept_token_num: Any, **given: Any) -> tuple[Any, ...]:
    """Stands for SGLang's kernel, which is compiled for each kind of device: follow a tree as far as it has what is chosen."""
    chosen = given["target_predict"].flatten().tolist()
    for row, tokens in enumerate(given["candidates"].tolist()):
        index, child, sibling = (
            given[f"retrieve_{name}"][row].tolist() for name in ("index", "next_token", "next_sibling")
        )
        path, node = [], 0
        while node != -1:
            predicts[index[node]] = chosen[index[node]]
            path.append(index[node])
            best, node = chosen[index[node]], child[node]
            while node != -1 and tokens[node] != best:
                node = sibling[node]
        accept_index[row, : len(path)] = torch.tensor(path, dtype=torch.int32)
        accept_token_num[row] = len(path) - 1
    return predicts, accept_index, accept_token_num


def link(
    links: Any, mask: Any, lens: Any, positions: Any, index: Any, child: Any, sibling: Any, *_: Any
) -> None:
    """Stands for SGLang's kernel: the links of trees, by what SGLang does on the host, and the places of their tokens."""
    rows = len(lens)
    trees = mask.view(rows, NODES, NODES)
    child[:], sibling[:] = links(trees.numpy(), rows, NODES)
    index[:] = torch.arange(rows * NODES).view(rows, NODES)
    positions[:] = (trees.sum(2) - 1 + lens[:, None]).ravel()


class Target:
    """Stands for the model and its runner. ``steps``: how often it was called."""

    def __init__(self, liked: dict[str, list[int]], seed: int) -> None:
        self.model_runner = SimpleNamespace(max_running_requests=8, watermark_state=None)
        self.liked, self.seed, self.steps = liked, seed, 0

    def get_memory_pool(self) -> tuple[None, Any]:
        return None, SimpleNamespace()

    def forward_batch_generation(self, batch: Any, **_: Any) -> SimpleNamespace:
        self.steps += 1
        spec, rows = batch.spec_info, []
        trees = spec.custom_mask.view(len(batch.reqs), NODES, NODES).tolist()
        for k, request in enumerate(batch.reqs):
            tokens = spec.draft_token[k * NODES : (k + 1) * NODES].tolist()
            for node in range(NODES):
                path = [token for token, above in zip(tokens, trees[k][node], strict=True) if above]
                text = [*request.output_ids[:-1], *path]
                rows.append(logits_after(text, self.liked[request.rid], self.seed))
        logits = SimpleNamespace(next_token_logits=torch.stack(rows))
        return SimpleNamespace(logits_output=logits, can_run_cuda_graph=False)


@pytest.fixture
def ngram(server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Any:
    """SGLang's worker of the algorithm NGRAM, with stand-ins of its kernels, under our hook."""
    pytest.importorskip("sgl_kernel")
    if "sgl_kernel.speculative" not in sys.modules:
        kernels = ModuleType("sgl_kernel.speculative")
        vars(kernels)["reconstruct_indices_from_tree_mask"] = None
        monkeypatch.setitem(sys.modules, "sgl_kernel.speculative", kernels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        worker = importlib.import_module("sglang.srt.speculative.ngram_worker")
    spec = SimpleNamespace(speculative_num_draft_tokens=NODES, speculative_ngram_max_trie_depth=18)
    for name in (
        "eagle_topk", "num_steps", "ngram_min_bfs_breadth", "ngram_max_bfs_breadth", "ngram_match_type", "ngram_capacity",
        "ngram_external_sam_budget", "ngram_external_corpus_max_tokens", "ngram_external_corpus_path", "use_rejection_sampling",
    ):  # fmt: skip
        setattr(spec, f"speculative_{name}", None)
    for name, value in {
        "_is_cpu": True,
        "NgramCorpus": Corpus,
        "get_spec": lambda: spec,
        "get_schedule": lambda: SimpleNamespace(disable_overlap_schedule=True, page_size=1),
        "get_device": lambda: SimpleNamespace(device="cpu"),
        "reconstruct_indices_from_tree_mask_func": partial(link, worker._derive_tree_links),
    }.items():
        monkeypatch.setattr(worker, name, value)
    for name in (  # what is in the memory of the device
        "assign_extend_cache_locs_func", "prepare_mamba_track_for_verify", "commit_mamba_states_after_verify",
        "move_accept_tokens_to_target_kvcache", "set_time_batch",
    ):  # fmt: skip
        monkeypatch.setattr(worker, name, lambda *_, **__: None)
    monkeypatch.setattr("sglang.srt.speculative.eagle_utils.verify_tree_greedy_func", verify_greedily)
    monkeypatch.setattr("sglang.srt.speculative.eagle_utils.get_spec", lambda: spec)
    for place, name in ((server.spec, "traverse_tree"), (worker.NGRAMWorker, "_prepare_draft_tokens")):
        monkeypatch.setattr(place, name, getattr(place, name))  # to be restored
    server.drafts.HookRegistry.reset()
    server.drafts.wrap_trees(drafts=True)
    yield worker
    server.drafts.HookRegistry.reset()


def requests_of(backend: Any, thinks: bool = False) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(
            rid=prompt,
            grammar=None if key is None else compiled(backend, key, thinks),
            origin_input_ids_unpadded=array("q", list(prompt.encode())),
            output_ids=array("q"),
            is_retracted=False,
            to_finish=None,
            finished=lambda: False,
        )
        for prompt, key, _ in PROMPTS
    ]


def write_alone(request: SimpleNamespace, liked: Sequence[int], seed: int, most: int) -> list[int]:
    """Return what is written without drafts."""
    while len(request.output_ids) < most and not (request.grammar and request.grammar.is_terminated()):
        logits = logits_after(request.output_ids, liked, seed)
        if request.grammar is not None:
            row = request.grammar.allocate_vocab_mask(SIZE, 1, "cpu")
            request.grammar.fill_vocab_mask(row, 0)
            possible = allowed(row[0])
            logits = torch.full((SIZE,), -torch.inf).index_put((torch.tensor(possible),), logits[possible])
        request.output_ids.append(int(logits.argmax()))
        if request.grammar is not None:
            request.grammar.accept_token(request.output_ids[-1])
    return request.output_ids.tolist()


def run_step(worker: Any, requests: Sequence[Any]) -> None:
    """Let the worker write a step of requests that have begun, and their grammars follow as in SGLang's scheduler."""
    processing = importlib.import_module("sglang.srt.managers.scheduler_components.batch_result_processor")
    process = processing.SchedulerBatchResultProcessor
    sampling = dict.fromkeys(
        ("acc_additive_penalties", "acc_scaling_penalties", "logit_bias", "has_watermark_candidates")
    )
    lens = [len(r.origin_input_ids_unpadded) + len(r.output_ids) - 1 for r in requests]
    batch = SimpleNamespace(
        reqs=requests,
        forward_mode=importlib.import_module(
            "sglang.srt.model_executor.forward_batch_info"
        ).ForwardMode.DECODE,
        seq_lens=torch.tensor(lens),
        has_grammar=any(request.grammar for request in requests),
        grammar_needs_sync=lambda: True,
        sampling_info=SimpleNamespace(vocab_size=SIZE, is_all_greedy=True, grammar_mask=None, **sampling),
        req_to_token_pool=SimpleNamespace(req_to_token=None),
        device="cpu",
        **dict.fromkeys(("spec_info", "req_pool_indices", "input_ids", "out_cache_loc", "return_logprob")),
    )
    result = worker.forward_batch_generation(batch)
    accept = SimpleNamespace(_accept_grammar_tokens=partial(process._accept_grammar_tokens, None))
    process.advance_grammar_fsm(accept, result, batch)
    for row, request in enumerate(requests):
        written = result.next_token_ids[row * NODES :][: result.accept_lens[row]].tolist()
        kept = result.grammar_retained_tokens[row] if request.grammar is not None else written
        assert kept == written[: len(kept)] and not request.to_finish
        request.output_ids.extend(kept)


def write_with_drafts(ngram: Any, requests: Sequence[Any], seed: int) -> int:
    """Write all requests in one batch, from their first tokens on; return the steps."""
    target = Target(LIKED, seed)
    worker = ngram.NGRAMWorker(None, 0, 0, target)
    worker.alloc_memory_pool()
    for request in requests:
        write_alone(request, LIKED[request.rid], seed, 1)
    while live := [
        r for r in requests if len(r.output_ids) < MOST and not (r.grammar and r.grammar.is_terminated())
    ]:
        run_step(worker, live)
    return target.steps


LIKED = {prompt: [*answer.encode(), END] for prompt, _, answer in PROMPTS}
MOST = 40  # tokens of an output


@pytest.mark.parametrize("seed", range(2))
def test_drafts_by_the_grammar_are_verified_and_change_no_output(
    server: SimpleNamespace, ngram: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    backend = make_backend(server, monkeypatch)
    wanted = [write_alone(request, LIKED[request.rid], seed, MOST) for request in requests_of(backend)]
    assert sum(tokens[-1] == END for tokens in wanted) >= 3
    steps: list[int] = []
    for drafts in (False, True):
        requests = requests_of(backend)
        with monkeypatch.context() as patch:
            if not drafts:
                patch.setattr(server.backend.StackmaskGrammar, "draft", lambda *_: ())
            steps.append(write_with_drafts(ngram, requests[:3], seed))
            write_with_drafts(ngram, requests[3:], seed)
        assert [request.output_ids.tolist()[:MOST] for request in requests] == wanted
        followers = [request.grammar.follower for request in requests if request.grammar]
        assert [follower is not None for follower in followers] == [drafts] * 4
    assert steps[1] < steps[0] - 8


def test_drafts_that_fail_end_alone(
    server: SimpleNamespace, ngram: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backend = make_backend(server, monkeypatch)
    wanted = [write_alone(request, LIKED[request.rid], 0, MOST) for request in requests_of(backend)]
    requests = requests_of(backend)
    follow = server.backend.Follower

    def broken(compiled: Any, prompt: Any) -> Any:
        made = follow(compiled, prompt)
        if bytes(prompt.tolist()) == b"plain, to Oslo":
            spent = sm.BudgetError("max_work", 7, "work")
            made.matcher = Mock(accept_calls=0, accept_token=Mock(side_effect=spent))
        if bytes(prompt.tolist()) == b"the name":
            raise MemoryError("no more")
        return made

    monkeypatch.setattr(server.backend, "Follower", broken)
    write_with_drafts(ngram, requests, 0)
    assert [request.output_ids.tolist()[:MOST] for request in requests] == wanted
    assert caplog.text.count("no more drafts for request") == 2
    assert backend.counts.metrics.take()["draft_errors"] == 2


def test_trees_with_drafts_are_chains(
    server: SimpleNamespace, ngram: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make_backend(server, monkeypatch, reasoning_parser="qwen3")
    thinking, free, *_, short = requests_of(backend, True)
    free.grammar = SimpleNamespace()  # of another backend
    for request, tokens in ((thinking, [5]), (free, [5]), (short, [5, THINK_END, *b"code-"])):
        request.output_ids.extend(tokens)
        for token in tokens if request is not free else ():
            request.grammar.accept_token(token)
    other = compiled(backend, ("regex", "code-12")).grammar
    short.grammar.grammar.compiled = other.compiled  # of the matcher of drafts
    worker = SimpleNamespace(draft_token_num=NODES)
    batch = SimpleNamespace(reqs=[thinking, free, short])

    def look_up(*_: Any) -> Any:
        return Corpus().batch_get(["", "", ""], [[5], [5], [45]], [])

    before, after = look_up(), server.drafts.draft_trees(look_up, worker, batch)
    two = 2 * NODES
    assert all(
        (now[: two * size] == then[: two * size]).all()
        for now, then, size in zip(after, before, (1, NODES), strict=True)
    )
    assert after[0][two:].tolist() == [*b"-12", *[0] * 6]
    child, sibling = ngram._derive_tree_links(after[1], 3, NODES)
    assert child[2].tolist() == [1, 2, *[-1] * 7] and sibling[2].tolist() == [-1] * NODES
    # after the thoughts; a text that has ended; one that the matcher of drafts refuses
    thinking.output_ids.extend([THINK_END, *b"pl"])
    for token in (THINK_END, *b"pl"):
        thinking.grammar.accept_token(token)
    short.output_ids.extend(b"3")
    short.grammar.accept_token(ord("3"))
    after = server.drafts.draft_trees(look_up, worker, batch)
    assert bytes(after[0][1:NODES].tolist()) == b"ace: Rom" and after[0][two + 1] == 97
    assert not short.grammar.grammar.is_drafted
    for token in (*b"ace: Rome; the end of it all", END):
        thinking.grammar.accept_token(token)
        thinking.output_ids.append(token)
    after = server.drafts.draft_trees(look_up, worker, batch)
    assert all((now == then).all() for now, then in zip(after, before, strict=True))


def test_drafts_that_come_true_more_often_are_used(
    server: SimpleNamespace, ngram: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make_backend(server, monkeypatch)
    wanted = [write_alone(request, LIKED[request.rid], 1, MOST) for request in requests_of(backend)]
    outputs = dict(zip(LIKED, wanted, strict=True))

    def remember(_: Any, ids: list[str], texts: list[list[int]], lengths: list[int]) -> tuple[Any, Any]:
        numpy = importlib.import_module("numpy")
        rows = []
        for name, text, length in zip(ids, texts, lengths, strict=True):
            rest = outputs[name][length - len(name) :][: NODES - 1]
            rows.append([text[-1], *rest, *[0] * (NODES - 1 - len(rest))])
        chain = numpy.tri(NODES, dtype=numpy.int64)
        return numpy.array(rows).ravel(), numpy.tile(chain, (len(ids), 1, 1)).ravel()

    steps = []
    for is_known in (False, True):
        with monkeypatch.context() as patch:
            if is_known:
                patch.setattr(Corpus, "batch_get", remember)
                backend.counts.of_trees = [0.0, 0.0]
            requests = requests_of(backend)[:3]
            steps.append([write_with_drafts(ngram, [request], 1) for request in requests])
        assert [request.output_ids.tolist()[:MOST] for request in requests] == wanted[:3]
    assert steps[1][2] == -(-(len(wanted[2]) - 1) // NODES)  # as few as there can be
    assert sum(steps[1]) < sum(steps[0])
    ours, others = backend.counts.of_trees
    assert others > ours


def test_tokens_that_come_of_a_tree() -> None:
    from stackmask.runtime.serving.sglang_drafts import tokens_of

    numpy = importlib.import_module("numpy")
    rng = random.Random(9)
    found = set()
    for _ in range(300):
        parents = [-1]
        tokens = [0]
        for node in range(1, NODES):
            parent = rng.randrange(node)
            known = {token for token, above in zip(tokens, parents, strict=True) if above == parent}
            parents.append(parent)
            tokens.append(rng.choice([token for token in range(12) if token not in known]))
        tree, texts = numpy.eye(NODES, dtype=numpy.int64), {(): 0}
        for node in range(1, NODES):
            tree[node] += tree[parents[node]]
            texts[tuple(tokens[k] for k in range(1, node + 1) if tree[node, k])] = node
        came = [*rng.choice(list(texts)), *rng.choices(range(12), k=rng.randrange(3))]
        longest = max(k for k in range(len(came) + 1) if tuple(came[:k]) in texts)
        assert tokens_of((numpy.array(tokens), tree), came) == longest
        found.add(longest)
    assert {0, 1, 2, 3, 4} <= found
