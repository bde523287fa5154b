#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes llama_cpp_runs.toml: loads small models with llama.cpp's CPU backend and keeps the sizes that it prints.

usage: record_llama_cpp.py > llama_cpp_runs.toml, in a Python that has cyllama (PyPI), 0.2.18. Figures of another
version need that one's build number.
"""
import pathlib
import re
import sys
import tempfile

import cyllama.llama.llama_cpp as llama

import llama_cpp_models

BUILD = 8700  # The rules of this one hold for it.
SMALL = {"layers": 3, "hidden": 256, "heads": 8, "kv_heads": 2, "head": 32, "ff": 768, "vocabulary": 1024, "type": "F16",
         "output_type": "F16", "context": 8192}
MODELS = {
    "llama": {"architecture": "llama"},
    "llama-wide-heads": {"architecture": "llama", "heads": 4, "kv_heads": 1, "head": 64, "layers": 5},
    "mixtral": {"architecture": "llama", "experts": 8, "experts_used": 2, "expert_ff": 768},
    "qwen2": {"architecture": "qwen2", "bias": True, "tied": True},
    "qwen3": {"architecture": "qwen3", "head_norms": True, "head": 64, "ff": 512},
    "qwen3moe": {"architecture": "qwen3moe", "head_norms": True, "experts": 16, "experts_used": 4, "expert_ff": 96},
    "gemma2": {"architecture": "gemma2", "tied": True, "post_norms": True, "window": 1024, "layers": 4},
    "gemma3": {"architecture": "gemma3", "tied": True, "post_norms": True, "head_norms": True, "window": 512, "layers": 12},
    "phi3": {"architecture": "phi3", "fused": True, "kv_heads": 8},
    "gpt-oss": {"architecture": "gpt-oss", "experts": 8, "experts_used": 4, "expert_ff": 128, "window": 128, "bias": True,
                "head": 64, "layers": 4},
}
TYPES = {"f16": 1, "q4_0": 2, "q8_0": 8}
# Of every model, and of some: context, step, sequences and their kind of cache, types of cache.
PLAIN = [{"flash": True}, {"flash": False}]
MORE = {
    "llama": [{"sequences": 4}, {"flash": False, "sequences": 4, "unified": True, "ubatch": 1024}],
    "llama-wide-heads": [{"types": "q8_0"}, {"types": "q4_0", "context": 2048, "ubatch": 128}],
    "qwen3moe": [{"ubatch": 2048}],
    "gemma3": [{"swa_full": True}, {"sequences": 2, "unified": True, "ubatch": 256}, {"types": "q8_0"}],
    "phi3": [{"flash": False, "context": 1000, "ubatch": 64}],
}


def arguments_of(run):
    words = ["-c", str(run.get("context", 4096)), "-ub", str(run.get("ubatch", 512)), "-np", str(run.get("sequences", 1)),
             "-fa", "on" if run.get("flash", True) else "off", "-ctk", run.get("types", "f16"), "-ctv", run.get("types", "f16")]
    if run.get("unified"):
        words.append("--kv-unified")
    return words + (["--swa-full"] if run.get("swa_full") else [])


def load(path, run, lines):
    model = llama.LlamaModel(str(path), llama.LlamaModelParams())
    params = llama.LlamaContextParams()
    params.n_ctx, params.n_ubatch, params.n_batch = run.get("context", 4096), run.get("ubatch", 512), 2048
    params.n_seq_max, params.kv_unified = run.get("sequences", 1), run.get("unified", False)
    params.flash_attn_type, params.swa_full = int(run.get("flash", True)), run.get("swa_full", False)
    params.type_k = params.type_v = TYPES[run.get("types", "f16")]
    lines.clear()
    llama.LlamaContext(model, params)
    printed = lambda name: [float(size) for size in re.findall(name + r" = +([0-9.]+) MiB", "".join(lines))]
    return sum(printed("KV buffer size")), printed("compute buffer size")[0]


def main():
    lines = []
    llama.set_log_callback(lambda *words: lines.append(words[-1] if isinstance(words[-1], str) else ""))
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            model = SMALL | model
            path = pathlib.Path(folder, name + ".gguf")
            llama_cpp_models.write_model(path, model)
            print(f"[models.{name}]")
            for key, value in model.items():
                print(f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value).replace(chr(39), chr(34))}")
            print()
            for run in PLAIN + MORE.get(name, []):
                cache, compute = load(path, run, lines)
                words = ", ".join(f'"{word}"' for word in arguments_of(run))
                print(f'[[logs]]\naddress = "cyllama 0.2.18"\nmodel = "{name}"\nbuild = {BUILD}\nprogram = "llama-cli"')
                print(f'arguments = ["--device", "none", {words}]\ncache = []\ncompute = []')
                print(f"host_cache = {cache:.2f}\nhost_compute = {compute:.2f}\n", flush=True)
    return 0


sys.exit(main())
