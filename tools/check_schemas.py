#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates real output of the built programs against docs/schema/.

    check_schemas.py [FOLDER_OF_PROGRAMS]      default: build/dev/bin

Exit 0: all valid, or nothing is built yet (said); 1: one mistake a line. A new schema is one line of SCHEMAS: the
file, and a function that yields the command lines whose output it describes.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import schema_machines
from schema_services import PROGRAMS, ROOT, deploy_commands, deploy_status_commands, tune_commands
from schema_try import try_commands

MACHINES = sorted((ROOT / "tests/machines").glob("*.toml"))
# One answer is much like the next: every third machine's, and all of them in `./dev test --all`.
SAMPLE = MACHINES if os.environ.get("HEADROOM_TEST_ALL") == "1" else MACHINES[::3]


def check_commands(scratch):
    """`headroom check` of test machines, and of this one."""
    yield ["headroom", "check", "--json"]
    for machine in SAMPLE:
        folder = pathlib.Path(scratch, machine.stem)
        subprocess.run([PROGRAMS / "fake_machine", machine, folder], check=True)
        yield ["headroom", "check", "--json", "--root", folder]
    log = pathlib.Path(scratch, "job.log")
    log.write_text("step 1/2 loss 2.0\nOSError: [Errno 28] No space left on device\n")
    stated = pathlib.Path(scratch, "stated.json")
    stated.write_text('{"gpu": "Radeon RX 7900 XT", "vram": "20 GB", "python": null}')
    empty = pathlib.Path(scratch, "empty.log")
    empty.write_text("")
    yield ["headroom", "check", "--json", "--log", log, "--stated", stated]
    yield ["headroom", "check", "--json", "--log", empty]
    yield ["headroom", "check", "--json", "--log", log, "--log", empty, "--here"]


def capture_commands(scratch):
    """`headroom capture` of a test machine as folder, and of this one."""
    machine = pathlib.Path(scratch, "machine")
    subprocess.run([PROGRAMS / "fake_machine", MACHINES[0], machine], check=True)
    yield ["headroom", "capture", pathlib.Path(scratch, "folder"), "--json", "--root", machine]
    yield ["headroom", "capture", pathlib.Path(scratch, "live"), "--json"]


def distribution(scratch, name):
    """A scratch root with the files and stand-in programs of a distribution."""
    folder = pathlib.Path(scratch, name)
    subprocess.run([PROGRAMS / "fake_distribution", name, folder], check=True)
    return folder


def fix_commands(scratch):
    """What a memory limit would change on each kind of boot loader, and other fixes."""
    for name in ("fedora-42", "ubuntu-24.04", "arch-systemd-boot", "bazzite", "nixos"):
        folder = distribution(scratch, name)
        yield ["headroom", "fix", "ttm-cap", "--json", "--root", folder]
    yield ["headroom", "fix", "ttm-cap", "--via", "modprobe", "--json", "--root", distribution(scratch, "debian-12")]


def fixes_commands(scratch):
    """Every fix of a machine that needs some."""
    yield ["headroom", "fix", "--json", "--root", distribution(scratch, "ubuntu-24.04")]


def change_commands(scratch):
    """A change applied, looked at and taken back."""
    folder = distribution(scratch, "ubuntu-24.04")
    yield ["headroom", "fix", "ttm-cap", "--apply", "--json", "--root", folder]
    yield ["headroom", "undo", "--json", "--root", folder]


def history_commands(scratch):
    """The journal of a machine that was changed once, and of one that never was."""
    folder = distribution(scratch, "fedora-42")
    yield ["headroom", "history", "--json", "--root", folder]
    subprocess.run([PROGRAMS / "headroom", "fix", "ttm-cap", "--apply", "--root", folder], check=True, capture_output=True)
    yield ["headroom", "history", "--json", "--root", folder]


def confirm_commands(scratch):
    """A reboot that brought what was predicted, and one that came up on the old entry."""
    for name, more in (("ubuntu-24.04", []), ("fedora-42", ["--fail"])):
        folder = distribution(scratch, name)
        subprocess.run([PROGRAMS / "headroom", "fix", "ttm-cap", "--apply", "--root", folder], check=True, capture_output=True)
        subprocess.run([PROGRAMS / "fake_distribution", "--reboot", *more, folder], check=True, capture_output=True)
        yield ["headroom", "confirm", "--json", "--root", folder]


def reclaim_commands(scratch):
    """`headroom reclaim` of every test machine that has a GPU: a dry run, and one that names a figure and every rung."""
    for machine in SAMPLE:
        if not any(word in machine.stem for word in ("two-cards-full", "orphan", "mi50", "strix-halo-half", "slurm", "igpu")):
            continue
        folder = pathlib.Path(scratch, machine.stem)
        subprocess.run([PROGRAMS / "fake_machine", machine, folder], check=True)
        yield ["headroom", "reclaim", "--json", "--root", folder]
        yield ["headroom", "reclaim", "--json", "--root", folder, "--all", "--free", "1GiB", "--up-to", "reboot"]


def test_commands(scratch):
    """`headroom test` of this machine, and of a machine whose GPUs are not here."""
    yield ["headroom", "test", "--virtual-memory", "--json", "--self-test", pathlib.Path(scratch, "here.json")]
    machine = pathlib.Path(scratch, "machine")
    subprocess.run([PROGRAMS / "fake_machine", MACHINES[0], machine], check=True)
    yield ["headroom", "test", "--virtual-memory", "--json", "--self-test", pathlib.Path(scratch, "there.json"), "--root", machine]


def replay_commands(scratch):
    """`headroom replay` of a small trace: one that ends, one that cannot, and every policy at once; and of snapshots."""
    trace = pathlib.Path(scratch, "small.trace")
    trace.write_text("a 1 3000000 0 weights\na 2 50000000\nf 1\na 3 1000\nf 2\nf 3\n")
    yield ["headroom", "replay", trace, "--policy", "headroom", "--min-capacity", "--json"]
    yield ["headroom", "replay", trace, "--policy", "headroom-no-vmm", "--calls-per-event", "--json"]
    yield ["headroom", "replay", trace, "--policy", "torch", "--capacity", "8MiB", "--json"]
    yield ["headroom", "replay", trace, "--json"]
    for name, capacity in (("whole", "64MiB"), ("oom", "24MiB")):
        snapshot = pathlib.Path(scratch, f"{name}.pickle")
        subprocess.run([PROGRAMS / "headroom", "replay", trace, "--policy", "torch", "--capacity", capacity, "--export",
                        snapshot], stdout=subprocess.DEVNULL)
        yield ["headroom", "replay", snapshot, "--json"]


def plan_llama_commands(scratch):
    """`headroom plan` of a model under llama.cpp: alone, as a command, on GPUs that hold it and that do not."""
    sys.path.insert(0, str(ROOT / "tests/plan"))
    import llama_cpp_models
    model = pathlib.Path(scratch, "model.gguf")
    llama_cpp_models.write_model(model, {"architecture": "llama", "layers": 4, "hidden": 512, "heads": 8, "kv_heads": 2,
                                         "ff": 1024, "vocabulary": 1024})
    yield ["headroom", "plan", "--json", model]
    yield ["headroom", "plan", "--json", "--capacity", "2GiB", "--context", "0", model]
    yield ["headroom", "plan", "--json", "--capacity", "24MiB", "--context", "0", "--", "llama-server", "-m", model, "-ts", "2,1"]
    yield ["headroom", "plan", "--json", "--", "llama-cli", "-m", model, "--device", "none"]


def plan_vllm_commands(_scratch):
    """`headroom plan` of a model under vLLM: without a card, on one that holds it, on two that do not, with layers of two kinds."""
    yield ["headroom", "plan", "--json", "--", "vllm", "serve", "Qwen/Qwen3-8B"]
    yield ["headroom", "plan", "--json", "--gpu", "MI300X", "--", "vllm", "serve", "Qwen/Qwen3-8B", "--enforce-eager"]
    yield ["headroom", "plan", "--json", "--gpu", "RX 7900 XTX", "--", "python", "-m", "vllm.entrypoints.openai.api_server", "--model",
           "Qwen/Qwen2.5-32B", "-tp", "2"]
    yield ["headroom", "plan", "--json", "--", "vllm", "serve", "google/gemma-3-27b-it", "--kv-cache-memory-bytes", "4G"]


def plan_diffusion_commands(scratch):
    """`headroom plan` of a pipeline of diffusers: without a card, on one that holds it, on one where calls of diffusers do, and on none."""
    yield ["headroom", "plan", "--json", "--model", "sdxl"]
    yield ["headroom", "plan", "--json", "--model", "sd15", "--gpu", "RX 7900 XTX"]
    yield ["headroom", "plan", "--json", "--model", "flux", "--dtype", "bf16", "--gpu", "RX 7900 XTX"]
    job = pathlib.Path(scratch, "pipeline.json")
    job.write_text(json.dumps({"model": {"name": "sdxl"}, "engine": {"kind": "diffusers", "enable_vae_tiling": True, "height": 2048},
                               "device": {"capacity": "1GiB"}}))
    yield ["headroom", "plan", "--json", job]


def plan_commands(scratch):
    """`headroom plan` of a job that fits, of two that do not (with and without advice), and of one without a
    capacity."""
    model = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300}
    job = {"model": {"config": model}, "batch": {"micro": 16, "sequence": 256}, "compute": {"dtype": "fp32"}}
    devices = {"fits": {"capacity": "1GiB"}, "tight": {"capacity": "14MiB"}, "hopeless": {"capacity": "2MiB"}, "open": {}}
    for engine in ("headroom", "transformers"):
        for name, device in devices.items():
            path = pathlib.Path(scratch, f"{engine}-{name}.json")
            path.write_text(json.dumps({**job, "engine": {"kind": engine}, "device": {**device, "context": 0}}))
            yield ["headroom", "plan", "--json", path]
    for path in sorted((ROOT / "examples").glob("*/job*.toml")):
        yield ["headroom", "plan", "--json", path]
    home = ["/usr/bin/env", f"XDG_STATE_HOME={scratch}/state", PROGRAMS / "headroom"]
    report = pathlib.Path(scratch, "report.json")
    for allocated in (26000000000, 26100000000, 26200000000):
        report.write_text(json.dumps({"measured": {"allocated_bytes": allocated}}))
        subprocess.run([*home, "plan", path, "--record", report], check=True, capture_output=True)
    yield [*home, "plan", "--json", path]


def past_runs_commands(scratch):
    """`headroom plan --history` before and after runs were recorded."""
    home = ["/usr/bin/env", f"XDG_STATE_HOME={scratch}/state", PROGRAMS / "headroom"]
    yield [*home, "plan", "--history", "--json"]
    job = ROOT / "examples/qwen2.5-3b-lora/job.toml"
    report = pathlib.Path(scratch, "report.json")
    for allocated in (26000000000, 26100000000, 26200000000):
        report.write_text(json.dumps({"measured": {"allocated_bytes": allocated, "reserved_bytes": allocated + 5}}))
        subprocess.run([*home, "plan", job, "--record", report], check=True, capture_output=True)
    yield [*home, "plan", "--history", "--json"]


def explain_commands(scratch):
    """`headroom plan --explain` of commands (one tensor, several, none, a shared segment) and of a job."""
    command = ["python", "main.py", "--num_layers", "4", "--model_dim", "256", "--hidden_dim", "1024", "--num_heads", "16",
               "--max_training_length", "1024", "--batch_size", "64"]
    for size in ("3.99GiB", "64.00MiB", "3.71GiB", "2.00MiB", "4286582784"):
        yield ["headroom", "plan", "--json", "--explain", size, "--", *command]
    for path in sorted((ROOT / "examples").glob("*/job*.toml")):
        yield ["headroom", "plan", "--json", "--explain", "64.00MiB", path]


def train_commands(scratch):
    """`headroom-train` of a tiny job that ends, and of one that runs out of memory."""
    if not (PROGRAMS / "headroom-train").exists():
        return
    folder = pathlib.Path(scratch)
    folder.joinpath("text.txt").write_text("A few words to learn.\n\n" + "And many more of them. " * 40)
    model = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 2, "vocab_size": 257, "rms_norm_eps": 1e-6, "tie_word_embeddings": True}
    changes = {"done": {}, "lora": {"method": {"kind": "lora"}}, "oom": {"compute": {"dtype": "fp32", "attention": "math"}}}
    for name, change in changes.items():
        job = {"model": {"config": model}, "compute": {"dtype": "fp32"}, "engine": {"kind": "headroom"},
               "batch": {"micro": 8 if name == "oom" else 1, "sequence": 500},
               "device": {"capacity": "4MiB"}, "data": {"path": "text.txt"}, **change}
        folder.joinpath(f"{name}.json").write_text(json.dumps(job))
        yield ["headroom-train", folder / f"{name}.json", "--output", folder / name, "--quiet", "--json"]


def run_commands(_scratch):
    """`headroom run` of commands that end well, badly, and not at all."""
    for words in (["true"], ["sh", "-c", "echo 'OSError: [Errno 28] No space left on device' >&2; exit 3"], ["/no/such/program"]):
        yield ["headroom", "run", "--quiet", "--report", "/dev/stdout", "--", *words]


def of_machines(commands):
    return lambda scratch: commands(scratch, PROGRAMS, SAMPLE)


SCHEMAS = {
    "accept.schema.json": of_machines(schema_machines.accept_commands),
    "capture.schema.json": capture_commands,
    "change.schema.json": change_commands,
    "check.schema.json": check_commands,
    "confirm.schema.json": confirm_commands,
    "deploy-status.schema.json": deploy_status_commands,
    "deploy.schema.json": deploy_commands,
    "explain.schema.json": explain_commands,
    "fix.schema.json": fix_commands,
    "fixes.schema.json": fixes_commands,
    "fleet.schema.json": of_machines(schema_machines.fleet_commands),
    "history.schema.json": history_commands,
    "live.schema.json": of_machines(schema_machines.live_commands),
    "past-runs.schema.json": past_runs_commands,
    "plan-diffusion.schema.json": plan_diffusion_commands,
    "plan-llama.schema.json": plan_llama_commands,
    "plan-vllm.schema.json": plan_vllm_commands,
    "plan.schema.json": plan_commands,
    "reclaim.schema.json": reclaim_commands,
    "replay.schema.json": replay_commands,
    "run.schema.json": run_commands,
    "test.schema.json": test_commands,
    "try.schema.json": try_commands,
    "train.schema.json": train_commands,
    "tune.schema.json": tune_commands,
}


def pointers_of_nulls(value, pointer=""):
    """Every null of a document, by JSON pointer."""
    if value is None:
        yield pointer
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from pointers_of_nulls(child, f"{pointer}/{key}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from pointers_of_nulls(child, f"{pointer}/{index}")


def documents_of(text):
    """The JSON documents of an output: one, or one a line."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decoder.raw_decode(text, at)
        yield document


def mistakes_of(document, validator):
    for error in validator.iter_errors(document):
        yield f"{error.json_path}: {error.message}"
    nulls = set(pointers_of_nulls({key: value for key, value in document.items() if key != "missing"}))
    for pointer in document.get("missing", {}):
        if pointer not in nulls:
            yield f"missing names {pointer}, which is not null"
    if document.get("schema") == "headroom.check/1":  # Elsewhere a null size may mean "no limit".
        for pointer in nulls:
            if pointer.endswith("_bytes") and pointer not in document.get("missing", {}):
                yield f"{pointer} is null and missing does not say why"


def main():
    if not (PROGRAMS / "headroom").exists() or not (PROGRAMS / "fake_machine").exists():
        print(f"schemas: nothing is built in {PROGRAMS}, so nothing was validated; ./dev build, then again")
        return 0
    import jsonschema
    mistakes = documents = 0
    for name, commands in SCHEMAS.items():
        schema = json.loads((ROOT / "docs/schema" / name).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        with tempfile.TemporaryDirectory() as scratch:
            for words in commands(scratch):
                run = subprocess.run([PROGRAMS / words[0], *words[1:]], capture_output=True, text=True, timeout=60)
                label = " ".join(str(word) for word in words).replace(scratch + "/", "")
                try:
                    answers = list(documents_of(run.stdout))
                    found = [mistake for answer in answers for mistake in mistakes_of(answer, validator)]
                    found += [] if answers else [f"no output, exit {run.returncode}: {run.stderr.strip()}"]
                    documents += len(answers)
                except ValueError as problem:
                    found = [f"no JSON ({problem}), exit {run.returncode}: {run.stderr.strip()}"]
                for mistake in found:
                    print(f"{name}: {label}: {mistake}")
                mistakes += len(found)
    for name in sorted(path.name for path in (ROOT / "docs/schema").glob("*.json")):
        if name not in SCHEMAS:
            mistakes += 1
            print(f"{name}: no line in SCHEMAS says what it describes")
    print(f"schemas: {documents} documents, {mistakes} mistakes", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
