"""What SGLang needs on a CPU to verify drafts, in PyTorch: its own kernels for this are compiled, and on no index.

``install(folder)`` writes a package ``sgl_kernel`` and a plugin of SGLang, which take all from here. The plugin lets
SGLang's attention in PyTorch read draft trees. Slow, and for float32 alone.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import torch

KERNELS = """\
from sglang_cpu import (assign_extend_cache_locs_cpu, assign_req_to_token_pool_cpu, copy_all_layer_kv_cache_cpu,
                        fill_accept_out_cache_loc_cpu, verify_tree_greedy_cpu)
import torch
__version__ = "0.4.10"
library = torch.library.Library("sgl_kernel", "FRAGMENT")
library.define("init_cpu_threads_env(str cores) -> str")
library.impl("init_cpu_threads_env", lambda cores: f"threads are not bound to {cores}", "CompositeExplicitAutograd")
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    def missing(*_, **__):
        raise RuntimeError(f"sgl_kernel.{name}: only what verifies drafts in float32 is here")
    return missing
"""
LINKS = "from sglang_cpu import reconstruct_indices_from_tree_mask\n"
POINTS = "[sglang.srt.plugins]\nsglang_cpu = sglang_cpu:register\n"


def install(folder: Path) -> list[str]:
    """Write the package and the plugin; return what belongs on PYTHONPATH."""
    for name, text in {
        "sgl_kernel/__init__.py": KERNELS,
        "sgl_kernel/speculative.py": LINKS,
        "sglang_cpu-0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sglang_cpu\nVersion: 0\n",
        "sglang_cpu-0.dist-info/entry_points.txt": POINTS,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [str(folder), str(Path(__file__).parent)]


def assign_extend_cache_locs_cpu(rows: Any, table: Any, starts: Any, ends: Any, out: Any, _: int) -> None:
    """Pack the slots of each row of a table from its start to its end."""
    at = 0
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        out[at : at + end - start] = table[row, start:end].to(out.dtype)
        at += end - start


def assign_req_to_token_pool_cpu(rows: Any, table: Any, starts: Any, ends: Any, slots: Any, _: int) -> None:
    """Unpack slots into each row of a table from its start to its end."""
    at = 0
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        table[row, start:end] = slots[at : at + end - start].to(table.dtype)
        at += end - start


def copy_all_layer_kv_cache_cpu(pointers: Any, strides: Any, targets: Any, sources: Any) -> None:
    """Copy the keys and values of slots, in all layers."""
    to, of = targets.tolist(), sources.tolist()
    for base, stride in zip(pointers.tolist(), strides.tolist(), strict=True):
        rows = [ctypes.string_at(base + slot * stride, stride) for slot in of]
        for slot, row in zip(to, rows, strict=True):
            ctypes.memmove(base + slot * stride, row, stride)


def fill_accept_out_cache_loc_cpu(accept_index: Any, slots: Any, out: Any) -> None:
    """Pack the slots of accepted tokens."""
    found = slots[accept_index[accept_index != -1].long()]
    out[: len(found)] = found


def verify_tree_greedy_cpu(predicts: Any, accept_index: Any, accept_token_num: Any, **given: Any) -> None:
    """Follow each tree from its root as far as it has the likeliest tokens, and add one."""
    best = given["target_predict"].flatten().tolist()
    for row, tokens in enumerate(given["candidates"].tolist()):
        names = ("index", "next_token", "next_sibling")
        index, child, sibling = (given[f"retrive_{name}"][row].tolist() for name in names)
        path, node = [], 0
        while node != -1 and len(path) < accept_index.shape[1]:
            predicts[index[node]] = wanted = best[index[node]]
            path.append(index[node])
            node = child[node]
            while node != -1 and tokens[node] != wanted:
                node = sibling[node]
        accept_index[row, : len(path)] = torch.tensor(path, dtype=accept_index.dtype)
        accept_token_num[row] = len(path) - 1


def reconstruct_indices_from_tree_mask(
    mask: Any, lens: Any, positions: Any, index: Any, child: Any, sibling: Any, rows: int, nodes: int
) -> None:
    """Find the places and the links of the nodes of trees by their ancestors, as SGLang's kernel does."""
    for row, tree in enumerate(mask.view(rows, nodes, nodes).tolist()):
        parents = [max((k for k in range(node) if tree[node][k]), default=-1) for node in range(nodes)]
        for node in range(nodes):
            positions[row * nodes + node] = sum(tree[node][:node]) + int(lens[row])
            index[row, node] = row * nodes + node
            later = range(node + 1, nodes)
            child[row, node] = next((k for k in later if parents[k] == node), -1)
            parent = parents[node]
            sibling[row, node] = next((k for k in later if parent >= 0 and parents[k] == parent), -1)


def attend_to_trees(
    original: Any, backend: Any, q: Any, k: Any, v: Any, layer: Any, batch: Any, save_kv_cache: bool = True
) -> Any:
    """Attend to the text and to the ancestors of each draft, where drafts are verified."""
    if not batch.forward_mode.is_target_verify():
        return original(backend, q, k, v, layer, batch, save_kv_cache)
    from sglang.srt.mem_cache.memory_pool import KVWriteLoc

    pool = backend.token_to_kv_pool
    pool.set_kv_buffer(layer, KVWriteLoc(batch.out_cache_loc, backend.swa_out_cache_loc), k, v)
    rows, nodes = batch.batch_size, batch.spec_info.draft_token_num
    trees = batch.spec_info.custom_mask.view(rows, nodes, nodes)
    keys, values = pool.get_key_buffer(layer.layer_id), pool.get_value_buffer(layer.layer_id)
    queries = q.view(rows, nodes, layer.tp_q_head_num, layer.qk_head_dim)
    out = torch.empty_like(queries)
    for row, length in enumerate(batch.seq_lens.tolist()):
        slots = backend.req_to_token_pool.req_to_token[batch.req_pool_indices[row], : length + nodes]
        mask = torch.cat([torch.ones(nodes, length, dtype=torch.bool), trees[row]], 1)
        parts = (part.movedim(0, 1)[None] for part in (queries[row], keys[slots], values[slots]))
        found = torch.nn.functional.scaled_dot_product_attention(
            *parts,
            attn_mask=mask,
            scale=layer.scaling,
            enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
        )
        out[row] = found[0].movedim(0, 1)
    return out.view_as(q)


def register() -> None:
    """Let SGLang's attention in PyTorch read draft trees; the entry point of ``sglang.srt.plugins``.

    With NGRAM_ALONE in the environment, nothing is drafted by grammars.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    name = "sglang.srt.layers.attention.torch_native_backend.TorchNativeAttnBackend.forward_extend"
    HookRegistry.register(name, attend_to_trees, HookType.AROUND)
    if os.environ.get("NGRAM_ALONE"):
        from stackmask.runtime.serving.sglang_backend import StackmaskGrammar

        StackmaskGrammar.draft = lambda *_: ()  # type: ignore[method-assign]
