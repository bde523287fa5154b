#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom test --level soak` with the real PyTorch: on the processor, and on a stand-in for a GPU whose sensors are files of a test.

    soak_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER      exit 77: there is no build/venv
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
LIMIT_S = 600
CARD = "0000:03:00.0"
STEPS = ["import", "soak", "soak-memory", "soak-speed", "soak-heat", "soak-ras", "soak-link", "soak-reset"]


def environment(fault=None, **more):
    """With a fault, or "", there is the stand-in."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    if fault is not None:
        variables["PYTHONPATH"] = str(SOURCE / "tests/proof/stand_in")
        variables["FAKE_TORCH_FAULT"] = fault
    return variables


class Soak(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-soak-")
        self.addCleanup(self.scratch.cleanup)
        self.machine = Machine(PROGRAMS, self.scratch.name)
        self.mark = pathlib.Path(self.scratch.name, "mark")

    def words(self, *options):
        return [PROGRAMS / "headroom", "test", "--python", PYTHON, "--root", self.machine.folder, "--level", "soak", *options]

    def soak(self, fault, code, act=None, minutes="0.25", device=CARD):
        """The steps by name. `act` is called while the load runs."""
        with subprocess.Popen(self.words("--steps", "soak", "--minutes", minutes, "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env=environment(fault, FAKE_TORCH_LOAD=str(self.mark)), text=True) as process:
            try:
                if act:
                    self.wait_for(process, self.mark)
                    act()
                output, _ = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
        self.assertEqual(process.returncode, code, output)
        report = json.loads(output)
        try:
            import jsonschema
            jsonschema.validate(report, json.loads(SCHEMA.read_text()))
        except ImportError:
            pass
        self.assertEqual([one["device"] for one in report["gpus"]], [device])
        self.steps = {one["name"]: one for one in report["gpus"][0]["steps"]}
        self.assertEqual(list(self.steps), STEPS)

    def wait_for(self, process, path):
        end = time.monotonic() + LIMIT_S
        while not path.exists():
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def only_failed(self, name, cause):
        """The step, which alone failed."""
        self.assertEqual([one for one, step in self.steps.items() if step["ok"] is False], [name], self.steps)
        self.assertEqual(self.steps[name]["cause"]["id"], cause)
        return self.steps[name]

    def test_sound_card_passes_and_is_watched(self):
        self.soak("", 0)
        self.assertEqual({step["ok"] for step in self.steps.values()}, {True}, self.steps)
        self.assertIn("junction up to 66", self.steps["soak-heat"]["detail"])
        self.assertIn("2400 to 2400 MHz", self.steps["soak-speed"]["detail"])
        self.assertGreater(self.steps["soak"]["figure"], 20)

    def test_processor_is_loaded_where_there_is_no_gpu(self):
        self.machine = Machine(PROGRAMS, tempfile.mkdtemp(dir=self.scratch.name), buses=())
        self.soak(None, 0, device="cpu", minutes="0.1")
        self.assertTrue(self.steps["soak"]["ok"])
        self.assertIn("not judged", self.steps["soak-speed"]["detail"])
        for name in STEPS[4:]:
            self.assertIsNone(self.steps[name]["ok"])

    def test_card_that_tires_is_slower_for_the_reason_that_its_sensors_show(self):
        self.soak("tired", 1, lambda: self.machine.write("hwmon/hwmon2/freq1_input", "1200000000\n"), minutes="0.3")
        step = self.only_failed("soak-speed", "slower")
        self.assertIn("clocks", step["cause"]["title"])
        self.assertLess(step["figure"], -20)

    def test_heat_is_found(self):
        self.soak("", 1, lambda: self.machine.write("hwmon/hwmon2/temp2_input", "111000\n"))
        self.assertIn("junction up to 111 °C of 110", self.only_failed("soak-heat", "hw-error")["detail"])

    def test_ras_error_is_found_in_its_block(self):
        self.soak("", 1, lambda: self.machine.write("ras/umc_err_count", "ue: 1\nce: 0\n"))
        self.assertIn("umc", self.only_failed("soak-ras", "hw-error")["detail"])

    def test_reset_is_found(self):
        self.soak("", 1, lambda: self.machine.count_resets(1))
        self.only_failed("soak-reset", "gpu-hang")

    def test_link_that_loses_data_is_found(self):
        self.soak("", 1, lambda: self.machine.write("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 2\n"))
        self.only_failed("soak-link", "hw-error")

    def test_answer_that_changes_is_found(self):
        self.soak("drift", 1)
        self.assertIn("1 of 262144 elements", self.only_failed("soak", "hw-error")["detail"])

    def test_answer_that_changes_where_it_lies_is_memory(self):
        self.soak("rot", 1)
        self.assertIn("memory", self.only_failed("soak", "hw-error")["cause"]["title"])

    def test_memory_that_does_not_come_back_is_found(self):
        self.soak("lost", 1)
        self.only_failed("soak-memory", "vram-orphaned")

    def test_counters_that_are_not_there_are_skipped_with_the_reason(self):
        folder = self.machine.folder / "sys/devices/pci0000:03" / CARD
        for name in ("ras/umc_err_count", "hwmon/hwmon2/name", "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"):
            (folder / name).unlink()
        (self.machine.folder / ".headroom/amdgpu_info/renderD128").unlink()
        self.soak("", 0)
        for name in ("soak-heat", "soak-ras", "soak-link"):
            self.assertIsNone(self.steps[name]["ok"], name)
            self.assertTrue(self.steps[name]["detail"], name)

    def test_killed_headroom_leaves_no_load(self):
        with subprocess.Popen(self.words("--steps", "soak"), env=environment("", FAKE_TORCH_LOAD=str(self.mark)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as process:
            self.wait_for(process, self.mark)
            child = int(self.mark.read_text())
            process.send_signal(signal.SIGKILL)
        end = time.monotonic() + 30
        while pathlib.Path(f"/proc/{child}").exists() and time.monotonic() < end:
            time.sleep(0.1)
        state = pathlib.Path(f"/proc/{child}/stat")
        self.assertTrue(not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] in "ZX")


class Refusals(unittest.TestCase):
    def refuse(self, text, *options):
        done = subprocess.run([PROGRAMS / "headroom", "test", *options], env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_words_of_a_load_that_is_not_asked_for_are_refused(self):
        self.refuse("--minutes: expected --level soak", "--minutes", "5")
        self.refuse("found soak", "--steps", "soak")
        self.refuse("--minutes", "--level", "soak", "--minutes", "0")


if not PYTHON.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
unittest.main(verbosity=2)
