"""The adapter of SGLang among SGLang's real classes: trees of drafts, and models that think first."""

from __future__ import annotations

import importlib
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

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
    )
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
    server.drafts.fill_trees_natively()
    server.drafts.fill_trees_natively()
    backend = make_backend(server, monkeypatch)
    ours, other = compiled(backend, GRAMMARS[0]), SimpleNamespace()
    tree = [values.expand(3, -1) for values in map(torch.tensor, ([1, 2, -1], [-1, -1, -1], [0, *b"ab"]))]
    requests = [SimpleNamespace(grammar=grammar) for grammar in (ours, None, other)]
    mask, _ = server.spec.generate_token_bitmask(requests, *tree, SIZE)
    assert [bool((row == -1).all()) for row in mask] == [False, False, False, *[True] * 6]
    assert [given[3] for given in calls] == [other]
    server.drafts.HookRegistry.reset()


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
