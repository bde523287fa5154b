#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan -- vllm serve …` against what vLLM printed: load logs that people published (vllm_logs.toml).

usage: vllm_logs.py BIN_DIR. Exit 1 where weights or the profile run are off by more than their bar, where the cache that was
left is outside of the planned range, or where the blocks of a cache of the log's size are others than the log's.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

GIB = 2**30
ROUNDING = 0.0051  # The log's own, in GiB.
BARS = {"weights": 0.012, "activation": 0.02}
binary = pathlib.Path(sys.argv[1]) / "headroom"


def plan_of(log, more=()):
    model = [log["folder"]] if "folder" in log else []
    words = [binary, "plan", "--json", *log["device"], "--", *log.get("variables", []), "vllm", "serve", *model, *log["arguments"],
             *more]
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{log['source']}: expected a plan, found {run.stderr}")
    return json.loads(run.stdout)


def sizes_of(log, plan):
    """(what, printed, planned) in GiB."""
    for key in ("weights", "activation"):
        if key in log:
            yield key, log[key], plan[f"{key}_bytes"] / GIB


def cache_failures(log, plan):
    """The cache's size within the planned range, where all of the arguments are known."""
    low, high = (plan["cache"]["available"][key] / GIB for key in ("low_bytes", "high_bytes"))
    if "cache" in log and not low - ROUNDING <= log["cache"] <= high + ROUNDING:
        yield f"cache: expected {log['cache']} GiB between {low:.2f} and {high:.2f}"


def block_failures(log):
    """Blocks, tokens and concurrency of a cache as large as the log's, to what its rounding leaves open."""
    size = log.get("cache", log.get("cache_alone"))
    lower, upper = (plan_of(log, ["--kv-cache-memory-bytes", str(round((size + by) * GIB))])["cache"] for by in (-ROUNDING, ROUNDING))
    found = {"blocks": [cache["available"]["low_bytes"] // cache["block_bytes"] for cache in (lower, upper)],
             "tokens": [cache["tokens"]["low"] for cache in (lower, upper)],
             "concurrency": [round(cache["concurrency"]["low"] + by, 2) for cache, by in ((lower, -0.005), (upper, 0.005))]}
    for key, (low, high) in found.items():
        if key in log and not low <= log[key] <= high:
            yield f"{key}: expected {log[key]} between {low} and {high}"


def write_config(log, configs, scratch):
    """The folder of a model that the log's table describes."""
    folder = pathlib.Path(scratch, log["config"])
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(configs[log["config"]]))
    return str(folder)


def check(table, scratch):
    failures, errors = [], {key: [] for key in BARS}
    for log in table["logs"]:
        if "config" in log:
            log["folder"] = write_config(log, table["configs"], scratch)
        plan = plan_of(log)
        found = list(cache_failures(log, plan))
        for what, printed, planned in sizes_of(log, plan):
            error = max(0.0, abs(planned - printed) - ROUNDING) / printed
            errors[what].append(error)
            print(f"{what:11} {printed:8.3f} {planned:8.3f} {error:7.2%}  {log['source'][:70]}")
            if error > BARS[what]:
                found.append(f"{what}: expected {printed} GiB, found {planned:.3f}")
        if "cache" in log or "cache_alone" in log:
            found += block_failures(log)
        failures += [f"{log['source']}: {failure}" for failure in found]
    for what, all_of in errors.items():
        print(f"{what}: {len(all_of)} figures, median {sorted(all_of)[len(all_of) // 2]:.2%}, worst {max(all_of):.2%}")
    return failures


def main():
    table = tomllib.loads((pathlib.Path(__file__).parent / "vllm_logs.toml").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        failures = check(table, scratch)
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
