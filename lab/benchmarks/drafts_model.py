"""Train a tiny Llama on recorded tool calls, and let it write the calls of turns that it has not seen, with drafts and without.

    python lab/benchmarks/drafts_model.py --bfcl PATH_TO_bfcl_eval/data --model FOLDER --minutes 12      train
    VLLM_TARGET_DEVICE=cpu python lab/benchmarks/drafts_model.py --bfcl … --model FOLDER --vllm on      measure vLLM (off first; or ngram)
    VLLM_TARGET_DEVICE=cpu python lab/benchmarks/drafts_model.py --law 100000 --model FOLDER --vllm on  count outputs of a table model
    python lab/benchmarks/drafts_model.py --bfcl … --model FOLDER --sglang on      measure SGLang (or off, ngram)

A prompt names the tools with their arguments, and then has the question. Every tenth turn is held out. ``--law`` draws from a
model that has a table of nine tokens, and compares how often each output came with its exact probability.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from drafts import SETS, SOURCES, Turn, conversations, in_order, single_turns, written
from pack import load_tokenizer
from record import DATA, path_of, use_checkout, write_result

WIDTH, LAYERS, BATCH, LONGEST = 192, 4, 16, 320
HELD_OUT = 10  # one turn in so many
MOST = 160  # tokens of an answer
LAW, LAW_PROMPT = "a=[abc]{2};(b=[abc]{1,2};)?z", "a=ab;b=ca;za=cb;z"
PROPOSER = "stackmask.runtime.serving.vllm_drafts.GrammarProposer"


def turns_of(data: Path) -> list[Turn]:
    found = []
    for name in SETS:
        for turn in (conversations if name.startswith("multi_turn") else single_turns)(data, name):
            calls = [in_order(call, turn.tools) for call in turn.calls]
            if calls and None not in calls:
                found.append(turn._replace(calls=calls, prompt=prompt_of(turn)))
    random.Random(11).shuffle(found)
    return found


def prompt_of(turn: Turn) -> str:
    """Return a prompt that a tiny model can read: the tools by name, and the question."""
    tools = [
        f"{t['function']['name']}({', '.join(t['function']['parameters'].get('properties', ()))})"
        for t in turn.tools[:8]
    ]
    question = turn.prompt.rpartition("<|user|>\n")[2].removesuffix("<|assistant|>\n")
    return "\n".join(tools) + "\n" + question[-600:]


def answer_of(turn: Turn) -> str:
    return "\n".join(written(call) for call in turn.calls)


def train(folder: Path, turns: list[Turn], minutes: float) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = load_tokenizer(DATA / "tokenizers" / "gpt2-50k")
    tokenizer.eos_token = tokenizer.pad_token = "<|endoftext|>"
    stop = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    texts = []
    for turn in turns:
        prompt = tokenizer(turn.prompt)["input_ids"]
        answer = [*tokenizer(answer_of(turn))["input_ids"], stop]
        if len(answer) <= MOST:
            texts.append((prompt[-(LONGEST - len(answer)) :], answer))
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=1024, eos_token_id=stop, bos_token_id=stop, pad_token_id=stop, tie_word_embeddings=True,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    rng, end, steps = random.Random(2), time.thread_time() + 60 * minutes, 0
    while time.thread_time() < end:
        some = rng.sample(texts, BATCH)
        longest = max(len(p) + len(a) for p, a in some)
        ids = torch.tensor([[*p, *a] + [stop] * (longest - len(p) - len(a)) for p, a in some])
        # the loss is that of the answers: the widest layer reads their places alone
        places = [(i, k) for i, (p, a) in enumerate(some) for k in range(len(p) - 1, len(p) + len(a) - 1)]
        rows, columns = map(list, zip(*places, strict=True))
        hidden = model.model(ids).last_hidden_state[rows, columns]
        wanted = ids[rows, [column + 1 for column in columns]]
        loss = torch.nn.functional.cross_entropy(model.lm_head(hidden), wanted)
        for group in optimizer.param_groups:
            group["lr"] = (
                1e-3 * min(1, (steps + 1) / 50) * max(0.05, (end - time.thread_time()) / (60 * minutes))
            )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps += 1
        if steps % 50 == 0:
            print(steps, round(float(loss), 3), flush=True)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(str(folder))


def vllm_engine(folder: Path, mode: str, **options: Any) -> Any:
    """Start vLLM in this process, with the drafts of a mode."""
    os.environ |= {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    }
    from stackmask.runtime.serving import vllm_plugin

    vllm_plugin.register()
    from vllm import LLM

    ways: dict[str, Any] = {
        "on": {"method": "custom_class", "model": PROPOSER, "num_speculative_tokens": 8},
        "ngram": {
            "method": "ngram",
            "num_speculative_tokens": 8,
            "prompt_lookup_max": 3,
            "prompt_lookup_min": 1,
        },
    }
    drafts = {"speculative_config": ways[mode]} if mode in ways else {}
    return LLM(
        str(folder), enforce_eager=True, dtype="float32", gpu_memory_utilization=0.15,
        structured_outputs_config={"backend": "stackmask"}, disable_log_stats=False, **drafts, **options,
    )  # fmt: skip


def judgements() -> Counter[tuple[int, bool]]:
    """Count from now on the judged tokens of drafts in this process, by source and whether they were accepted.

    Source -1 counts forced tokens again that no guess precedes in their draft.
    """
    from stackmask.runtime.jump_forward.drafts import Draft, Sources

    judge, count = Sources.judge, Counter[tuple[int, bool]]()

    def counted(self: Sources, draft: Draft, accepted: int) -> None:
        judged = draft.sources[: accepted + 1]
        count.update((source, n < accepted) for n, source in enumerate(judged))
        sure = next((n for n, source in enumerate(judged) if source), len(judged))
        count.update((-1, n < accepted) for n in range(sure))
        judge(self, draft, accepted)

    Sources.judge = counted  # type: ignore[method-assign]
    return count


def measure_vllm(folder: Path, turns: list[Turn], mode: str, repeat: int) -> dict[str, Any]:
    """Let vLLM write the answers at temperature 0; the outputs are kept beside the model to be compared."""
    llm = vllm_engine(folder, mode, max_model_len=768, max_num_seqs=16)
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    import stackmask as sm

    params = []
    for turn in turns:
        tag = json.dumps(
            sm.tools.structural_tag("hermes", turn.tools, tool_choice="required", reasoning="off")
        )
        asked = StructuredOutputsParams(grammar=tag)
        params.append(SamplingParams(temperature=0, max_tokens=MOST, structured_outputs=asked))
    prompts = [turn.prompt for turn in turns]
    llm.generate(prompts, params, use_tqdm=False)  # grammars are compiled in the first round
    before = counters(llm)
    judged = judgements()
    start = time.perf_counter()
    outputs = [o for _ in range(repeat) for o in llm.generate(prompts, params, use_tqdm=False)]
    seconds = time.perf_counter() - start
    after = counters(llm)
    ids = [list(o.outputs[0].token_ids) for o in outputs]
    (folder / f"outputs_{mode}.json").write_text(json.dumps(ids))
    tokens = sum(map(len, ids))
    made = {name: after[name] - before.get(name, 0) for name in after}
    accepted = made.get("vllm:spec_decode_num_accepted_tokens", 0)
    found = {
        "requests": len(ids),
        "tokens": tokens,
        "steps_percent": round(100 * (tokens - accepted) / tokens, 1),
        "drafted": made.get("vllm:spec_decode_num_draft_tokens", 0),
        "accepted": accepted,
        "tokens_per_second": round(tokens / seconds, 1),
        "errors": sum(o.outputs[0].finish_reason not in ("stop", "length") for o in outputs),
        "version": sm.__version__,
    }
    if mode == "on":
        found["of_proposed_accepted_percent"] = {
            name: round(100 * judged[i, True] / max(1, judged[i, True] + judged[i, False]), 1)
            for i, name in enumerate(("forced without a guess before", *SOURCES), -1)
        }
    plain = folder / "outputs_off.json"
    if mode != "off" and plain.exists():
        found["same_as_without"] = sum(
            a == b for a, b in zip(json.loads(plain.read_text()), ids, strict=True)
        )
    return found


def table_model(folder: Path) -> Path:
    """Write a model of nine tokens, in which the previous token alone decides what is likely."""
    from serving_models import make_model
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    texts = ["a", "b", "c", "=", ";", "z", "ab", "b=", "<end>"]
    merges = [("a", "b"), ("b", "=")]
    read = Tokenizer(models.BPE({text: i for i, text in enumerate(texts)}, merges))
    read.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    read.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=read, eos_token="<end>", bos_token="<end>")
    usual = {"a": 1.0, "b": 0.3, "c": 0.0, "=": 0.5, ";": 0.8, "z": 0.6, "ab": 0.4, "b=": 0.2, "end": 1.0}
    after = {
        "=": {"a": 0.2, "b": 1.4, "c": 0.9, "ab": 1.1},
        ";": {"z": 0.1, "b": 0.6, "b=": 0.9},
        "b": {"a": -0.5, "b": 0.7, ";": 1.5},
        "ab": {"c": 2.0, ";": 0.0},
    }
    return make_model(folder, "table", tokenizer, usual, after=after)


def law_of(folder: Path) -> dict[tuple[int, ...], float]:
    """Enumerate the outputs of a model under a grammar, each with its probability in float64."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    import stackmask as sm

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    size = model.config.vocab_size
    with torch.no_grad():
        table = model(torch.arange(size)[:, None]).logits[:, -1].double()
    compiler = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer, size=size))
    matcher = compiler.compile(sm.Grammar.from_regex(LAW)).matcher()
    mask = sm.allocate_token_bitmask(1, size)
    law: dict[tuple[int, ...], float] = {}

    def walk(ids: tuple[int, ...], last: int, probability: float) -> None:
        matcher.fill_next_token_bitmask(mask)
        legal = [i for i in range(size) if int(mask[0][i >> 5]) >> (i & 31) & 1]
        for token, p in zip(legal, table[last][legal].softmax(0).tolist(), strict=True):
            if token == tokenizer.eos_token_id:
                law[(*ids, token)] = probability * p
                continue
            assert matcher.accept_token(token)
            walk((*ids, token), token, probability * p)
            matcher.rollback(1)

    walk((), tokenizer.encode(LAW_PROMPT)[-1], 1.0)
    return law


def expanded(output: Any, values: Any, ends: Any, old: int, new: int) -> None:
    """Repeat the value of each request for its drafts.

    vLLM 0.33 leaves the temperatures of drafts undefined on a CPU: its stand-in for this kernel writes into a copy.
    """
    import torch

    counts = torch.diff(ends, prepend=ends.new_zeros(1))
    output.copy_(values.masked_fill(values == old, new).repeat_interleave(counts))


def measure_law(folder: Path, mode: str, draws: int) -> dict[str, Any]:
    """Count what vLLM writes with its own sampler, and compare it with the law."""
    import torch

    model = table_model(folder)
    law = law_of(model)
    assert abs(sum(law.values()) - 1) < 1e-12
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams
    from vllm.v1.sample import rejection_sampler

    llm = vllm_engine(model, mode, max_model_len=64, max_num_seqs=256)
    rejection_sampler._expand = expanded
    asked = StructuredOutputsParams(regex=LAW)
    params = SamplingParams(temperature=1.0, max_tokens=32, detokenize=False, structured_outputs=asked)
    counts: Counter[tuple[int, ...]] = Counter()
    while (left := draws - counts.total()) > 0:
        prompts = [LAW_PROMPT] * min(left, 10_000)
        counts.update(tuple(o.outputs[0].token_ids) for o in llm.generate(prompts, params, use_tqdm=False))
    found = counters(llm)
    assert set(counts) <= set(law), set(counts) - set(law)
    cells = [(counts[ids], p * draws) for ids, p in law.items() if p * draws >= 5]
    rare = draws - sum(count for count, _ in cells), draws - sum(expected for _, expected in cells)
    cells += [rare] if rare[1] >= 5 else []
    chi2 = sum((count - expected) ** 2 / expected for count, expected in cells)
    degrees = torch.tensor(len(cells) - 1, dtype=torch.float64)
    return {
        "draws": draws,
        "outputs": len(law),
        "cells": len(cells),
        "chi_squared": round(chi2, 2),
        "p": round(float(torch.special.gammaincc(degrees / 2, torch.tensor(chi2).double() / 2)), 4),
        "drafted": found.get("vllm:spec_decode_num_draft_tokens", 0),
        "accepted": found.get("vllm:spec_decode_num_accepted_tokens", 0),
    }


def measure_sglang(folder: Path, turns: list[Turn], mode: str, repeat: int) -> dict[str, Any]:
    """Let SGLang write the answers on the CPU, in rounds of all turns; its n-grams remember the rounds before."""
    import sglang_cpu
    from serving_servers import installed

    import stackmask as sm

    with tempfile.TemporaryDirectory() as work:
        paths = [*sglang_cpu.install(Path(work) / "kernels"), *installed(Path(work) / "entry")]
        os.environ |= {
            "SGLANG_USE_CPU_ENGINE": "1",
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join(paths),
        }
        for compiler in ("CC", "CXX"):  # torch takes no command of several words
            os.environ.pop(compiler, None)
        sys.path[:0] = paths
        import sglang

        drafts = {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 9}
        if mode == "ngram":
            os.environ["NGRAM_ALONE"] = "1"
        engine = sglang.Engine(
            model_path=str(folder), device="cpu", dtype="float32", grammar_backend="stackmask", attention_backend="torch_native",
            sampling_backend="pytorch", mem_fraction_static=0.25, max_total_tokens=16384, max_running_requests=8,
            disable_cuda_graph=True, skip_server_warmup=True, disable_overlap_schedule=True, log_level="warning",
            **(drafts if mode != "off" else {}),
        )  # fmt: skip
        tags = [
            sm.tools.structural_tag("hermes", t.tools, tool_choice="required", reasoning="off") for t in turns
        ]
        params = [{"temperature": 0, "max_new_tokens": MOST, "ebnf": json.dumps(tag)} for tag in tags]
        ids, rounds = [], []
        for _ in range(repeat):
            start = time.perf_counter()
            outputs = engine.generate([turn.prompt for turn in turns], params)
            seconds = time.perf_counter() - start
            ids += [list(output["output_ids"]) for output in outputs]
            tokens = sum(output["meta_info"]["completion_tokens"] for output in outputs)
            steps = sum(output["meta_info"].get("spec_verify_ct", tokens) for output in outputs)
            rounds.append(
                {
                    "tokens": tokens,
                    "steps_percent": round(100 * min(steps, tokens) / tokens, 1),
                    "tokens_per_second": round(tokens / seconds, 1),
                    "errors": sum(
                        output["meta_info"]["finish_reason"]["type"] not in ("stop", "length")
                        for output in outputs
                    ),
                }
            )
        engine.shutdown()
    (folder / f"outputs_sglang_{mode}.json").write_text(json.dumps(ids))
    found: dict[str, Any] = {"requests": len(ids), "rounds": rounds, "version": sm.__version__}
    plain = folder / "outputs_sglang_off.json"
    if mode != "off" and plain.exists():
        found["same_as_without"] = sum(
            a == b for a, b in zip(json.loads(plain.read_text()), ids, strict=True)
        )
    return found


def counters(llm: Any) -> dict[str, int]:
    return {metric.name: metric.value for metric in llm.get_metrics() if hasattr(metric, "value")}


def keep(what: str, mode: str, found: dict[str, Any], is_written: bool) -> None:
    """Print what was measured in vLLM, and write it beside what other modes gave."""
    print(what, mode, json.dumps(found))
    if not is_written:
        return
    path = path_of("drafts_vllm")
    known = json.loads(path.read_text()) if path.exists() else {}
    kept = {name: known.get(name, {}) for name in ("turns", "turns_once", "law")}
    kept[what][mode] = found
    write_result(
        "drafts_vllm",
        "VLLM_TARGET_DEVICE=cpu VLLM_PYTHON lab/benchmarks/drafts_model.py --bfcl PATH_TO_bfcl_eval/data --model FOLDER"
        " --turns 250 --repeat 8 --vllm MODE --write, and --law 100000 --model FOLDER --vllm MODE --write",
        kept,
        vllm=metadata.version("vllm"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bfcl", type=Path, help="the folder `data` of the package bfcl_eval")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="train for so long, in time of a processor"
    )
    parser.add_argument("--vllm", choices=("on", "off", "ngram"))
    parser.add_argument("--sglang", choices=("on", "off", "ngram"))
    parser.add_argument("--law", type=int, default=0, help="outputs to draw from a table model")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    if options.law:
        keep("law", options.vllm, measure_law(options.model, options.vllm, options.law), options.write)
        return 0
    turns = turns_of(options.bfcl)
    held = [turn for i, turn in enumerate(turns) if i % HELD_OUT == 0][: options.turns]
    if options.minutes:
        train(options.model, [turn for i, turn in enumerate(turns) if i % HELD_OUT], options.minutes)
        return 0
    if options.vllm:
        keep(
            "turns" if options.repeat > 1 else "turns_once",
            options.vllm,
            measure_vllm(options.model, held, options.vllm, options.repeat),
            options.write,
        )
        return 0
    if options.sglang:
        print(json.dumps(measure_sglang(options.model, held, options.sglang, options.repeat)))
        return 0
    parser.error("what is to be measured? --minutes, --law, --vllm or --sglang")


if __name__ == "__main__":
    sys.exit(main())
