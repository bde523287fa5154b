#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings that are "auto": on jobs of several kinds and three capacities each, what is chosen is what the plan says, finishes
without running out of memory, and stands in the report beside what was not chosen.

    automatic_test.py FOLDER_OF_PROGRAMS ROOT
"""
import json
import pathlib
import sys
import tempfile
import unittest

from tiny_job import CONFIG, Programs, write_job

ROOT = pathlib.Path(sys.argv.pop())
FOLDER = pathlib.Path(sys.argv.pop())
MIB = 1 << 20
OPEN = """
compute.dtype = "auto"
compute.attention = "auto"
compute.loss = "auto"
compute.checkpointing = "auto"
batch.micro = "auto"
batch.accumulate = "auto"
batch.global = 8
"""
# What is left out of OPEN, what is added, and whether the model is a GPT-2.
JOBS = {
    "full": ("", "", False),
    "lora": ("", 'method.kind = "lora"\nmethod.rank = 4\n', False),
    "gpt2": ("", 'optimizer.kind = "sgd"\n', True),
    "some": ("attention loss", "", False),
    "masters": ("attention loss", 'optimizer.kind = "adamw8bit"\noptimizer.master = "fp32"\n', False),
}
WIDE = CONFIG | {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 4}
GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 128, "vocab_size": 257, "attn_pdrop": 0,
        "embd_pdrop": 0, "resid_pdrop": 0}


def validate(report):
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.validate(report, json.loads((ROOT / "docs/schema/train.schema.json").read_text()))


class Automatic(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-automatic-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.programs = Programs(FOLDER, self.scratch / "state")
        write_job(self.scratch)

    def write(self, kind, capacity):
        left_out, more, is_gpt2 = JOBS[kind]
        (self.scratch / "config.json").write_text(json.dumps(GPT2 if is_gpt2 else WIDE))
        keys = [line for line in OPEN.splitlines() if not any(word in line for word in left_out.split())]
        job = self.scratch / f"{kind}.toml"
        job.write_text("\n".join(keys) + f"""
{more}model.config = "config.json"
engine.kind = "headroom"
batch.sequence = 96
data.path = "text.txt"
data.epochs = 1
""" + (f'device.capacity = "{capacity}"\n' if capacity else ""))
        return job

    def plan(self, job):
        planned = self.programs.run("headroom", "plan", job, "--json")
        self.assertIn(planned.returncode, (0, 1), planned.stderr)
        return json.loads(planned.stdout)

    def capacities(self, kind):
        """Room for everything, for the half of it, and just for what needs least."""
        job = self.write(kind, "4KiB")
        least = self.plan(job)["device_bytes"]
        most = self.plan(self.write(kind, "8GiB"))["device_bytes"]
        self.assertLess(least, most)
        return [most + 4 * MIB, (least + most) // 2, least + MIB // 2]

    def train(self, kind, capacity):
        job = self.write(kind, capacity)
        output = self.scratch / f"{kind}-{capacity}"
        ran = self.programs.run("headroom-train", job, "--output", output)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        report = json.loads((output / "report.json").read_text())
        validate(report)
        return report, ran.stderr, self.plan(job)

    def test_the_chosen_one_finishes_at_every_capacity(self):
        for kind in JOBS:
            chosen = []
            for capacity in self.capacities(kind):
                with self.subTest(kind=kind, capacity=capacity):
                    report, said, plan = self.train(kind, capacity)
                    self.assertTrue(report["completed"])
                    self.assertEqual(report["oom_events"], [])
                    automatic = report["automatic"]
                    self.assertEqual(said.count("auto: "), 1)
                    self.assertTrue(automatic["chosen"]["fits"])
                    self.assertLessEqual(report["measured"]["allocated_bytes"], capacity)
                    self.assertEqual(plan["allocated_bytes"], report["predicted"]["allocated_bytes"])
                    self.assertEqual(automatic["chosen"]["micro"] * automatic["chosen"]["accumulate"], 8)
                    for key in ("dtype", "attention", "loss", "checkpointing", "micro", "accumulate"):
                        self.assertEqual(automatic["chosen"][key], report["settings"][key], key)
                    for other in automatic["rejected"]:
                        self.assertTrue(not other["fits"] or other["relative_speed"] < 1.03, other)
                    chosen.append(automatic["chosen"])
            self.assertEqual(chosen[0]["micro"], 8, kind)
            self.assertNotEqual(chosen[0], chosen[-1], kind)

    def test_what_fits_nowhere_is_refused_with_its_reason(self):
        ran = self.programs.run("headroom", "run", self.write("full", "64KiB"), "--output", self.scratch / "out")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("not started: the job would run out of memory", ran.stderr)
        self.assertFalse((self.scratch / "out").exists())


if __name__ == "__main__":
    unittest.main()
