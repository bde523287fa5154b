#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom test` with the real PyTorch: on the processor, and on a stand-in for a GPU with one fault at a time.

    faults_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER      exit 77: there is no build/venv
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
PYTHON = SOURCE / "build/venv/bin/python"
SCHEMA = SOURCE / "docs/schema/test.schema.json"
LIMIT_S = 600
CARD = "0000:03:00.0"


def environment(fault=None, **more):
    """With a fault, or "", there is the stand-in."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    if fault is not None:
        variables["PYTHONPATH"] = str(SOURCE / "tests/proof/stand_in")
        variables["FAKE_TORCH_FAULT"] = fault
    return variables


def words(*options):
    return [PROGRAMS / "headroom", "test", "--python", PYTHON, *options]


def exists(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class Faults(unittest.TestCase):
    def prove(self, fault, *options, code=1, device=CARD, **more):
        """The steps of the one device, by name."""
        done = subprocess.run(words("--json", *options), env=environment(fault, **more), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        report = json.loads(done.stdout)
        try:
            import jsonschema
            jsonschema.validate(report, json.loads(SCHEMA.read_text()))
        except ImportError:
            pass
        self.assertEqual([one["device"] for one in report["gpus"]], [device])
        self.steps = {one["name"]: one for one in report["gpus"][0]["steps"]}
        return report

    def only_failed(self, name):
        """The step, which alone failed."""
        self.assertEqual([one for one, step in self.steps.items() if step["ok"] is False], [name], self.steps)
        return self.steps[name]

    def test_healthy_card_passes_every_step(self):
        self.prove("", code=0)
        self.assertEqual({step["ok"] for step in self.steps.values()}, {True}, self.steps)
        self.assertIn("% of the", self.steps["rate"]["detail"])  # The card is known by its name.

    def test_processor_is_tested_where_there_is_no_gpu(self):
        report = self.prove(None, "--steps", "memory,released,matmul-fp32,softmax,network", code=0, device="cpu")
        self.assertEqual([name for name, step in self.steps.items() if step["ok"]],
                         ["import", "memory", "matmul-fp32", "softmax", "network"])
        self.assertIsNone(self.steps["released"]["ok"])
        self.assertIn("No GPU was tested", report["remarks"][0])

    def test_slow_card_is_found_by_its_rate(self):
        self.prove("slow", "--steps", "rate,bandwidth,softmax")
        self.assertEqual(self.only_failed("rate")["cause"]["id"], "slower")

    def test_flipped_bit_is_found_by_the_memory(self):
        self.prove("bit", "--steps", "memory,released")
        step = self.only_failed("memory")
        self.assertEqual(step["cause"]["id"], "hw-error")
        self.assertIn("1 of ", step["detail"])

    def test_wrong_element_is_found_by_its_product(self):
        self.prove("wrong", "--steps", "matmul-fp32,matmul-fp16,matmul-bf16")
        self.assertEqual(self.only_failed("matmul-fp16")["cause"]["id"], "wrong-answer")

    def test_memory_that_is_not_there_is_found(self):
        self.prove("size", "--steps", "memory,softmax")
        self.assertEqual(self.only_failed("memory")["cause"]["id"], "free-memory-misreported")

    def test_memory_that_does_not_come_back_is_found(self):
        self.prove("lost", "--steps", "released,softmax")
        self.assertEqual(self.only_failed("released")["cause"]["id"], "vram-orphaned")

    def test_crash_has_its_cause_and_the_steps_after_it_go_on(self):
        self.prove("crash", "--steps", "layer-norm,softmax,convolution")
        step = self.only_failed("softmax")
        self.assertIn("SIGABRT", step["detail"])
        self.assertIn("Memory access fault", step["cause"]["evidence"][0]["text"])
        self.assertTrue(self.steps["layer-norm"]["ok"] and self.steps["convolution"]["ok"])

    def test_exception_has_its_cause_and_the_steps_after_it_go_on(self):
        self.prove("error", "--steps", "layer-norm,softmax")
        step = self.only_failed("layer-norm")
        self.assertIn("RuntimeError: HIP error: invalid device function", step["detail"])
        self.assertIsNotNone(step["cause"])
        self.assertTrue(self.steps["softmax"]["ok"])

    def test_hang_is_ended_and_the_steps_after_it_go_on(self):
        with tempfile.TemporaryDirectory(prefix="headroom-hang-") as folder:
            mark = pathlib.Path(folder, "mark")
            self.prove("hang", "--steps", "convolution,network", "--timeout", "60", FAKE_TORCH_MARK=str(mark))
            self.assertFalse(exists(int(mark.read_text())))
        self.assertEqual(self.only_failed("convolution")["cause"]["id"], "gpu-hang")
        self.assertTrue(self.steps["network"]["ok"])

    def test_torch_that_cannot_be_loaded_fails_its_import(self):
        with tempfile.TemporaryDirectory(prefix="headroom-import-") as folder:
            pathlib.Path(folder, "sitecustomize.py").write_text(
                "import sys\nsys.modules['torch'] = None\n")
            self.prove(None, "--steps", "softmax", device="cpu", PYTHONPATH=folder)
        self.assertIn("ModuleNotFoundError", self.only_failed("import")["detail"])
        self.assertIsNone(self.steps["softmax"]["ok"])

    def test_killed_headroom_leaves_no_child(self):
        with tempfile.TemporaryDirectory(prefix="headroom-killed-") as folder:
            mark = pathlib.Path(folder, "mark")
            with subprocess.Popen(words("--steps", "convolution"), env=environment("hang", FAKE_TORCH_MARK=str(mark)),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
                end = time.monotonic() + LIMIT_S
                while not mark.exists():
                    self.assertIsNone(process.poll())
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.1)
                child = int(mark.read_text())
                self.assertTrue(exists(child))
                process.send_signal(signal.SIGKILL)
            end = time.monotonic() + 30
            while exists(child) and time.monotonic() < end:
                time.sleep(0.1)
            self.assertFalse(exists(child))


class Refusals(unittest.TestCase):
    def refuse(self, code, text, *options):
        done = subprocess.run([PROGRAMS / "headroom", "test", *options], env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_python_without_torch_cannot_be_tested(self):
        with tempfile.TemporaryDirectory(prefix="headroom-bare-") as folder:
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True)
            self.refuse(3, "expected PyTorch", "--python", folder)

    def test_wrong_words_are_refused(self):
        self.refuse(2, "found soft", "--steps", "soft")
        self.refuse(2, "--python nowhere", "--python", "nowhere")
        self.refuse(2, "expected --virtual-memory", "--self-test", "x.json")
        self.refuse(2, "found both", "--virtual-memory", "--python", "x")
        self.refuse(2, "--level", "--level", "slow")


if not PYTHON.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
unittest.main(verbosity=2)
