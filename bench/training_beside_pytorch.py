#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast headroom-train is on the CPU, beside PyTorch eager on the same model, batches and threads.

    training_beside_pytorch.py BIN_DIR --python PYTHON [--model first-job|125m] [--threads N] [--rounds N] [--json]

By turns, N times (default 5): headroom-train, and transformers' LlamaForCausalLM with attn_implementation="sdpa"
under PYTHON (the environment that tools/venv makes), both in fp32 with AdamW and gradients clipped to 1. All
samples have the full length. A run's speed is that of its steps after the first two. Prints medians and the median
ratio of neighbours, by the clock and by processor time, which other work on the machine disturbs less; with --json
every run as well. The losses of both are compared: they begin with other random weights, so only roughly.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

JOB = pathlib.Path(__file__).resolve().parent.parent / "examples" / "first-job"
WARM_UP = 2
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
MODELS = {
    # 125 million parameters, of GPT-2's sizes.
    "125m": dict(config=LLAMA | {
        "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 12,
        "num_key_value_heads": 12, "vocab_size": 50257, "max_position_embeddings": 1024,
        "tie_word_embeddings": True}, batch=1, sequence=512, steps=3, capacity="4GiB"),
    "first-job": dict(config=json.loads((JOB / "config.json").read_text()), batch=4, sequence=512, steps=8,
                      capacity="1GiB"),
}
TOML = """
model.config = "config.json"
method.kind = "full"
compute.dtype = "fp32"
optimizer.learning_rate = 0.001
optimizer.max_grad_norm = 1.0
batch.micro = {batch}
batch.accumulate = 1
batch.sequence = {sequence}
engine.kind = "headroom"
device.capacity = "{capacity}"
data.path = "ids-{steps}.txt"
data.kind = "tokens"
data.epochs = 1
"""


def make_job(folder, model, steps):
    """A job of that many steps on random tokens."""
    draw = random.Random(1)
    ids = [[draw.randrange(1, 257) for _ in range(model["sequence"])] for _ in range(steps * model["batch"])]
    (folder / f"ids-{steps}.txt").write_text("".join(" ".join(map(str, line)) + "\n" for line in ids))
    (folder / "config.json").write_text(json.dumps(model["config"]))
    job = folder / f"job-{steps}.toml"
    job.write_text(TOML.format(**(model | {"steps": steps})))
    return job


def summary(rows, processor_s):
    """Of (tokens, seconds, loss) by step; `processor_s` is that of the steps behind the warm-up."""
    counted = rows[WARM_UP:]
    tokens = sum(row[0] for row in counted)
    return {"tokens_per_s": tokens / sum(row[1] for row in counted), "tokens_per_processor_s": tokens / processor_s,
            "first_loss": rows[0][2], "last_loss": rows[-1][2]}


def run_timed(command, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def train_headroom(program, folder, steps, environment):
    """Processor time as the difference of two runs, so that what comes before the first step is not in it."""
    processor = {}
    for count in (WARM_UP, WARM_UP + steps):
        output = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "run"
        processor[count] = run_timed([program, folder / f"job-{count}.toml", "--output", output, "--quiet"], environment)
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return summary([(line["tokens"], line["step_s"], line["loss"]) for line in lines],
                   max(processor[WARM_UP + steps] - processor[WARM_UP], 1e-9))


def train_pytorch(folder, name, threads):
    """Runs in the other Python."""
    import torch
    import transformers
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model_of = MODELS[name]
    config = transformers.LlamaConfig(**{key: value for key, value in model_of["config"].items() if key != "model_type"})
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").float()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001, weight_decay=0.01)
    lines = (folder / f"ids-{WARM_UP + model_of['steps']}.txt").read_text().splitlines()
    samples = torch.tensor([list(map(int, line.split())) for line in lines])
    rows = []
    processor = 0
    for step, batch in enumerate(samples.split(model_of["batch"])):
        start, start_processor = time.perf_counter(), time.process_time()
        loss = model(input_ids=batch, labels=batch, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        rows.append((batch.numel(), time.perf_counter() - start, loss.item()))
        if step >= WARM_UP:
            processor += time.process_time() - start_processor
    print(json.dumps(summary(rows, processor) | {"torch": torch.__version__, "transformers": transformers.__version__}))


def run_pytorch(python, folder, name, threads, environment):
    command = [python, __file__, "-", "--as-pytorch", folder, "--model", name, "--threads", str(threads)]
    return json.loads(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout)


def print_table(runs, rounds):
    for side in ("pytorch", "headroom"):
        of = lambda key: statistics.median(run[side][key] for run in runs)
        print(f"{side:9} {of('tokens_per_s'):8.0f} tokens/s, {of('tokens_per_processor_s'):8.0f} by processor time; "
              f"loss {of('first_loss'):.3f} to {of('last_loss'):.3f}; median of {rounds}")
    for key, words in (("tokens_per_s", "clock"), ("tokens_per_processor_s", "processor time")):
        ratios = [run["headroom"][key] / run["pytorch"][key] for run in runs]
        print(f"ratio     {statistics.median(ratios):8.2f} median of neighbours by {words} "
              f"({min(ratios):.2f} to {max(ratios):.2f}); bar: at least 1")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--model", choices=MODELS, default="first-job")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--as-pytorch", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.as_pytorch:
        train_pytorch(arguments.as_pytorch, arguments.model, arguments.threads)
        return 0
    program = (arguments.bin_dir / "headroom-train").resolve()
    model = MODELS[arguments.model]
    environment = os.environ | {name: str(arguments.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                                                          "OPENBLAS_NUM_THREADS")}
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for steps in (WARM_UP, WARM_UP + model["steps"]):
            make_job(folder, model, steps)
        turns = {"headroom": lambda: train_headroom(program, folder, model["steps"], environment),
                 "pytorch": lambda: run_pytorch(arguments.python, folder, arguments.model, arguments.threads, environment)}
        for number in range(arguments.rounds):
            # Who goes first changes: what else the machine does is not always to one's cost.
            runs.append({side: turns[side]() for side in sorted(turns, reverse=number % 2 == 1)})
    if arguments.json:
        print(json.dumps({"model": arguments.model, "threads": arguments.threads, "runs": runs}, indent=2))
    else:
        print_table(runs, arguments.rounds)
    ratio = statistics.median(run["headroom"]["tokens_per_processor_s"] / run["pytorch"]["tokens_per_processor_s"]
                              for run in runs)
    return 0 if ratio >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
