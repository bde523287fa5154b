#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings that are "auto": is what was chosen really the fastest of what fits?

    automatic.py BIN_DIR [--job NAME]... [--rounds N] [--steps N] [--json]

12 jobs at 3 capacities each (room for everything, for the half of it, and just for what needs least). Each is trained as chosen; then
the chosen and each rejected combination that fits are trained by turns, N rounds (default 3), and the processor time of their steps is
compared: a neighbour's ratio, then the median over the rounds. The bar: every chosen one finishes, and no rejected one that the plan
calls slower is faster by more than 10 %. Settings that the plan calls equally fast (nearer than 2 %) are measured too.
Prints a line per job and capacity.
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

MIB = 1 << 20
WARM_UP = 1
EQUAL = 0.98  # Of the chosen one's speed: nearer than that the plan calls nothing slower.
KEYS = ("dtype", "attention", "loss", "checkpointing", "micro", "accumulate")
LLAMA = {"model_type": "llama", "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4, "num_attention_heads": 8,
         "num_key_value_heads": 4, "vocab_size": 2048, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5}
GPT2 = {"model_type": "gpt2", "n_embd": 256, "n_layer": 4, "n_head": 8, "n_positions": 1024, "vocab_size": 2048, "attn_pdrop": 0,
        "embd_pdrop": 0, "resid_pdrop": 0}
LORA = 'method.kind = "lora"\nmethod.rank = 8\n'
# Name: the model, the tokens of a sample, samples of a batch, and what else the job says.
JOBS = {
    "llama": (LLAMA, 256, 8, ""),
    "llama-long": (LLAMA, 1024, 4, ""),
    "llama-short": (LLAMA, 32, 32, ""),
    "llama-wide": (LLAMA | {"hidden_size": 512, "intermediate_size": 1376}, 128, 8, ""),
    "llama-deep": (LLAMA | {"hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 16}, 256, 8, ""),
    "llama-words": (LLAMA | {"vocab_size": 32000, "tie_word_embeddings": True}, 128, 8, ""),
    "llama-lora": (LLAMA, 256, 8, LORA),
    "llama-lora-long": (LLAMA, 1024, 4, LORA),
    "qwen3-sgd": (LLAMA | {"model_type": "qwen3", "head_dim": 32}, 256, 8, 'optimizer.kind = "sgd"\n'),
    "gemma2": (LLAMA | {"model_type": "gemma2", "head_dim": 32, "sliding_window": 128, "query_pre_attn_scalar": 32,
                        "hidden_activation": "gelu_pytorch_tanh"}, 256, 8, ""),
    "gpt2": (GPT2, 256, 8, ""),
    "gpt2-adafactor": (GPT2, 512, 8, 'optimizer.kind = "adafactor"\n'),
}
OPEN = {"dtype": "compute", "attention": "compute", "loss": "compute", "checkpointing": "compute", "micro": "batch", "accumulate": "batch"}


class Jobs:
    """One job with its data, in a folder of its own."""

    def __init__(self, folder, name, programs, steps):
        self.config, self.sequence, self.batch, self.more = JOBS[name]
        self.folder, self.programs, self.steps = folder, programs, steps
        (folder / "config.json").write_text(json.dumps(self.config))
        draw = random.Random(1)
        for count in (WARM_UP, WARM_UP + steps):
            lines = (" ".join(str(draw.randrange(self.config["vocab_size"])) for _ in range(self.sequence)) for _ in range(count * self.batch))
            (folder / f"ids-{count}.txt").write_text("\n".join(lines) + "\n")

    def write(self, capacity, settings, steps):
        """The job with settings as given, or all of them open."""
        lines = [f"{table}.{key} = {json.dumps(settings[key] if settings else 'auto')}" for key, table in OPEN.items()]
        if not settings:
            lines.append(f"batch.global = {self.batch}")
        job = self.folder / "job.toml"
        job.write_text("\n".join(lines) + f"""
{self.more}model.config = "config.json"
engine.kind = "headroom"
batch.sequence = {self.sequence}
data.path = "ids-{steps}.txt"
data.kind = "tokens"
data.epochs = 1
device.capacity = {capacity}
""")
        return job

    def plan(self, capacity):
        ran = subprocess.run([self.programs / "headroom", "plan", self.write(capacity, None, WARM_UP), "--json"], stdout=subprocess.PIPE, text=True)
        return json.loads(ran.stdout)

    def capacities(self):
        least = self.plan(4096)["device_bytes"]
        most = self.plan(8 << 30)["device_bytes"]
        return {"plenty": most + 4 * MIB, "half": (least + most) // 2, "least": least + MIB // 2}

    def train(self, capacity, settings, steps):
        """Its report and the processor's seconds, or None where it ran out of memory."""
        output = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "run"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run([self.programs / "headroom-train", self.write(capacity, settings, steps), "--output", output, "--quiet"],
                             stderr=subprocess.PIPE, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if ran.returncode != 0:
            print(ran.stderr, file=sys.stderr)
            return None, 0
        return (json.loads((output / "report.json").read_text()),
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def seconds(self, capacity, settings):
        """Of the steps behind the first: the difference of two runs."""
        longer = self.train(capacity, settings, WARM_UP + self.steps)[1]
        return max(longer - self.train(capacity, settings, WARM_UP)[1], 1e-9)


def measure(jobs, capacity, rounds, known):
    """A row of the table. `known`: ratios of pairs of settings that another capacity measured already."""
    report, _ = jobs.train(capacity, None, WARM_UP)
    if report is None or report["oom_events"]:
        return {"finished": False, "chosen": None, "rejected": []}
    automatic = report["automatic"]
    chosen = {key: automatic["chosen"][key] for key in KEYS}
    rejected = []
    for other in automatic["rejected"]:
        if not other["fits"]:
            continue
        settings = {key: other[key] for key in KEYS}
        pair = json.dumps([chosen, settings])
        if pair not in known:
            ratios = []
            for number in range(rounds):
                turns = [chosen, settings] if number % 2 == 0 else [settings, chosen]
                taken = {json.dumps(turn): jobs.seconds(capacity, turn) for turn in turns}
                ratios.append(taken[json.dumps(chosen)] / taken[json.dumps(settings)])
            known[pair] = statistics.median(ratios)
        rejected.append({"settings": settings, "predicted": other["relative_speed"], "measured": known[pair]})
    return {"finished": True, "chosen": chosen, "rejected": rejected}


def misses(row):
    return [other for other in row["rejected"] if other["predicted"] < EQUAL and other["measured"] > 1.1]


def words(settings):
    return " ".join(str(settings[key]) for key in KEYS)


def print_row(name, where, row):
    if not row["finished"]:
        print(f"{name:16} {where:7} DID NOT FINISH", flush=True)
        return
    slower = [other for other in row["rejected"] if other["predicted"] < EQUAL]
    fastest = max((other["measured"] for other in slower), default=0)
    equal = max((other["measured"] for other in row["rejected"] if other["predicted"] >= EQUAL), default=0)
    print(f"{name:16} {where:7} {words(row['chosen']):38} {len(slower):2} called slower, fastest of them {fastest:.2f}; of equals {equal:.2f}",
          flush=True)
    for other in misses(row):
        print(f"{'':24} MISSED: {words(other['settings'])} called {other['predicted']:.2f}, measured {other['measured']:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--job", action="append", choices=JOBS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = {}
    for name in arguments.job or JOBS:
        with tempfile.TemporaryDirectory(prefix="headroom-automatic-") as scratch:
            jobs = Jobs(pathlib.Path(scratch), name, arguments.bin_dir.resolve(), arguments.steps)
            known = {}
            for where, capacity in jobs.capacities().items():
                row = measure(jobs, capacity, arguments.rounds, known)
                rows[f"{name} {where}"] = row
                if not arguments.json:
                    print_row(name, where, row)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    missed = [name for name, row in rows.items() if not row["finished"] or misses(row)]
    print(f"{len(rows)} rows, {len(missed)} beside the bar", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(main())
