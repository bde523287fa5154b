#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom try` and `headroom test` with the real frameworks that are on this machine: all finish one job with the same losses, in one table.

    real_stacks_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER      exit 77: fewer than two stacks are here, which are named

Those of ./dev venv and below build/stacks/, and those that HEADROOM_STACKS names, with colons between them. For instance:

    python3 -m venv build/stacks/jax && build/stacks/jax/bin/pip install 'jax[cpu]' onnxruntime
    python3 -m venv build/stacks/tensorflow && build/stacks/tensorflow/bin/pip install tensorflow-cpu
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
del sys.argv[1:3]
LIMIT_S = 1800
MODULES = ("torch", "jax", "tensorflow", "onnxruntime")
FIND = f"import importlib.util; print(*[name for name in {MODULES} if importlib.util.find_spec(name)])"
CONFIG = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "vocab_size": 256, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
JOB = '[model]\nconfig = "config.json"\n[compute]\ndtype = "fp32"\n[batch]\nmicro = 4\nsequence = 64\n'


def find_stacks():
    """What each Python that is here has, by its path."""
    named = [pathlib.Path(one) for one in os.environ.get("HEADROOM_STACKS", "").split(":") if one]
    folders = [SOURCE / "build/venv", SOURCE / "build/torch24", SOURCE / "build/onnxruntime", *sorted((SOURCE / "build/stacks").glob("*"))]
    found = {}
    for folder in [pathlib.Path("/usr"), *folders, *named]:
        python = folder / "bin/python3"
        if not python.exists():
            continue
        done = subprocess.run([python, "-c", FIND], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 0 and done.stdout.split():
            found[str(python)] = done.stdout.split()
    return found


STACKS = find_stacks()
TRAINERS = {python: [name for name in names if name != "onnxruntime"] for python, names in STACKS.items()}


class Real(unittest.TestCase):
    def ask(self, *words):
        done = subprocess.run([PROGRAMS / "headroom", *words, "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
        return json.loads(done.stdout)

    def test_one_job_is_the_same_in_all_of_them(self):
        with tempfile.TemporaryDirectory(prefix="headroom-stacks-") as name:
            folder = pathlib.Path(name)
            (folder / "config.json").write_text(json.dumps(CONFIG))
            (folder / "job.toml").write_text(JOB)
            pythons = [word for python, names in TRAINERS.items() if names for word in ("--python", python)]
            report = self.ask("try", folder / "job.toml", "--steps", "4", *pythons)
        rows = report["stacks"]
        self.assertEqual(sorted((row["python"], row["framework"]) for row in rows),
                         sorted((python, name) for python, names in TRAINERS.items() for name in names))
        for row in rows:
            self.assertTrue(row["ok"], row)
            self.assertEqual(row["steps_done"], 4)
            self.assertAlmostEqual(row["last_loss"], rows[0]["last_loss"], delta=1e-3)
            self.assertLess(row["last_loss"], row["first_loss"])
            self.assertGreater(row["peak_bytes"], 0)
        speeds = [row["samples_per_s"] for row in rows]
        self.assertEqual(speeds, sorted(speeds, reverse=True))

    def test_every_framework_computes_right(self):
        for python, names in STACKS.items():
            report = self.ask("test", "--python", python, "--steps", "matmul-fp32,softmax,layer-norm,convolution,network,training")
            self.assertEqual(len({one["framework"] for one in report["gpus"]}), len(names), report)
            for one in report["gpus"]:
                steps = {step["name"]: step["ok"] for step in one["steps"]}
                for step in ("import", "matmul-fp32", "softmax", "layer-norm", "convolution"):
                    self.assertTrue(steps[step], one)
                self.assertEqual(steps["training"], None if one["framework"].startswith("onnxruntime") else True, one)


if sum(len(names) for names in TRAINERS.values()) < 2:
    print(f"expected two stacks or more, found {STACKS or 'none'}; the first lines of {sys.argv[0]} say how to install some")
    sys.exit(77)
unittest.main(verbosity=2)
