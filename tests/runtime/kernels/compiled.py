"""Compile kernels for a GPU that need not be there, and describe what came out; run as a program of its own.

Tests run kernels in Triton's interpreter, which takes more than the compiler does. A program of its own, because what
Triton does is settled when it is imported.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from stackmask.runtime.kernels.gpu import apply, output, sample

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
HOPPER = GPUTarget("cuda", 90, 32)
SAMPLE_SOURCE = {"logits_stride": "i32", "mask_ptr": "*i32", "mask_stride": "i32", "entry_ptr": "*i32"}
SAMPLE_LEFT = {
    "max_ptr": "*fp32",
    "sum_ptr": "*fp32",
    "best_ptr": "*i32",
    "count_ptr": "*i32",
    "part_ptr": "*fp32",
}
SIZES = {"tiles": "i32", "columns": "i32", "width": "i32"}


def describe(kernel: Any, types: dict[str, str], constants: dict[str, Any], warps: int) -> dict[str, Any]:
    """Compile for pointers and strides that are multiples of 16; return accesses by width, and shared memory.

    Integers that are 1 become constants when a kernel is called: that must compile as well.
    """
    ones = {name for name, kind in types.items() if kind == "i32"}
    compiled_for(
        kernel, {n: t for n, t in types.items() if n not in ones}, constants | dict.fromkeys(ones, 1), warps
    )
    compiled = compiled_for(kernel, types, constants, warps)
    accesses = re.findall(
        r"(?:ld|st)\.global(?:\.\w+)*?(?:\.v\d)?\.b\d+|cp\.async\.c\w|wgmma|mma\.sync",
        re.sub(r"\.L\d::\w+", "", compiled.asm["ptx"]),  # hints to the caches
    )
    return {
        "accesses": dict(Counter(accesses)),
        "shared": compiled.metadata.shared,
        "waits": compiled.asm["ptx"].count("griddepcontrol.wait"),
        "touches memory before": bool(
            re.search(r"(?:ld|st)\.global", compiled.asm["ptx"].partition("griddepcontrol.wait")[0])
        ),
    }


def compiled_for(kernel: Any, types: dict[str, str], constants: dict[str, Any], warps: int) -> Any:
    names = list(kernel.arg_names)
    assert set(names) == set(types) | set(constants), set(names) ^ (set(types) | set(constants))
    signature = {name: types.get(name, "constexpr") for name in names}
    even = [["tt.divisibility", 16]]
    attributes = {
        (i,): even
        for i, name in enumerate(names)
        if name in types and name.endswith(("_ptr", "_stride", "size"))
    }
    source = ASTSource(
        kernel, signature, constexprs={(names.index(n),): v for n, v in constants.items()}, attrs=attributes
    )
    return compile(source, target=HOPPER, options={"num_warps": warps, "launch_pdl": True})


def apply_kernels() -> dict[str, Any]:
    found = {}
    for name, size in (("fp32", 4), ("bf16", 2)):
        table = size == 2
        types = {"logits_ptr": f"*{name}", "logits_stride": "i32", "mask_ptr": "*i32", "mask_stride": "i32"}
        types |= {"entry_ptr": "*i32", "chosen_ptr": "*i64", "rows": "i32", **SIZES}
        constants = {"CHOSEN": table, "TABLE": table, "GROUP": 16 // size, "EVEN": not table, "BLOCK": 4096}
        constants |= {
            "INTEGER": apply._INTEGERS[size],
            "NOTHING": apply._MINUS_INF[DTYPES[name]],
            "STREAMED": table,
            "EARLY": True,
        }
        found[f"apply {name}"] = describe(apply._apply_kernel, types, constants, 8)
    return found


def sample_kernels() -> dict[str, Any]:
    found = {}
    rows = {
        "top_k_ptr": "*i32",
        "top_p_ptr": "*fp32",
        "min_p_ptr": "*fp32",
        "seed_ptr": "*i64",
        "step_ptr": "*i64",
    }
    rows |= {"list_ptr": "*fp32", "order_ptr": "*i32", "token_ptr": "*i64", "logprob_ptr": "*fp32"}
    for name, size in (("fp32", 4), ("bf16", 2)):
        types = {
            "logits_ptr": f"*{name}",
            "temperature_ptr": "*fp32",
            **SAMPLE_SOURCE,
            **SAMPLE_LEFT,
            **SIZES,
        }
        how = {"TABLE": size == 2, "GROUP": 16 // size, "EVEN": True, "BLOCK": sample.TILE, "CUT": size == 4}
        how["EARLY"] = True
        found[f"tiles {name}"] = describe(sample._tiles_kernel, types, how, sample.TILE_WARPS)
        how |= {"TILES": 128, "CHUNK": sample.CHUNK}
        warps = sample.CUT_WARPS if size == 4 else sample.ROW_WARPS
        found[f"rows {name}"] = describe(sample._rows_kernel, types | rows, how, warps)
    return found


def output_kernels() -> dict[str, Any]:
    found = {}
    masks = {"mask_ptr": "*i32", "mask_stride": "i32"}
    counts = {"rows": "i32", "vocab": "i32", "columns": "i32"}
    block = {"BLOCK": output.BLOCK}
    types = {**masks, "wanted_ptr": "*i8", "counts_ptr": "*i32", **counts}
    found["wanted"] = describe(output._wanted_kernel, types, block, 1)
    types = {"counts_ptr": "*i32", "starts_ptr": "*i32", "total_ptr": "*i32", "blocks": "i32"}
    found["start"] = describe(output._start_kernel, types, {"BLOCKS": 4096}, 16)
    types = {"wanted_ptr": "*i8", "starts_ptr": "*i32", "tokens_ptr": "*i32", "vocab": "i32"}
    found["list"] = describe(output._list_kernel, types, block, 1)
    for name, rows, depth in (("fp32", 16, 64), ("bf16", 16, 128), ("fp16", 64, 128)):
        types = {f"{what}_ptr": f"*{name}" for what in ("hidden", "weight", "logits")}
        types |= {f"{what}_stride": "i32" for what in ("hidden", "weight", "logits")}
        types |= {**masks, "tokens_ptr": "*i32", "total_ptr": "*i32", "rows": "i32", "columns": "i32"}
        types |= {"size": "i32", "programs": "i32"}
        constants = {**block, "UPCAST": False, "ROWS": rows, "DEPTH": depth}
        found[f"product {name}"] = describe(output._product_kernel, types, constants, 4)
    return found


if __name__ == "__main__":
    json.dump({**apply_kernels(), **sample_kernels(), **output_kernels()}, sys.stdout, indent=1)
