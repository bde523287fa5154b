#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory of QLoRA on a model of real size: what the plan says, and what headroom-train needs.

    qlora_memory.py BIN_DIR [--base nf4|nf4-dq|int8] [--layers N] [--steps N] [--capacity 9GiB] [--json]

A model with the shapes of Qwen2.5-7B and random weights, 1 × 512 tokens in bf16 with layers checkpointed, adapters of rank 16 on all
seven projections. The bar: everything inside 9 GiB. Prints the planned and the measured peak and the largest resident size
of the process, which has libtorch and the file cache of its pages besides. A step takes minutes on a processor; --layers makes it shorter.
"""
import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

# https://huggingface.co/Qwen/Qwen2.5-7B/blob/main/config.json
CONFIG = {"architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 3584, "intermediate_size": 18944,
          "max_position_embeddings": 131072, "model_type": "qwen2", "num_attention_heads": 28, "num_hidden_layers": 28,
          "num_key_value_heads": 4, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "tie_word_embeddings": False,
          "use_sliding_window": False, "vocab_size": 152064}
TOKENS = 512
JOB = """
model.config = "config.json"
method.kind = "qlora"
method.base = "{base}"
method.rank = 16
compute.dtype = "bf16"
compute.checkpointing = "layer"
compute.loss = "chunked"
batch.micro = 1
batch.accumulate = 1
batch.sequence = {tokens}
engine.kind = "headroom"
device.capacity = "{capacity}"
data.path = "ids.txt"
data.kind = "tokens"
"""


def make_job(folder, arguments):
    draw = random.Random(1)
    lines = (" ".join(str(draw.randrange(CONFIG["vocab_size"])) for _ in range(TOKENS)) for _ in range(arguments.steps))
    (folder / "ids.txt").write_text("\n".join(lines) + "\n")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": arguments.layers}))
    job = folder / "job.toml"
    job.write_text(JOB.format(base=arguments.base, tokens=TOKENS, capacity=arguments.capacity))
    return job


def run(command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"{command[0]}: exit {ran.returncode}")
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--base", choices=("nf4", "nf4-dq", "int8"), default="nf4-dq")
    parser.add_argument("--layers", type=int, default=CONFIG["num_hidden_layers"])
    parser.add_argument("--steps", type=int, default=2, help="the optimizer's states are there from the second step on")
    parser.add_argument("--capacity", default="9GiB")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headroom-qlora-") as scratch:
        folder = pathlib.Path(scratch)
        job = make_job(folder, arguments)
        report = run([arguments.bin_dir / "headroom-train", job, "--output", folder / "run", "--quiet", "--json"])
        seconds = [json.loads(line)["step_s"] for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    found = {"base": arguments.base, "layers": arguments.layers, "planned": report["predicted"]["allocated_bytes"],
             "measured": report["measured"]["allocated_bytes"], "reserved": report["measured"]["reserved_bytes"],
             "resident": resident, "seconds": seconds}
    if arguments.json:
        return print(json.dumps(found))
    for key in ("planned", "measured", "reserved", "resident"):
        print(f"{key:9} {found[key]:14,} bytes  {found[key] / 2**30:7.3f} GiB")
    print("seconds   " + ", ".join(f"{step:.0f}" for step in seconds) + f" ({arguments.base}, {arguments.layers} layers)")


if __name__ == "__main__":
    main()
