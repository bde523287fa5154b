#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom test --multi` with the real PyTorch: two ranks on the processor, and several stand-ins for GPUs with one fault at a time.

    together_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER      exit 77: there is no build/venv
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
del sys.argv[1:3]
sys.path.insert(0, str(SOURCE / "tests/proof"))
from card import Machine  # noqa: E402  (after the path)

PYTHON = SOURCE / "build/venv/bin/python"
SCHEMA = SOURCE / "docs/schema/test.schema.json"
LIMIT_S = 900
ONE, OTHER, THIRD = "0000:03:00.0", "0000:07:00.0", "0000:0b:00.0"
STEPS = ["peer-copy", "peer-copy", "all-reduce-nccl", "all-reduce-gloo", "ddp", "fsdp", "data-parallel"]


class Together(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-together-")
        self.addCleanup(self.scratch.cleanup)
        self.mark = pathlib.Path(self.scratch.name, "mark")

    def words(self, buses, iommu, *options):
        machine = Machine(PROGRAMS, tempfile.mkdtemp(dir=self.scratch.name), buses=buses, iommu=iommu)
        return [PROGRAMS / "headroom", "test", "--multi", "--python", PYTHON, "--root", machine.folder, *options]

    def environment(self, fault, cards):
        """With a fault, or "", there are stand-ins."""
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "FAKE_TORCH_CARDS": str(cards), "FAKE_TORCH_MARK": str(self.mark)}
        if fault is not None:
            variables.update(PYTHONPATH=str(SOURCE / "tests/proof/stand_in"), FAKE_TORCH_FAULT=fault)
        return variables

    def prove(self, fault, code, buses=(3, 7), iommu="identity", timeout="90", steps=None):
        chosen = ["--steps", steps] if steps else []
        done = subprocess.run(self.words(buses, iommu, "--json", "--timeout", timeout, *chosen), env=self.environment(fault, len(buses)),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        report = json.loads(done.stdout)
        try:
            import jsonschema
            jsonschema.validate(report, json.loads(SCHEMA.read_text()))
        except ImportError:
            pass
        self.report, self.steps = report["multi"], report["multi"]["steps"]
        return report

    def only_failed(self, name, cause):
        """The step, which alone failed."""
        failed = [step for step in self.steps if step["ok"] is False]
        self.assertEqual([step["name"] for step in failed], [name], self.steps)
        self.assertEqual(failed[0]["cause"]["id"], cause)
        return failed[0]

    def step(self, name):
        return next(step for step in self.steps if step["name"] == name)

    def test_sound_cards_pass_every_step(self):
        self.prove("", 0)
        self.assertEqual([step["name"] for step in self.steps], STEPS)
        self.assertEqual({step["ok"] for step in self.steps}, {True}, self.steps)
        self.assertEqual([step["between"] for step in self.steps[:3]], [[ONE, OTHER], [OTHER, ONE], [ONE, OTHER]])
        self.assertIn("by nccl", self.step("ddp")["detail"])
        self.assertEqual(self.report["instead"], [])

    def test_processor_has_two_ranks_where_there_is_no_gpu(self):
        report = self.prove(None, 0, buses=())
        self.assertFalse(self.report["on_gpu"])
        self.assertIn("two ranks on the processor", report["remarks"][0])
        self.assertEqual({step["name"]: step["ok"] for step in self.steps},
                         {"all-reduce-gloo": True, "ddp": True, "fsdp": True, "data-parallel": None})

    def test_copy_that_arrives_changed_names_its_direction(self):
        self.prove("peer", 1, iommu="DMA-FQ", steps="peer-copy")
        step = self.only_failed("peer-copy", "rccl-p2p")
        self.assertEqual(step["between"], [ONE, OTHER])
        self.assertIn("1 of 16777216 words", step["detail"])
        self.assertEqual([fact["id"] for fact in self.report["facts"]], ["iommu-not-passthrough"])

    def test_sum_that_hangs_names_the_ranks_the_reason_and_what_works_instead(self):
        self.prove("stuck", 1, iommu="DMA-FQ", timeout="50", steps="all-reduce-nccl,ddp")
        step = self.only_failed("all-reduce-nccl", "rccl-p2p")
        self.assertIn("rank 0 (cuda:0) waits at: all_reduce of 4 bytes, rank 1 (cuda:1) waits", step["detail"])
        self.assertTrue(any("IOMMU" in line["meaning"] for line in step["cause"]["evidence"]), step)
        self.assertTrue(self.step("all-reduce-nccl-no-p2p")["ok"])
        self.assertIn("by nccl with NCCL_P2P_DISABLE=1", self.step("ddp")["detail"])
        instead = " ".join(self.report["instead"])
        self.assertIn("NCCL_P2P_DISABLE=1 torchrun --nproc-per-node 2", instead)
        self.assertIn("headroom run --ranks 2", instead)

    def test_wrong_sum_says_what_it_should_be(self):
        self.prove("sum", 1, steps="all-reduce-nccl,all-reduce-gloo,ddp,fsdp")
        failed = [step["name"] for step in self.steps if step["ok"] is False]
        self.assertEqual(failed, ["all-reduce-nccl", "all-reduce-nccl-no-p2p"])
        self.assertIn("the first is 3 and not 5", self.step("all-reduce-nccl")["detail"])
        self.assertIn("by gloo", self.step("ddp")["detail"])
        self.assertIsNone(self.step("fsdp")["ok"])

    def test_sum_of_gloo_that_hangs_is_no_matter_of_the_cards(self):
        self.prove("gloo", 1, iommu="DMA-FQ", timeout="50", steps="all-reduce-gloo")
        self.only_failed("all-reduce-gloo", "collective-hang")
        self.assertEqual(self.report["facts"], [])

    def test_of_three_cards_each_pair_is_told_apart(self):
        self.prove("sum", 1, buses=(3, 7, 11), steps="all-reduce-nccl")
        pairs = [step["between"] for step in self.steps if step["name"] == "all-reduce-nccl"]
        self.assertEqual(pairs, [[ONE, OTHER, THIRD], [ONE, OTHER], [ONE, THIRD], [OTHER, THIRD]])

    def test_data_parallel_that_deadlocks_is_ended(self):
        self.prove("dp", 1, timeout="50", steps="ddp,data-parallel")
        self.only_failed("data-parallel", "collective-hang")
        self.assertIn("DistributedDataParallel works here", " ".join(self.report["instead"]))

    def test_fsdp_that_crashes_has_the_cause_of_what_it_wrote(self):
        self.prove("fsdp", 1, steps="fsdp")
        failed = [step for step in self.steps if step["ok"] is False]
        self.assertEqual([step["name"] for step in failed], ["fsdp"])
        self.assertIn("SIGABRT", failed[0]["detail"])
        self.assertIn("Memory access fault", failed[0]["cause"]["evidence"][0]["text"])

    def test_gradients_that_are_averaged_wrongly_are_found(self):
        self.prove("ddp", 1, steps="ddp")
        self.assertIn("differs from the processor's", self.only_failed("ddp", "collective-hang")["detail"])

    def test_killed_headroom_leaves_no_rank(self):
        with subprocess.Popen(self.words((3, 7), "identity", "--steps", "all-reduce-nccl"), env=self.environment("stuck", 2), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as process:
            end = time.monotonic() + LIMIT_S
            while not self.mark.exists():
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
            rank = int(self.mark.read_text())
            process.send_signal(signal.SIGKILL)
        end = time.monotonic() + 30
        while exists(rank) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertFalse(exists(rank))

    def test_words_that_do_not_go_together_are_refused(self):
        for other in (("--level", "full"), ("--minutes", "3"), ("--virtual-memory",)):
            done = subprocess.run([PROGRAMS / "headroom", "test", "--multi", *other], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                                  check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("found both", done.stderr.decode())


def exists(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


if not PYTHON.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
unittest.main(verbosity=2)
