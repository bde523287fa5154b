#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/first-job keeps its promises. One epoch of it, the whole thing otherwise: it finishes inside its cap, the
plan was right, the loss falls, and the same allocations run out of memory under PyTorch's rules.

    first_job_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(sys.argv.pop(1))
STATE = tempfile.TemporaryDirectory(prefix="headroom-state-")  # The history of runs; not that of whoever tests.


def headroom(*words):
    return subprocess.run([PROGRAMS / "headroom", *map(str, words)], capture_output=True, text=True, timeout=1200,
                          env={**os.environ, "XDG_STATE_HOME": STATE.name})


class FirstJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="headroom-first-job-")
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name) / "first-job"
        shutil.copytree(SOURCE / "examples" / "first-job", folder)
        job = folder / "job.toml"
        text = job.read_text()
        cls.capacity = re.search(r'^capacity = "(.+)"', text, re.M)[1]
        job.write_text(re.sub(r"^epochs = .*", "epochs = 1", text, flags=re.M))
        cls.output = folder / "run"
        cls.trace = folder / "run.trace"
        cls.run_result = headroom("run", job, "--output", cls.output, "--trace", cls.trace)

    def report(self):
        return json.loads((self.output / "report.json").read_text())

    def replay(self, policy):
        return json.loads(headroom("replay", self.trace, "--policy", policy, "--capacity", self.capacity, "--json").stdout)

    def test_it_finishes_and_the_plan_was_right(self):
        self.assertEqual(self.run_result.returncode, 0, self.run_result.stderr)
        report = self.report()
        self.assertTrue(report["completed"])
        measured, predicted = report["measured"]["allocated_bytes"], report["predicted"]["allocated_bytes"]
        self.assertLess(abs(predicted / measured - 1), 0.05)

    def test_the_run_is_in_the_history(self):
        runs = json.loads(headroom("plan", "--history", "--json").stdout)["runs"]
        self.assertEqual([run["outcome"] for run in runs], ["completed"])
        self.assertEqual(runs[0]["measured"]["allocated_bytes"], self.report()["measured"]["allocated_bytes"])
        self.assertEqual(runs[0]["measured"]["components"], self.report()["measured"]["components"])

    def test_the_loss_falls(self):
        losses = [json.loads(line)["loss"] for line in (self.output / "metrics.jsonl").read_text().splitlines()]
        tenth = max(1, len(losses) // 10)
        self.assertLess(sum(losses[-tenth:]) / tenth, 0.7 * losses[0])

    def test_the_model_file_holds_the_model(self):
        size = int.from_bytes((self.output / "model.safetensors").read_bytes()[:8], "little")
        header = json.loads((self.output / "model.safetensors").read_bytes()[8:8 + size])
        self.assertEqual(header["model.embed_tokens.weight"]["shape"], [257, 256])

    def test_pytorchs_rules_run_out_of_memory_on_the_same_allocations(self):
        self.assertTrue(self.replay("headroom")["completed"])
        self.assertFalse(self.replay("torch")["completed"])
        self.assertFalse(self.replay("torch-expandable")["completed"])


if __name__ == "__main__":
    unittest.main()
