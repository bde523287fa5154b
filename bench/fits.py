#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of real size inside a capacity that others say is too small: what the plan says, and what headroom-train needs.

    fits.py BIN_DIR [JOB …] [--layers N] [--steps N] [--capacity SIZE] [--set KEY=VALUE …] [--json]

The jobs have a published model's shapes and random weights:

    lora-3b    Qwen2.5-3B, adapters of rank 8 on all seven projections, fp32, 1 × 1024 tokens, inside 16 GiB
    full-1.5b  Qwen2.5-1.5B, all weights in bf16 with AdamW in bytes, 1 × 1024 tokens, inside 12 GiB
    qlora-7b   Qwen2.5-7B in NF4 with double quantisation, adapters of rank 16 on all seven, bf16, 1 × 512 tokens, inside 9 GiB

Each is planned, then trained for some steps within its capacity. Prints the planned and the measured peak, what was reserved, and the
largest resident size of the process, which has libtorch and the file cache of its pages besides. A step takes minutes on a processor;
--layers makes it shorter. Runs end with their folder; nothing is kept.
"""
import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

# https://huggingface.co/Qwen/Qwen2.5-7B/blob/main/config.json, and those of its sisters.
QWEN = {"architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "model_type": "qwen2", "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0, "use_sliding_window": False, "max_position_embeddings": 32768}
JOBS = {
    "lora-3b": {
        "config": dict(hidden_size=2048, intermediate_size=11008, num_hidden_layers=36, num_attention_heads=16,
                       num_key_value_heads=2, tie_word_embeddings=True, vocab_size=151936),
        "tokens": 1024, "capacity": "16GiB",
        "keys": ['method.kind = "lora"', "method.rank = 8", 'compute.dtype = "fp32"']},
    "full-1.5b": {
        "config": dict(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
                       num_key_value_heads=2, tie_word_embeddings=True, vocab_size=151936),
        "tokens": 1024, "capacity": "12GiB",
        "keys": ['method.kind = "full"', 'compute.dtype = "bf16"', 'optimizer.kind = "adamw8bit"']},
    "qlora-7b": {
        "config": dict(hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28,
                       num_key_value_heads=4, tie_word_embeddings=False, vocab_size=152064),
        "tokens": 512, "capacity": "9GiB",
        "keys": ['method.kind = "qlora"', 'method.base = "nf4-dq"', "method.rank = 16", 'compute.dtype = "bf16"']},
}
COMMON = ['model.config = "config.json"', 'compute.checkpointing = "layer"', 'compute.loss = "chunked"', "batch.micro = 1",
          "batch.accumulate = 1", 'engine.kind = "headroom"', 'data.path = "ids.txt"', 'data.kind = "tokens"']


def make_job(folder, job, arguments):
    config = QWEN | job["config"]
    if arguments.layers:
        config["num_hidden_layers"] = arguments.layers
    draw = random.Random(1)
    lines = (" ".join(str(draw.randrange(config["vocab_size"])) for _ in range(job["tokens"])) for _ in range(arguments.steps))
    (folder / "ids.txt").write_text("\n".join(lines) + "\n")
    (folder / "config.json").write_text(json.dumps(config))
    keys = COMMON + job["keys"] + [f"batch.sequence = {job['tokens']}",
                                   f'device.capacity = "{arguments.capacity or job["capacity"]}"']
    for given in arguments.set:
        key = given.partition("=")[0].strip()
        keys = [line for line in keys if line.partition("=")[0].strip() != key] + [given]
    (folder / "job.toml").write_text("\n".join(keys) + "\n")
    return folder / "job.toml"


def measure(name, arguments):
    with tempfile.TemporaryDirectory(prefix=f"headroom-{name}-") as scratch:
        folder = pathlib.Path(scratch)
        job = make_job(folder, JOBS[name], arguments)
        ran = subprocess.run([arguments.bin_dir / "headroom-train", job, "--output", folder / "run", "--quiet", "--json"],
                             stdout=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            sys.exit(f"{name}: headroom-train: exit {ran.returncode}")
        report = json.loads(ran.stdout)
        steps = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return {"job": name, "layers": arguments.layers or JOBS[name]["config"]["num_hidden_layers"],
            "capacity": arguments.capacity or JOBS[name]["capacity"],
            "planned": report["predicted"]["allocated_bytes"], "measured": report["measured"]["allocated_bytes"],
            "reserved": report["measured"]["reserved_bytes"],
            "resident": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
            "losses": [step["loss"] for step in steps], "seconds": [step["step_s"] for step in steps]}


def show(found):
    print(f"{found['job']}, {found['layers']} layers, inside {found['capacity']}")
    for key in ("planned", "measured", "reserved", "resident"):
        print(f"  {key:9} {found[key]:14,} bytes  {found[key] / 2**30:7.3f} GiB")
    print("  losses    " + ", ".join(f"{loss:.4f}" for loss in found["losses"]))
    print("  seconds   " + ", ".join(f"{step:.0f}" for step in found["seconds"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}; all if none is named")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--steps", type=int, default=3, help="the optimizer's states are there from the second step on")
    parser.add_argument("--capacity")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a line of the job's file")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.jobs or JOBS:
        if name not in JOBS:
            parser.error(f"expected a job of {', '.join(JOBS)}, found {name}")
        found = measure(name, arguments)
        print(json.dumps(found)) if arguments.json else show(found)


if __name__ == "__main__":
    main()
