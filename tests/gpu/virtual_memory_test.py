#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom test --virtual-memory on stand-ins for HIP and CUDA whose GPUs pass, lose data, die and hang, and on host
memory; and that what it keeps is what the allocator finds.

    virtual_memory_test.py FOLDER_OF_PROGRAMS FOLDER_OF_STAND_INS
"""
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS, STAND_INS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"
KERNEL = "6.11.0-29-generic"
LIBRARIES = {"hip": ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
             "cuda": ["libcuda.so.1", "libcuda.so"]}
STEPS = ["plain memory", "addresses", "pages", "settling", "remapping", "growing", "sizes", "gaps", "handles", "live data",
         "giving back"]


class VirtualMemory(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-virtual-memory-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.home = self.folder / "home"
        self.home.mkdir()
        self.kept = self.home / ".cache/headroom/virtual-memory.json"
        self.machine = self.make_machine("two-cards-full-host")

    def make_machine(self, name):
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / f"{name}.toml", self.folder / name], check=True)
        return self.folder / name

    def libraries(self, *runtimes):
        """A folder with stand-ins for these; of the others it has what cannot be loaded, so that this machine's do not count."""
        folder = self.folder / f"libraries-{'-'.join(runtimes)}"
        if not folder.exists():
            folder.mkdir()
            for runtime, names in LIBRARIES.items():
                for name in names:
                    if runtime in runtimes and (STAND_INS / name).exists():
                        (folder / name).symlink_to(STAND_INS / name)
                    else:
                        (folder / name).touch()
        return folder

    def command(self, *words, faults="", runtimes=("hip",), machine=None, **variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8",
                       "LD_LIBRARY_PATH": str(self.libraries(*runtimes)),
                       "FAKE_GPU_FAULTS": faults, **variables}
        return {"args": [PROGRAMS / "headroom", "test", "--virtual-memory", "--root", machine or self.machine, *words],
                "env": environment, "cwd": self.folder, "stdin": subprocess.DEVNULL, "text": True}

    def run_it(self, *words, **how):
        return subprocess.run(**self.command(*words, **how), capture_output=True, timeout=300)

    def ask(self, code, *words, **how):
        """The report as JSON: devices by (runtime, number), and the whole."""
        run = self.run_it("--json", *words, **how)
        self.assertEqual((run.returncode, run.stderr), (code, ""), run.stdout)
        report = json.loads(run.stdout)
        return {(one["runtime"], one["device"]): one for one in report["virtual_memory"]["devices"]}, report

    def results(self):
        """What is kept, by what it holds for."""
        kept = json.loads(self.kept.read_text())
        return {(one["gpu"], one["driver"], one["runtime"]): one["report"] for one in kept["results"]}

    def test_devices_that_pass_are_kept_where_the_allocator_looks(self):
        devices, report = self.ask(0, runtimes=("hip", "cuda"))
        self.assertEqual(sorted(devices), [("cuda", 0), ("cuda", 1), ("hip", 0), ("hip", 1), ("host", 0)])
        for device in devices.values():
            self.assertEqual((device["verdict"], device["used"], device["why"]), ("used", True, None))
            self.assertEqual([step["name"] for step in device["result"]["steps"]], STEPS)
            self.assertTrue(all(step["passed"] and step["took_ns"] >= 0 for step in device["result"]["steps"]))
        card = devices["hip", 1]
        self.assertEqual((card["pci"], card["name"]), ("0000:0f:00.0", "AMD Radeon RX 7900 XTX"))
        self.assertEqual(card["key"], {"gpu": "gfx1100", "driver": KERNEL, "runtime": "7.2.53211"})
        self.assertEqual(report["virtual_memory"]["kept_in"], str(self.kept))
        self.assertEqual({key: one["passed"] for key, one in self.results().items()},
                         {("gfx1100", KERNEL, "7.2.53211"): True, ("a fake GPU", "13.0", ""): True,
                          ("host memory", KERNEL, ""): True})
        self.assertEqual(stat.S_IMODE(self.kept.parent.stat().st_mode), 0o700)
        self.assertEqual(list(self.kept.parent.iterdir()), [self.kept])

    def test_a_device_that_loses_data_names_the_step_and_is_not_used(self):
        devices, _ = self.ask(1, faults="live_data_zeroed")
        card = devices["hip", 0]
        self.assertEqual((card["verdict"], card["used"]), ("failed", False))
        self.assertEqual(card["result"]["steps"][-1]["name"], "live data")
        self.assertIn("words are wrong", card["result"]["steps"][-1]["found"])
        self.assertEqual(devices["host", 0]["verdict"], "used")

    def test_of_two_devices_that_nothing_tells_apart_the_worse_counts(self):
        for runtime, faults in (("hip", "live_data_zeroed,none"), ("cuda", "none,live_data_zeroed")):
            devices, _ = self.ask(1, faults=faults, runtimes=(runtime,))
            self.assertEqual(len([one for one in devices.values() if one["verdict"] == "failed"]), 1)
            self.assertEqual(len([one for one in devices.values() if one["used"]]), 1, "host memory alone")
            passed = devices[runtime, 1 if faults.startswith("live") else 0]
            self.assertEqual((passed["verdict"], passed["result"]["passed"]), ("denied", True))
            self.assertIn("cannot be told apart", passed["why"])
            gpu = ("gfx1100", KERNEL, "7.2.53211") if runtime == "hip" else ("a fake GPU", "13.0", "")
            self.assertFalse(self.results()[gpu]["passed"])

    def test_a_device_that_ends_the_process_has_failed(self):
        devices, _ = self.ask(1, faults="none,crash")
        step = devices["hip", 1]["result"]["steps"][-1]
        self.assertEqual((step["name"], step["passed"]), ("settling", False))
        self.assertIn("was ended", step["found"])
        self.assertNotIn("took_ns", step)
        self.assertFalse(self.results()["gfx1100", KERNEL, "7.2.53211"]["passed"])

    def test_a_device_that_hangs_has_failed_and_nobody_waits(self):
        devices, _ = self.ask(1, "--timeout", "20", faults="hang,none")
        self.assertEqual(devices["hip", 0]["verdict"], "failed")
        self.assertIn("no answer within 20 s", devices["hip", 0]["result"]["steps"][-1]["found"])
        self.assertTrue(devices["hip", 1]["result"]["passed"], "the next one is tested")
        self.assertEqual(devices["host", 0]["verdict"], "used")

    def test_what_is_known_to_lose_data_is_denied_though_it_passed(self):
        machine = self.folder / "denied.toml"
        machine.write_text((MACHINES / "two-cards-full-host.toml").read_text().replace("gfx = 110000", "gfx = 120001"))
        subprocess.run([PROGRAMS / "fake_machine", machine, self.folder / "denied"], check=True)
        devices, _ = self.ask(0, machine=self.folder / "denied")
        card = devices["hip", 0]
        self.assertEqual((card["key"]["gpu"], card["verdict"], card["used"]), ("gfx1201", "denied", False))
        self.assertTrue(card["result"]["passed"])
        self.assertIn("rocm-systems#11693", card["why"])

    def test_what_cannot_be_told_apart_is_tested_and_not_kept(self):
        devices, _ = self.ask(3, machine=self.make_machine("no-gpu"))
        self.assertEqual((devices["hip", 0]["verdict"], devices["hip", 0]["used"]), ("not_kept", False))
        self.assertNotIn("gfx1100", self.kept.read_text())

    def test_without_a_runtime_host_memory_alone_is_tested(self):
        devices, report = self.ask(0, runtimes=(), machine=self.make_machine("no-gpu"))
        self.assertEqual(list(devices), [("host", 0)])
        absent = report["virtual_memory"]["absent"]
        self.assertEqual([(one["runtime"], one["has_gpu"]) for one in absent], [("hip", False), ("cuda", False)])
        for one in absent:
            self.assertIn("found none", one["why"])

    def test_a_gpu_without_its_runtime_could_not_be_looked_at(self):
        run = self.run_it(runtimes=())
        self.assertEqual(run.returncode, 3)
        self.assertIn("No HIP GPU was tested", run.stdout)
        self.assertIn("Next: headroom check", run.stdout)

    def test_a_file_of_the_users_is_written_and_others_are_left_alone(self):
        run = self.run_it("--self-test", "mine.json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("self_test_path", run.stdout)
        self.assertIn("gfx1100", (self.folder / "mine.json").read_text())
        self.assertEqual(list(self.home.iterdir()), [])
        other = self.folder / "job.toml"
        other.write_text("[model]\n")
        run = self.run_it("--self-test", "job.toml")
        self.assertEqual((run.returncode, run.stdout, other.read_text()), (2, "", "[model]\n"))
        self.assertIn("expected a file that headroom test wrote", run.stderr)
        self.assertEqual(self.run_it("--self-test", "nowhere/file.json").returncode, 3)

    def test_the_folder_that_the_variable_names_is_used(self):
        self.ask(3, runtimes=(), XDG_CACHE_HOME=str(self.folder / "cache"))
        self.assertTrue((self.folder / "cache/headroom/virtual-memory.json").exists())
        run = self.run_it(HOME="")
        self.assertEqual(run.returncode, 3)
        self.assertIn("neither HOME nor XDG_CACHE_HOME", run.stderr)

    def test_verdicts_that_cannot_be_kept_are_told_and_not_relied_on(self):
        self.kept.parent.parent.write_text("a file in the folder's place")
        devices, report = self.ask(3, runtimes=())
        self.assertTrue(all(one["verdict"] == "not_kept" and not one["used"] for one in devices.values()))
        self.assertIsNone(report["virtual_memory"]["kept_in"])
        self.assertIn("--self-test", report["next"])

    def test_an_interrupt_leaves_neither_process_nor_file(self):
        with subprocess.Popen(**self.command("--timeout", "600", faults="hang"), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as program:
            child = self.child_that_sleeps(program.pid)
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.wait(60), -signal.SIGINT)
        deadline = time.monotonic() + 60
        while pathlib.Path(f"/proc/{child}").exists() and self.state(child) not in ("Z", "X"):
            self.assertLess(time.monotonic(), deadline, "the child lives on")
            time.sleep(0.01)
        self.assertEqual(list(self.home.iterdir()), [])

    @staticmethod
    def state(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return "X"

    def child_that_sleeps(self, parent):
        """The child whose driver hangs: in pause(), as the stand-in does."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for child in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                try:
                    waits = pathlib.Path(f"/proc/{child}/syscall").read_text().split()[0]
                except OSError:
                    continue
                if waits == str(PAUSE):
                    return int(child)
            time.sleep(0.01)
        raise AssertionError("no child hangs")


# pause(2) by its number on x86-64.
PAUSE = 34

if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("skipped: the number of pause(2) is that of x86-64")
        sys.exit(77)
    unittest.main()
