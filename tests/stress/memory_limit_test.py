#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The allocator on host memory, in a control group with a limit of 512 MiB and a bystander: it is refused with the
reason, and nothing is killed. Everything that takes memory runs inside such a group, which the test makes and removes.

    memory_limit_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(sys.argv.pop(1))
MIB = 1 << 20
LIMIT = 512 * MIB
PATIENCE_S = 300
COUNT = itertools.count()


def own_path(controller):
    """The path of this process's group in /proc/self/cgroup; "" of the unified tree."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return path
    return "/"


def upward(base, path):
    """The groups that exist, from our own up to the root of what can be seen."""
    groups = [base / path.strip("/")]
    while groups[-1] != base:
        groups.append(groups[-1].parent)
    return [group for group in groups if group.is_dir()]


class Group:
    """A control group with a limit on memory, of whichever version this machine has."""

    def __init__(self):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        self.is_v1 = (v1 / "memory.limit_in_bytes").exists()
        base = v1 if self.is_v1 else pathlib.Path("/sys/fs/cgroup")
        reason = f"no group under {base} can be made here"
        for parent in upward(base, own_path("memory" if self.is_v1 else "")):
            self.folder = parent / f"headroom-test-{os.getpid()}-{next(COUNT)}"
            try:
                if not self.is_v1 and "memory" not in (parent / "cgroup.subtree_control").read_text().split():
                    continue
                self.folder.mkdir()
            except OSError as problem:
                reason = str(problem)
                continue
            try:
                self.set_limits()
                return
            except OSError as problem:
                reason = str(problem)
                self.folder.rmdir()
        raise unittest.SkipTest(reason)

    def set_limits(self):
        limits = (["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if self.is_v1 else ["memory.max"])
        for name in limits:
            if (self.folder / name).exists():  # Swap is not counted everywhere.
                (self.folder / name).write_text(str(LIMIT))
        if (self.folder / "memory.swap.max").exists():
            (self.folder / "memory.swap.max").write_text("0")

    def kills(self):
        text = (self.folder / ("memory.oom_control" if self.is_v1 else "memory.events")).read_text()
        return int(re.search(r"^oom_kill (\d+)$", text, re.M)[1])

    def start(self, *words, **more):
        def enter():
            (self.folder / "cgroup.procs").write_text("0")
        return subprocess.Popen([str(word) for word in words], preexec_fn=enter, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def remove(self):
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError:  # A process that has just ended is still in it.
                time.sleep(0.1)


BYSTANDER = """
import os, sys
held = bytearray(b"x") * (64 << 20)
if len(sys.argv) > 1:
    with open(sys.argv[1], "wb") as file:
        for _ in range(192):
            file.write(b"y" * (1 << 20))
        file.flush()
        os.fsync(file.fileno())
print("ready", flush=True)
sys.stdin.read()
"""


class MemoryLimit(unittest.TestCase):
    def setUp(self):
        self.group = Group()
        self.addCleanup(self.group.remove)
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def start(self, *words, **more):
        self.started.append(self.group.start(*words, **more))
        return self.started[-1]

    def start_bystander(self, *arguments):
        bystander = self.start(sys.executable, "-c", BYSTANDER, *arguments)
        self.assertEqual(bystander.stdout.readline(), "ready\n")
        return bystander

    def refused(self, taker):
        """What a taker says when it is refused; it holds on to what it has."""
        line = taker.stdout.readline()
        if not line:
            _, said = taker.communicate()
            self.fail(f"the taker ended with {taker.returncode} and said nothing: {said}")
        answer = json.loads(line)
        self.assertTrue(answer["out_of_memory"], answer)
        self.assertIn(f"control group /{self.group.folder.name}".split("/")[-1], answer["message"])
        self.assertIn("512.0 MiB", answer["message"], "what the group has")
        self.assertIn("32.0 MiB stay free", answer["message"], "the reserve")
        self.assertIn("[device] capacity", answer["next"])
        return answer

    def expect_nobody_was_killed(self, *bystanders):
        self.assertEqual(self.group.kills(), 0)
        for bystander in bystanders:
            self.assertIsNone(bystander.poll(), "a bystander ended")

    def test_what_is_beyond_the_limit_is_refused_and_nobody_is_killed(self):
        bystander = self.start_bystander()
        for how in ("one", "many", "pages"):
            for mode in ("vmm", "no-vmm"):
                if (how, mode) == ("pages", "no-vmm"):
                    continue
                with self.subTest(how=how, mode=mode):
                    taker = self.start(PROGRAMS / "memory_taker", how, mode)
                    answer = self.refused(taker)
                    self.expect_nobody_was_killed(bystander, taker)
                    if how == "many":
                        self.assertGreater(answer["taken_bytes"], 256 * MIB, "what there was it could have")
                        self.assertIn("no more of the device", answer["report"])
                    taker.communicate()
                    self.assertEqual(taker.returncode, 1)
        self.expect_nobody_was_killed(bystander)

    def test_several_that_take_at_the_same_time_are_all_refused_and_none_is_killed(self):
        bystander = self.start_bystander()
        for number in (2, 4):
            for mode in ("vmm", "no-vmm"):
                with self.subTest(number=number, mode=mode):
                    takers = [self.start(PROGRAMS / "memory_taker", "many", mode) for _ in range(number)]
                    for taker in takers:
                        self.refused(taker)
                    self.expect_nobody_was_killed(bystander, *takers)
                    for taker in takers:
                        taker.communicate()

    def test_the_page_cache_of_files_is_no_memory_that_is_gone(self):
        kind = subprocess.run(["stat", "-f", "-c", "%T", PROGRAMS], capture_output=True, text=True).stdout.strip()
        if kind in ("tmpfs", "ramfs"):
            self.skipTest(f"{PROGRAMS} is on {kind}, which has no page cache")
        with tempfile.NamedTemporaryFile(dir=PROGRAMS, prefix="cached-") as file:
            bystander = self.start_bystander(file.name)
            taker = self.start(PROGRAMS / "memory_taker", "many", "vmm")
            self.assertGreater(self.refused(taker)["taken_bytes"], 300 * MIB)
            self.expect_nobody_was_killed(bystander, taker)

    def test_a_training_job_beyond_the_limit_ends_with_the_reason(self):
        trainer = PROGRAMS / "headroom-train"
        if not trainer.exists():
            self.skipTest("headroom-train is not built")
        bystander = self.start_bystander()
        with tempfile.TemporaryDirectory(prefix="headroom-limit-") as scratch:
            folder = pathlib.Path(scratch)
            example = SOURCE / "examples" / "first-job"
            config = json.loads((example / "config.json").read_text())
            config.update(hidden_size=1024, intermediate_size=4096, num_hidden_layers=16)
            (folder / "config.json").write_text(json.dumps(config))
            job = (example / "job.toml").read_text()
            job = re.sub(r'^capacity = .*', 'capacity = "24GiB"', job, flags=re.M)
            job = re.sub(r'^path = .*', f'path = "{example / "text"}"', job, flags=re.M)
            (folder / "job.toml").write_text(job)
            job = self.start(trainer, folder / "job.toml", "--output", folder / "run")
            _, said = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 1, said)
        self.assertIn("out of memory", said)
        self.assertIn("stay free so that the kernel need not kill anything", said)
        self.expect_nobody_was_killed(bystander)

    def test_where_it_still_happens_the_trainer_goes_first(self):
        trainer = PROGRAMS / "headroom-train"
        if not trainer.exists():
            self.skipTest("headroom-train is not built")
        process = self.start(trainer, "-")  # It waits for its job.
        score = pathlib.Path(f"/proc/{process.pid}/oom_score_adj")
        for _ in range(PATIENCE_S * 10):
            if int(score.read_text()) >= 500:
                break
            self.assertIsNone(process.poll())
            time.sleep(0.1)
        self.assertGreaterEqual(int(score.read_text()), 500)


if __name__ == "__main__":
    try:
        Group().remove()
    except unittest.SkipTest as reason:
        print(f"skipped: a limit on memory cannot be set: {reason}")
        sys.exit(77)
    unittest.main()
