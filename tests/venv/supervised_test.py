#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch script that needs about twice the memory it is given finishes its epoch under `headroom run`, unchanged.

    supervised_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER      exit 77: there is no build/venv
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

SCRIPT = """
import argparse
import torch

options = argparse.ArgumentParser()
options.add_argument("--batch", type=int)
options.add_argument("--accumulate", type=int)
options = options.parse_args()
torch.manual_seed(1)
torch.set_num_threads(1)
features = 4 << 20  # 16 MiB a sample
weight = torch.zeros(features, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-8)
for step in range(2):
    for _ in range(options.accumulate):
        samples = torch.ones(options.batch, features)
        loss = ((samples * weight).sum(dim=1) - 1).square().mean() / options.accumulate
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("epoch done", options.batch * options.accumulate)
"""

programs = pathlib.Path(sys.argv[1]).resolve()
python = pathlib.Path(sys.argv[2], "build", "venv", "bin", "python")
if not python.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="headroom-venv-") as scratch:
    pathlib.Path(scratch, "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [programs / "headroom", "run", "--memory", "700MiB", "--report", "report.json", "--settings",
         "micro=16,accumulate=1", "--", python, "train.py", "--batch", "{micro}", "--accumulate", "{accumulate}"],
        cwd=scratch, env={**os.environ, "HOME": scratch, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=600, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30)))
    print(done.stderr.decode())
    report = json.loads(pathlib.Path(scratch, "report.json").read_text())
    assert done.returncode == 0, done
    assert done.stdout == b"epoch done 16\n", done.stdout
    assert report["attempts"][0]["out_of_memory"], report
    assert report["attempts"][-1]["settings"]["micro"] < 16, report
