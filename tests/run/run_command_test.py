#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom run -- CMD` with real processes: exit codes, streams byte for byte, limits, restarts, signals.

    run_command_test.py FOLDER_OF_PROGRAMS

Whatever fills memory does it inside a limit of headroom's own and an outer one (RLIMIT_AS).
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((ROOT / "docs/schema/run.schema.json").read_text())
LIMIT_S = 60

OUT_OF_MEMORY = """
import sys
if int(sys.argv[1]) > 2:
    sys.exit("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 3.99 GiB. GPU 0 has a total capacity of "
             "15.98 GiB of which 1.20 GiB is free. Of the allocated memory 13.10 GiB is allocated by PyTorch, and "
             "900.00 MiB is reserved by PyTorch but unallocated.")
print(*sys.argv[1:])
"""
TAKES_MEMORY = "held = []\nwhile True:\n    held.append(bytearray(8 << 20))\n"


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


class Run(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-run-")
        self.folder = pathlib.Path(self.scratch.name)
        self.environment = {**os.environ, "HOME": str(self.folder), "PATH": f"{PROGRAMS}:/usr/bin:/bin"}
        self.environment.pop("XDG_STATE_HOME", None)

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def start(self, *words, **keys):
        return subprocess.Popen(["headroom", "run", *words], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=limit_memory, **keys)

    def run_it(self, *words):
        process = self.start("--report", "report.json", *words)
        out, err = process.communicate(timeout=LIMIT_S)
        report = None
        if (self.folder / "report.json").exists():
            report = json.loads((self.folder / "report.json").read_text())
            jsonschema.validate(report, SCHEMA)
        return process.returncode, out, err, report

    def test_the_exit_code_is_the_commands_own(self):
        for code in (0, 1, 2, 3, 77, 126, 127, 128, 130, 255):
            with self.subTest(code):
                found, _, _, report = self.run_it("--", "sh", "-c", f"exit {code}")
                self.assertEqual(found, code)
                self.assertEqual(report["exit_code"], code)
                self.assertEqual(report["outcome"], "failed" if code else "completed")

    def test_a_signal_is_128_and_its_number(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            code, _, _, report = self.run_it("--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(code, 128 + number)
            self.assertEqual(report["signal"], int(number))
            self.assertEqual(report["attempts"][0]["ended_by"], "itself")

    def test_what_cannot_be_started_ends_as_in_a_shell(self):
        self.assertEqual(self.run_it("--", "no-such-program")[0], 127)
        self.write("plain", "no program")
        code, _, err, _ = self.run_it("--", "./plain")
        self.assertEqual(code, 126)
        self.assertIn(b"headroom: ", err)

    def test_both_streams_pass_byte_for_byte(self):
        size = 20 << 20
        program = ("import os, sys\n"
                   f"data = bytes(range(256)) * ({size} // 256) + b'no end'\n"
                   "sys.stdout.buffer.write(data); sys.stderr.buffer.write(b'\\x00\\xff\\r' + data[:70000] + b'x')\n")
        code, out, err, _ = self.run_it("--quiet", "--", "python3", "-c", program)
        data = bytes(range(256)) * (size // 256) + b"no end"
        self.assertEqual(code, 0)
        self.assertTrue(out == data)
        self.assertTrue(err == b"\x00\xff\r" + data[:70000] + b"x")

    def test_two_streams_into_one_keep_their_order(self):
        program = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo $i >&2; done"
        expected = "".join(f"{i}\n{i}\n" for i in range(1, 10)).encode()
        words = ["headroom", "run", "--quiet", "--", "sh", "-c", program]
        keys = {"cwd": self.folder, "env": self.environment, "stdin": subprocess.DEVNULL, "check": True}
        piped = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, **keys)
        self.assertEqual(piped.stdout, expected)
        with open(self.folder / "log", "wb") as log:
            subprocess.run(words, stdout=log, stderr=subprocess.STDOUT, timeout=LIMIT_S, **keys)
        self.assertEqual((self.folder / "log").read_bytes(), expected)

    def test_words_behind_the_dashes_are_the_commands(self):
        words = ["[a,b]", "", "--memory", "--", "-q", "{x}", "a b"]
        _, out, _, _ = self.run_it("--", "python3", "-c", "import sys; print(sys.argv[1:])", *words)
        self.assertEqual(out.decode().strip(), str(words))

    def test_after_an_out_of_memory_micro_shrinks_and_the_product_stays(self):
        self.write("train.py", OUT_OF_MEMORY)
        code, out, err, report = self.run_it("--settings", "micro=12,accumulate=1", "--", "python3", "train.py",
                                             "{micro}", "{accumulate}")
        self.assertEqual(code, 0, err)
        self.assertEqual(out, b"1 12\n")
        self.assertEqual([attempt["settings"]["micro"] for attempt in report["attempts"]], [12, 6, 3, 1])
        self.assertEqual({attempt["settings"]["micro"] * attempt["settings"]["accumulate"]
                          for attempt in report["attempts"]}, {12})
        self.assertTrue(report["attempts"][0]["out_of_memory"])
        self.assertEqual(report["attempts"][0]["cause"]["evidence"][0]["source"], "stderr")
        self.assertIsNone(report["attempts"][-1]["cause"])

    def test_the_next_run_begins_where_the_last_one_had_to_shrink_to(self):
        self.write("train.py", OUT_OF_MEMORY.replace("sys.argv[1]", "sys.argv[2]"))
        words = ["--", "python3", "train.py", "--per_device_train_batch_size", "8"]
        _, _, _, first = self.run_it(*words)
        self.assertEqual(len(first["attempts"]), 3)
        code, out, err, second = self.run_it(*words)
        self.assertEqual(code, 0)
        self.assertEqual(len(second["attempts"]), 1, err)
        self.assertEqual(second["attempts"][0]["settings"]["micro"], 2)
        self.assertIn(b"headroom: on ", err)
        _, _, _, larger = self.run_it("--memory", "1GiB", *words)
        self.assertEqual(len(larger["attempts"]), 3)

    def test_a_limit_ends_what_takes_more_and_says_so(self):
        code, _, err, report = self.run_it("--memory", "200MiB", "--", "python3", "-c", TAKES_MEMORY)
        self.assertIn(code, (1, 137))
        self.assertEqual(report["attempts"][0]["cause"]["id"], "cgroup-memory-limit")
        self.assertTrue(report["attempts"][0]["out_of_memory"])
        self.assertIn(report["attempts"][0]["ended_by"], ("kernel", "headroom"))
        self.assertTrue(report["limited_by"])
        self.assertIn(b"200.0 MiB", err)

    def test_it_gives_up_after_so_many_restarts_with_the_root_cause(self):
        code, _, err, report = self.run_it("--restarts", "2", "--back-off", "0.05", "--", "sh", "-c",
                                           "echo 'OSError: [Errno 28] No space left on device' >&2; exit 3")
        self.assertEqual((code, report["outcome"], len(report["attempts"])), (3, "gave-up", 3))
        self.assertEqual(report["attempts"][-1]["cause"]["id"], "disk-full")
        self.assertIn(b"headroom: root cause: disk-full", err)
        self.assertIn(b"headroom: next: ", err)

    def test_a_command_that_does_nothing_hangs(self):
        code, _, _, report = self.run_it("--hang", "1", "--grace", "1", "--", "sleep", "1000")
        self.assertEqual((code, report["attempts"][0]["ended_by"]), (1, "headroom"))
        self.assertEqual(report["attempts"][0]["cause"]["id"], "hang")

    def test_what_it_leaves_behind_is_ended(self):
        _, out, _, report = self.run_it("--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
        self.assertEqual(len(report["left_behind"]), 1)
        self.assertTrue(report["left_behind"][0]["ended"])
        self.assertFalse(pathlib.Path("/proc", str(report["left_behind"][0]["pid"])).exists())

    def test_a_signal_to_headroom_stops_the_command(self):
        process = self.start("--report", "report.json", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; "
                             "while :; do sleep 0.1; done")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((process.returncode, report["outcome"]), (9, "stopped"))
        self.assertEqual(report["attempts"][0]["ended_by"], "user")

    def test_a_stopped_command_hears_the_signal(self):
        process = self.start("--grace", "300", "--", "sh", "-c", "trap 'exit 9' TERM; echo $$; kill -STOP $$; sleep 1000")
        stat = pathlib.Path("/proc", process.stdout.readline().decode().strip(), "stat")
        while ") T " not in stat.read_text():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=2 * LIMIT_S)  # Far less than the grace, also on a busy machine.
        self.assertEqual(process.returncode, 9)

    def test_nothing_outlives_a_headroom_that_is_killed(self):
        process = self.start("--", "sh", "-c", "setsid sleep 1000 & echo $!; sleep 1000")
        daemon = pathlib.Path("/proc", process.stdout.readline().decode().strip())
        process.kill()
        process.communicate(timeout=LIMIT_S)
        deadline = time.monotonic() + LIMIT_S
        while daemon.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(daemon.exists())

    def test_a_second_interrupt_kills_what_ignores_the_first(self):
        process = self.start("--", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 0.1; done")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 137)

    def test_a_reader_that_went_away_ends_the_command_as_without_headroom(self):
        process = self.start("--quiet", "--", "yes")
        process.stdout.read(100)
        process.stdout.close()
        # `yes` and what passes it on leave little of a busy machine: half a minute was seen.
        self.assertEqual(process.wait(timeout=5 * LIMIT_S), 128 + signal.SIGPIPE)
        process.stderr.close()

    def test_a_job_with_a_command_is_run_with_its_batch(self):
        self.write("train.py", OUT_OF_MEMORY)
        self.write("job.toml", '[engine]\nkind = "command"\n'
                   'command = ["python3", "train.py", "{micro}", "{accumulate}"]\n[batch]\nmicro = 4\naccumulate = 2\n')
        code, out, err, report = self.run_it("job.toml")
        self.assertEqual((code, out), (0, b"2 4\n"), err)
        self.assertEqual(len(report["attempts"]), 2)

    def test_a_job_with_a_global_batch_accumulates_up_to_it(self):
        self.write("job.toml", '[engine]\nkind = "command"\ncommand = ["echo", "{micro}", "{accumulate}"]\n'
                   '[batch]\nmicro = 4\nglobal = 32\n')
        self.assertEqual(self.run_it("job.toml")[:2], (0, b"4 8\n"))
        self.write("job.toml", '[engine]\nkind = "command"\ncommand = [""]\n')
        self.assertEqual(self.run_it("job.toml")[0], 2)

    def test_output_that_was_lost_is_said(self):
        with open("/dev/full", "wb") as full:
            process = subprocess.run(["headroom", "run", "--quiet", "--report", "report.json", "--", "echo", "hi"],
                                     cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=full,
                                     stderr=subprocess.PIPE, check=False, timeout=LIMIT_S)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(process.stderr.count(b"headroom: not all of the command's output could be written"), 1)
        self.assertEqual(len(json.loads((self.folder / "report.json").read_text())["warnings"]), 1)

    def test_memory_that_was_not_seen_is_missing_not_zero(self):
        for _ in range(5):
            report = self.run_it("--", "true")[3]
            self.assertNotEqual(report["attempts"][0]["peak"]["rss_bytes"], 0)

    def test_restarts_are_a_whole_number(self):
        for text in ("-1", "1.5", "", "99999999999999999999", "many"):
            with self.subTest(text):
                code, _, err, _ = self.run_it(f"--restarts={text}", "--", "false")
                self.assertEqual(code, 2)
                self.assertIn(b"--restarts", err)

    def test_a_setting_that_the_command_does_not_take_is_said(self):
        code, out, err, _ = self.run_it("--settings", "micro=8", "--", "echo", "hi")
        self.assertEqual((code, out), (0, b"hi\n"))
        self.assertIn(b"micro=8 changes nothing", err)
        self.assertNotIn(b"changes nothing", self.run_it("--settings", "micro=8", "--", "echo", "{micro}")[2])

    def test_a_value_of_an_option_that_has_none_is_refused(self):
        self.assertEqual(self.run_it("--allocator", "1", "--", "true")[0], 2)

    def test_splitting_is_on_or_off_and_belongs_to_the_allocator(self):
        show = ["--", "sh", "-c", "echo [$HEADROOM_SPLIT]"]
        for words, shown in ((["--allocator"], b"[]\n"), (["--allocator", "--split", "off"], b"[off]\n"),
                             (["--allocator", "--split", "on"], b"[on]\n")):
            self.assertEqual(self.run_it(*words, *show)[:2], (0, shown))
        for words in (["--split", "off"], ["--allocator", "--split", "maybe"]):
            code, _, err, _ = self.run_it(*words, "--", "true")
            self.assertEqual(code, 2)
            self.assertIn(b"--split: expected", err)

    def test_quiet_says_nothing_of_a_run_that_completed(self):
        self.assertEqual(self.run_it("--quiet", "--", "true")[2], b"")

    def test_devices_become_masks(self):
        _, out, _, _ = self.run_it("--device", "1", "--", "env")
        self.assertIn(b"HIP_VISIBLE_DEVICES=1\n", out)
        self.assertIn(b"CUDA_VISIBLE_DEVICES=1\n", out)
        self.assertEqual(self.run_it("--device", "one", "--", "true")[0], 2)

    def make_root(self, machine):
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run([PROGRAMS / "fake_machine", ROOT / "tests/machines" / f"{machine}.toml", root], check=True)
        (root / ".headroom-scratch-root").touch()
        return root

    def test_the_environment_is_cleaned_for_the_machines_gpus(self):
        self.make_root("two-cards-full-host")
        self.environment["HSA_OVERRIDE_GFX_VERSION"] = "9.0.6"
        show = ["--", "sh", "-c", "echo [$HSA_OVERRIDE_GFX_VERSION]"]
        _, out, err, _ = self.run_it("--root", "root", *show)
        self.assertEqual(out, b"[]\n")
        self.assertIn(b"headroom: HSA_OVERRIDE_GFX_VERSION=9.0.6 is removed: ", err)
        self.assertEqual(self.run_it("--root", "root", "--keep-env", *show)[1], b"[9.0.6]\n")

    def test_gpu_memory_of_its_processes_is_measured(self):
        root = self.make_root("two-cards-full-host")
        look = subprocess.run(["headroom", "check", "--json", "--root", "root"], cwd=self.folder, env=self.environment,
                              capture_output=True, check=False)
        pci = json.loads(look.stdout)["gpus"][0]["pci"]
        program = ("import os, pathlib, time\n"
                   f"folder = pathlib.Path('{root}', 'proc', str(os.getpid()), 'fdinfo')\n"
                   "folder.mkdir(parents=True)\n"
                   f"(folder / '7').write_text('drm-driver:\\tamdgpu\\ndrm-pdev:\\t{pci}\\ndrm-client-id:\\t9\\n"
                   "drm-memory-vram:\\t2048 KiB\\n')\n"
                   "time.sleep(3)\n")
        code, _, err, report = self.run_it("--root", "root", "--", "python3", "-c", program)
        self.assertEqual(code, 0, err)
        self.assertEqual(report["attempts"][0]["peak"]["vram_bytes"], 2 << 20)

    def set_available(self, root, bytes_):
        text = (root / "proc/meminfo").read_text()
        (root / "proc/meminfo").write_text(re.sub(r"MemAvailable:\s+\d+", f"MemAvailable: {bytes_ >> 10}", text))

    def test_what_the_guard_keeps_is_told_to_allocators_and_to_the_user(self):
        self.make_root("strix-halo-gttsize-above-ram")
        show = ["--root", "root", "--allocator"]
        command = ["--", "sh", "-c", "echo $HEADROOM_ALLOCATOR_GUARD"]
        _, out, err, _ = self.run_it(*show, *command)
        self.assertRegex(out, rb"^0000:[0-9a-f:.]+/ram=\d+(,|$)")
        self.assertRegex(err, rb"of RAM.* is kept free for the desktop and the system; --guard SIZE changes this, --guard off switches it off")
        self.assertRegex(self.run_it(*show, "--guard", "3GiB", *command)[1], rb"/ram=3221225472(,|$)")
        _, out, err, _ = self.run_it(*show, "--guard", "off", *command)
        self.assertEqual((out, b"guard" in err), (b"off\n", False))
        self.environment["HEADROOM_ALLOCATOR_GUARD"] = "5 GiB"
        self.assertEqual(self.run_it(*show, *command)[1], b"5 GiB\n")
        self.environment.pop("HEADROOM_ALLOCATOR_GUARD")
        self.assertEqual(self.run_it("--root", "root", *command)[1], b"\n")
        self.assertNotIn(b"guard", self.run_it("--quiet", *show, *command)[2])

    def test_what_an_apu_has_is_told_to_programs(self):
        show = ["--root", "root", "--allocator"]
        command = ["--", "sh", "-c", "echo $HEADROOM_ALLOCATOR_TOTAL"]
        self.make_root("strix-halo-gttsize-above-ram")
        look = subprocess.run(["headroom", "check", "--json", "--root", "root"], cwd=self.folder, env=self.environment,
                              capture_output=True, check=False)
        gpu = json.loads(look.stdout)["gpus"][0]
        binding = next(rung for rung in gpu["ladder"] if rung["binding"])
        told = f"{gpu['pci']}={binding['limit_bytes']}\n".encode()
        self.assertEqual(self.run_it(*show, *command)[1], told)
        self.assertEqual(self.run_it("--root", "root", *command)[1], b"\n", "without the allocator nobody reads it")
        self.environment["HEADROOM_ALLOCATOR_TOTAL"] = "off"
        self.assertEqual(self.run_it(*show, *command)[1], b"off\n")
        self.environment.pop("HEADROOM_ALLOCATOR_TOTAL")
        self.make_root("two-cards-full-host")
        self.assertEqual(self.run_it(*show, *command)[1], b"\n", "cards with memory of their own are as their driver says")

    def test_a_command_ends_before_the_system_runs_out(self):
        root = self.make_root("strix-halo-gttsize-above-ram")
        self.set_available(root, 8 << 30)
        program = ("import pathlib, signal, sys, time\n"
                   "def end(*_):\n    print('checkpoint')\n    sys.exit(0)\n"
                   "signal.signal(signal.SIGTERM, end)\n"
                   "file = pathlib.Path(sys.argv[1])\n"
                   "file.write_text(file.read_text().replace(str(8 << 20), sys.argv[2]))\n"
                   "time.sleep(60)\n")
        run = ["--root", "root", "--guard", "2GiB", "--", "python3", "-c", program, str(root / "proc/meminfo")]
        code, out, err, report = self.run_it(*run, str((2 << 20) - 1024))
        self.assertEqual((code, out), (1, b"checkpoint\n"), err)
        self.assertIn(b"of the system's memory is left, and the guard keeps 2.00 GiB free: asking the command to end", err)
        attempt = report["attempts"][0]
        self.assertEqual((attempt["ended_by"], attempt["cause"]["id"]), ("headroom", "vram-guard"))

    def test_a_command_that_holds_little_outlives_a_full_system(self):
        root = self.make_root("strix-halo-gttsize-above-ram")
        self.set_available(root, 1 << 30)  # Of the 2 GiB that are kept; the command holds some MiB.
        self.assertEqual(self.run_it("--root", "root", "--guard", "2GiB", "--", "sleep", "1")[0], 0)

    def test_a_guard_that_makes_no_sense_is_refused(self):
        for words in (["--guard", "much"], ["--guard", "0"], ["--guard", "-1"], ["--guard", "12"]):
            code, _, err, _ = self.run_it(*words, "--", "true")
            self.assertEqual(code, 2, words)

    def test_a_captured_machine_is_not_acted_on(self):
        root = self.make_root("two-cards-full-host")
        (root / ".headroom-scratch-root").unlink()
        self.assertEqual(self.run_it("--root", "root", "--", "true")[0], 3)


if __name__ == "__main__":
    unittest.main()
