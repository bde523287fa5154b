#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan -- llama-server …` against what llama.cpp printed: load logs that people published
(llama_cpp_logs.toml), and runs of its CPU backend over small models (llama_cpp_runs.toml).

usage: llama_cpp_logs.py BIN_DIR. Exit 1 where a size is off by more than 2 %.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import llama_cpp_models

BAR = 0.02
ROUNDING = 0.006  # The log's own, in MiB.
binary = pathlib.Path(sys.argv[1]) / "headroom"
TABLES = ("llama_cpp_logs.toml", "llama_cpp_runs.toml")


def plan_of(log, models, folder):
    model = pathlib.Path(folder, log["model"] + ".gguf")
    if not model.exists():
        llama_cpp_models.write_model(model, models[log["model"]])
    words = [binary, "plan", "--json", "--", log.get("program", "llama-server"), "-m", model, "--headroom-build", str(log["build"]),
             *log["arguments"]]
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{log['address']}: expected a plan, found {run.stderr}")
    return json.loads(run.stdout)


def pairs_of(log, plan):
    """(what, printed, planned) in MiB."""
    for key, name in (("weights", "weights_bytes"), ("cache", "cache_bytes"), ("compute", "compute_bytes")):
        for i, printed in enumerate(log.get(key, [])):
            if printed:  # 0: not in the excerpt.
                yield f"{key} of GPU {i}", printed, plan["gpus"][i][name] / 2**20
    for key, name in (("host_cache", "cache_bytes"), ("host_compute", "compute_bytes")):
        if key in log:
            yield key, log[key], plan["host"][name] / 2**20


def check(name):
    """Prints a table's worst size; returns what is further off than the bar."""
    table = tomllib.loads((pathlib.Path(__file__).parent / name).read_text())
    worst, sizes, failures = 0.0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for log in table["logs"]:
            plan = plan_of(log, table["models"], folder)
            for what, printed, planned in pairs_of(log, plan):
                error = max(0.0, abs(planned - printed) - ROUNDING) / printed
                worst, sizes = max(worst, error), sizes + 1
                if error > BAR:
                    failures.append(f"{log['address']}: {log['model']} {log['arguments']}: {what}: expected {printed} MiB, "
                                    f"found {planned:.2f}")
    print(f"{name}: {len(table['logs'])} logs, {sizes} sizes, worst {worst:.2%}")
    return failures


def main():
    failures = [failure for name in TABLES for failure in check(name)]
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
