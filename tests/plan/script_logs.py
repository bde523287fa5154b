#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan --from LOG` as it is typed: a log's plan is the plan of the command that printed it, headroom's own options win,
and a log is never written over.

usage: script_logs.py BIN_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from llama_cpp_models import write_model

binary = pathlib.Path(sys.argv[1]) / "headroom"
failures = []

CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 512, "max_position_embeddings": 2048,
          "model_type": "llama", "num_attention_heads": 8, "num_hidden_layers": 4, "num_key_value_heads": 4, "vocab_size": 8000,
          "tie_word_embeddings": False, "transformers_version": "4.51.3"}
PARAMETERS = 2 * 8000 * 256 + 4 * (256 * 256 * 3 + 3 * 256 * 512 + 2 * 256) + 256
TRAINING = """[INFO|trainer.py:699] 2026-03-02 10:00:05,000 >> Using auto half precision backend
[INFO|trainer.py:2414] 2026-03-02 10:00:09,000 >> ***** Running training *****
[INFO|trainer.py:2415] 2026-03-02 10:00:09,000 >>   Num examples = 1,000
[INFO|trainer.py:2417] 2026-03-02 10:00:09,000 >>   Instantaneous batch size per device = 4
[INFO|trainer.py:2420] 2026-03-02 10:00:09,000 >>   Total train batch size (w. parallel, distributed & accumulation) = 8
[INFO|trainer.py:2421] 2026-03-02 10:00:09,000 >>   Gradient Accumulation steps = 2
[INFO|trainer.py:2423] 2026-03-02 10:00:09,000 >>   Number of trainable parameters = {trained:,}
"""
FAILURE = ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 250.00 MiB. GPU 0 has a total capacity of 15.98 GiB of which "
           "120.00 MiB is free. Of the allocated memory 14.90 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but "
           "unallocated.\n")
VLLM = ("INFO 04-18 12:00:01 [config.py:2003] Chunked prefill is enabled with max_num_batched_tokens=1024.\n"
        "INFO 04-18 12:00:02 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='{model}', speculative_config=None, "
        "dtype=torch.float16, max_seq_len=1024, tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, "
        "enforce_eager=True, kv_cache_dtype=auto\n"
        "INFO 04-18 12:00:09 [gpu_model_runner.py:1347] Model loading took 0.0156 GiB and 0.3 seconds\n")
LLAMA = """build: 6500 (1a2b3c4d) with cc (GCC) 14.2.0 for x86_64-linux-gnu
srv    load_model: loading model '{model}'
llama_model_loader: loaded meta data with 14 key-value pairs and 21 tensors from {model} (version GGUF V3 (latest))
load_tensors: offloaded 3/3 layers to GPU
llama_context: n_seq_max     = 1
llama_context: n_ctx         = 2048
llama_context: n_batch       = 512
llama_context: n_ubatch      = 256
llama_context: flash_attn    = enabled
llama_kv_cache: size =    2.00 MiB (  2048 cells,   2 layers,  1/1 seqs), K (f16):    1.00 MiB, V (f16):    1.00 MiB
"""


def plan(words, text=None):
    run = subprocess.run([binary, "plan", *words], input=text, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout, run.stderr


def answer(words, text=None):
    code, out, err = plan(["--json", *words], text)
    if code not in (0, 1):
        raise SystemExit(f"{words}: expected a plan, found {err}")
    return json.loads(out)


def check(what, holds, found):
    if not holds:
        failures.append(f"{what}: found {found}")


def training_log(trained):
    return "Model config LlamaConfig " + json.dumps(CONFIG, indent=2) + "\n\n" + TRAINING.format(trained=trained)


def check_training(scratch):
    (scratch / "config.json").write_text(json.dumps(CONFIG))
    typed = answer(["--engine", "transformers", "--transformers", "4.51.3", "--", "python", "train.py", "--model_name_or_path", str(scratch),
                    "--per_device_train_batch_size", "4", "--gradient_accumulation_steps", "2", "--bf16", "--optim", "adamw_torch_fused"])
    log = training_log(PARAMETERS)
    printed = answer(["--from", "-"], log)
    for key in ("allocated_bytes", "device_bytes", "parameters", "batch"):
        check(f"{key} of the log and of its command", printed[key] == typed[key], (printed[key], typed[key]))
    longer = answer(["--from", "-", "--sequence", "2048"], log)
    check("--sequence wins over the log", longer["allocated_bytes"] > printed["allocated_bytes"], longer["allocated_bytes"])
    rank = 16
    adapters = answer(["--from", "-"], training_log(4 * rank * (2 * 256 + 256 + 128)))
    notes = " ".join(adapters["notes"])
    check("adapters by their number", "method.rank = 16 from 57344 trained parameters" in notes and '["q","v"]' in notes, notes)


def check_failure(scratch):
    path = scratch / "run.log"
    path.write_text(training_log(PARAMETERS) + FAILURE)
    found = answer(["--from", str(path)])
    check("the card's capacity by the error", abs(found["capacity_bytes"] / 2**30 - 15.98) < 0.01, found["capacity_bytes"])
    notes = " ".join(found["notes"])
    check("what failed is said", f"--from {path} --explain 250.00MiB" in notes, notes)
    # Logits of 4 × 1024 tokens in fp32: 125 MiB; both at once are not one allocation.
    code, out, err = plan(["--from", str(path), "--explain", "125.00MiB"])
    check("--explain reads the job from the log", code == 0 and "logits" in out, out + err)
    before = path.read_text()
    code, _, err = plan(["--from", str(path), "--html", str(path)])
    check("a page never takes the log's place", code == 2 and path.read_text() == before, (code, err))


def check_programs(scratch):
    typed = answer(["--capacity", "8GiB", "--", "vllm", "serve", str(scratch), "--headroom-version", "0.8.5", "--dtype", "float16",
                    "--max-model-len", "1024", "--max-num-batched-tokens", "1024", "--enforce-eager"])
    printed = answer(["--capacity", "8GiB", "--from", "-"], VLLM.format(model=scratch))
    check("vLLM's log is its command", printed["cache"] == typed["cache"], (printed["cache"], typed["cache"]))
    check("the log's own sizes", "weights 16.0 MiB (line 3)" in " ".join(printed["notes"]), printed["notes"])
    moved = answer(["--capacity", "8GiB", "--from", "-", "--model", str(scratch)], VLLM.format(model="/mnt/elsewhere"))
    check("a model that lies elsewhere", moved["weights_bytes"] == typed["weights_bytes"], moved["weights_bytes"])
    model = scratch / "model.gguf"
    write_model(model, {"architecture": "llama", "hidden": 256, "heads": 4, "kv_heads": 2, "layers": 2, "ff": 512, "vocabulary": 1000,
                        "context": 8192})
    typed = answer(["--capacity", "8GiB", "--", "llama-server", "-m", str(model), "-ngl", "3", "-c", "2048", "-np", "1", "-b", "512",
                    "-ub", "256", "-fa", "on", "--headroom-build", "6500"])
    printed = answer(["--capacity", "8GiB", "--from", "-"], LLAMA.format(model=model))
    check("llama.cpp's log is its command", printed["gpus"] == typed["gpus"], (printed["gpus"], typed["gpus"]))


def check_mistakes(scratch):
    for words, text, says in ((["--from", "-"], "nothing of a run\n", "found none of their lines"),
                              (["--from", str(scratch / "gone.log")], None, "gone.log"),
                              (["--from", str(scratch)], None, "next:"),
                              (["--from", "-", "job.toml"], "", "found both"),
                              (["--from", "-", "--", "vllm", "serve", "m"], "", "found both"),
                              (["--from", "-"], training_log(12_345), "--rank N --targets"),
                              (["--from", "-", "--html", str(scratch / "page.html")], VLLM.format(model=scratch),
                               "--html: expected a job that PyTorch runs"),
                              (["--from", "-"], LLAMA.format(model="/nowhere/model.gguf"), "--model MODEL.gguf")):
        code, out, err = plan(words, text)
        check(f"{words}", code == 2 and says in err and "next:" in err, (code, out[:200], err))


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        check_training(scratch)
        check_failure(scratch)
        check_programs(scratch)
        check_mistakes(scratch)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
