#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` for llama.cpp, ollama and vLLM where somebody means harm or types nonsense: stores that loop, block or never
end, figures that nothing has, options that do not belong there, answers that cannot be written; and jobs from standard input.

usage: engines.py BIN_DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from llama_cpp_models import write_model

binary = pathlib.Path(sys.argv[1]) / "headroom"
DIGEST = {letter: letter * 64 for letter in "abcdef0"}
failures = []


def plan(words, *, text=None, out=subprocess.PIPE, environment=()):
    run = subprocess.run([binary, "plan", *words], input=text, stdout=out, stderr=subprocess.PIPE, text=True, timeout=60,
                         env={"PATH": os.environ["PATH"], **dict(environment)})
    return run.returncode, run.stdout or "", run.stderr


def expect(what, words, code, *, says="", **more):
    found, out, err = plan(words, **more)
    if found != code or says not in out + err or (code == 2 and "\n  next: " not in err):
        failures.append(f"{what}: expected exit {code} and \"{says}\" with a next step, found {found}:\n{(err or out)[:600]}")


def layer(kind, letter):
    return {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": f"sha256:{DIGEST[letter]}"}


def write_store(store, gguf):
    blobs, library = store / "blobs", store / "manifests/registry.ollama.ai/library"
    blobs.mkdir(parents=True)

    def add(name, layers):
        (library / name).mkdir(parents=True)
        (library / name / "latest").write_text(json.dumps({"layers": layers}))

    def blob(letter):
        return blobs / f"sha256-{DIGEST[letter]}"

    blob("a").write_bytes(gguf)
    add("good", [layer("model", "a")])
    os.mkfifo(blob("b"))
    add("pipe", [layer("model", "b")])
    add("pipe-parameters", [layer("model", "a"), layer("params", "b")])
    blob("c").symlink_to(blob("c").name)
    add("loop", [layer("model", "c")])
    add("gone", [layer("model", "d")])
    blob("e").write_bytes(gguf[:200])
    add("cut", [layer("model", "e")])
    blob("f").write_text(json.dumps({f"k{i}": i for i in range(200_000)}))
    add("long-parameters", [layer("model", "a"), layer("params", "f")])
    add("many", [layer("model", "a")] + [layer("params", "f")] * 200)
    blob("0").write_bytes(gguf[:8] + b"\xff" * 16 + gguf[24:])  # As many tensors as 64 bits say.
    add("huge-header", [layer("model", "0")])
    (library / "locked").mkdir()
    (library / "locked/latest").write_text("{}")
    (library / "locked/latest").chmod(0)


def check_stores(scratch, gguf):
    store = scratch / "store"
    write_store(store, gguf)
    for name, says in (("pipe", "not a regular file"), ("pipe-parameters", "a device or a pipe"), ("loop", "symbolic links"),
                       ("gone", "ollama pull gone"), ("cut", "end of the file"), ("long-parameters", "longer than"),
                       ("many", "at most 64 layers"), ("huge-header", "tensors and keys")):
        expect(name, ["--capacity", "8GiB", "--", f"OLLAMA_MODELS={store}", "ollama", "run", name], 2, says=says)
    if os.geteuid() != 0:
        expect("locked", ["--", f"OLLAMA_MODELS={store}", "ollama", "run", "locked"], 2, says="a user who may read")
    good = ["--capacity", "8GiB", "--", f"OLLAMA_MODELS={store}", "ollama", "run", "--keepalive", "5m", "good"]
    expect("an empty variable", good, 0, says="It fits", environment={"OLLAMA_CONTEXT_LENGTH": ""}.items())
    for variable in ("OLLAMA_NUM_PARALLEL=300", "OLLAMA_CONTEXT_LENGTH=4294967296", "OLLAMA_GPU_OVERHEAD=-1"):
        expect(variable, ["--", variable, *good[3:]], 2, says="expected a ")


def check_figures(scratch):
    serve = ["--capacity", "8GiB", "--", "vllm", "serve", str(scratch / "model")]
    for option, value in (("--max-num-seqs", "1099511627776"), ("--max-model-len", "1099511627776"), ("--max-model-len", "nan"),
                          ("--gpu-memory-utilization", "inf"), ("--block-size", "0"), ("-tp", "-1")):
        expect(f"{option} {value}", [*serve, option, value], 2, says="expected a")
    llama = ["--capacity", "8GiB", "--", "llama-server", "-m", str(scratch / "model.gguf")]
    for option, value in (("-c", "4294967296"), ("-ub", "4294967295"), ("-np", "257"), ("-ts", "nan,1"), ("-ngl", "1e99")):
        expect(f"{option} {value}", [*llama, option, value], 2, says="expected a")


def check_places(scratch):
    """A job is read once, so that it may come from a pipe; what only PyTorch's plan answers is refused by name."""
    jobs = {"vllm": (f'config = "{scratch}/model"', "vllm serve"), "llama.cpp": (f'config = "{scratch}/model.gguf"', "llama.cpp"),
            "ollama": (f'config = "{scratch}/model.gguf"', "ollama serve")}
    for engine, (model, says) in jobs.items():
        text = f'[model]\n{model}\n[engine]\nkind = "{engine}"\n[device]\ncapacity = "8GiB"\n'
        expect(f"{engine} from standard input", ["-"], 0, says=says, text=text)
        expect(f"{engine} with --fit", ["--fit", "-"], 0, says=says, text=text)
        for option in (["--html", str(scratch / "page.html")], ["--largest", "batch"]):
            expect(f"{engine} with {option[0]}", [*option, "-"], 2, says=f"{option[0]}: expected a job that PyTorch runs", text=text)
        job = scratch / f"{engine}.toml"
        job.write_text(text)
        expect(f"{engine} explained", ["--explain", "3GiB", str(job)], 2, says=f"next: headroom plan {job}")
    expect("--html of a command", ["--html", str(scratch / "page.html"), "--", "vllm", "serve", str(scratch / "model")], 2,
           says="--html: expected a job that PyTorch runs")
    if (scratch / "page.html").exists():
        failures.append("a page was written")


def check_outputs(scratch):
    for words in (["vllm", "serve", str(scratch / "model")], ["llama-server", "-m", str(scratch / "model.gguf")]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            expect(f"{words[0]} into a full file", ["--", *words], 3, says="could not be written", out=full)


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        model = {"architecture": "llama", "hidden": 256, "heads": 4, "kv_heads": 2, "layers": 2, "ff": 512, "vocabulary": 1000,
                 "context": 8192}
        write_model(scratch / "model.gguf", model)
        (scratch / "model").mkdir()
        (scratch / "model/config.json").write_text(json.dumps(
            {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
             "vocab_size": 1000, "max_position_embeddings": 512}))
        check_stores(scratch, (scratch / "model.gguf").read_bytes())
        check_figures(scratch)
        check_places(scratch)
        check_outputs(scratch)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
