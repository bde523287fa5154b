#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom run --ranks N` with the real PyTorch of `./dev venv`: the averager in place of Gloo and NCCL.

    torch_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER STAND_INS
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS, SOURCE, STAND_INS = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
PYTHON = SOURCE / "build" / "venv" / "bin" / "python"
SCRIPTS = pathlib.Path(__file__).resolve().parent / "programs"
LIMIT_S = 240


def segments_left():
    """Segments of a `headroom run` that has ended: its job is named PID-PORT. Other tests make segments meanwhile."""
    found = pathlib.Path("/dev/shm").glob(f"headroom-averager.{os.geteuid()}.*")
    jobs = [(one.name, re.fullmatch(r"(\d+)-\d+", one.name.split(".")[2])) for one in found]
    return {name for name, job in jobs if job and not pathlib.Path("/proc", job[1]).exists()}


class TorchRanks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-ranks-")
        self.addCleanup(folder.cleanup)
        self.folder, self.before = folder.name, segments_left()

    def tearDown(self):
        self.assertEqual(segments_left() - self.before, set(), "left in /dev/shm")

    def run_ranks(self, ranks, script, *words, options=(), **variables):
        environment = {**os.environ, "HOME": self.folder, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **variables}
        return subprocess.run([PROGRAMS / "headroom", "run", *options, "--ranks", str(ranks), "--", PYTHON, SCRIPTS / script, *words],
                              cwd=self.folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S)

    def words_of(self, done):
        """Of the lines of two ranks, the words that are not their numbers."""
        self.assertEqual(done.returncode, 0, done.stderr)
        return {word for line in done.stdout.splitlines() for word in line.split()[1:]}

    def test_every_collective_with_two_and_with_three_ranks(self):
        for ranks in (2, 3):
            done = self.run_ranks(ranks, "collectives.py")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("headroom"), ranks)
            self.assertEqual(done.stderr.count("uses headroom's averager in place of nccl"), 1)

    def test_data_parallel_weights_are_gloo_s_and_the_same_from_run_to_run(self):
        ours = self.words_of(self.run_ranks(2, "data_parallel.py"))
        self.assertEqual(len(ours), 2, ours)  # The backend and one checksum.
        self.assertEqual(self.words_of(self.run_ranks(2, "data_parallel.py")), ours)
        gloo = self.words_of(self.run_ranks(2, "data_parallel.py", HEADROOM_RANKS_BACKEND="keep"))
        self.assertEqual(gloo, ours - {"headroom"} | {"gloo"})

    def test_callbacks_that_ask_for_collectives_do_so_in_the_same_place_on_all_ranks(self):
        ours = self.words_of(self.run_ranks(2, "nested.py"))  # Gloo does not end here, so there is nothing to compare with.
        self.assertEqual(len(ours), 2, ours)
        self.assertEqual(self.words_of(self.run_ranks(2, "nested.py")), ours)

    def test_sharded_weights_are_gloo_s(self):
        ours = self.words_of(self.run_ranks(2, "sharded.py"))
        gloo = self.words_of(self.run_ranks(2, "sharded.py", HEADROOM_RANKS_BACKEND="keep"))
        self.assertEqual((len(ours), gloo), (2, ours - {"headroom"} | {"gloo"}))

    def test_an_unmodified_trainer_has_gloo_s_losses(self):
        def losses(**variables):
            done = self.run_ranks(2, "trainer.py", **variables)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = [json.loads(line.partition(" ")[2]) for line in done.stdout.splitlines() if line.startswith("result ")]
            self.assertEqual(len(found), 2, done.stdout)
            return {one[1] for one in found}, found[0][2]

        backend, ours = losses()
        kept, gloo = losses(HEADROOM_RANKS_BACKEND="keep")
        self.assertEqual((backend, kept), ({"headroom"}, {"gloo"}))
        self.assertEqual(ours, gloo)
        self.assertEqual(len(ours), 4)

    def test_a_rank_that_is_killed_ends_the_job_and_is_named(self):
        begun = time.monotonic()
        done = self.run_ranks(2, "data_parallel.py", "1")
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertRegex(done.stderr, r"rank 1 \(PID \d+\) was ended by signal 9; the others are ended")
        self.assertLess(time.monotonic() - begun, 60)

    def test_a_rank_that_leaves_early_is_an_error_of_the_others_and_not_a_wrong_average(self):
        done = self.run_ranks(2, "data_parallel.py", "1", "leaves")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("rank 1 is gone", done.stderr)

    def test_ranks_that_ask_for_different_things_are_refused_on_every_rank(self):
        done = self.run_ranks(2, "mismatch.py")
        self.assertEqual((done.stdout.count("refused"), done.stdout.count("passed")), (10, 0), done.stdout + done.stderr)

    def test_the_averages_are_then_of_those_that_are_left(self):
        done = self.run_ranks(3, "lost.py", options=("--lost-rank", "continue"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("headroom"), 2, done.stderr)

    def test_or_the_others_go_on_without_it(self):
        done = self.run_ranks(3, "data_parallel.py", "1", options=("--lost-rank", "continue"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("headroom"), 2, done.stderr)

    def test_tensors_of_gpus(self):
        stand_ins = f"{STAND_INS / 'libcudart.so.13'}:{STAND_INS / 'libcuda.so.1'}"
        for options in ((), ("--allocator",)):
            done = self.run_ranks(2, "on_gpu.py", options=options, FAKE_GPU_COUNT="2", LD_PRELOAD=stand_ins,
                                  HEADROOM_ALLOCATOR_SELF_TESTS=str(SOURCE / "absent.json"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue("cuda:0" in done.stdout and "cuda:1" in done.stdout, done.stdout)


if __name__ == "__main__":
    if not PYTHON.exists():
        print("there is no build/venv; ./dev venv makes it")
        sys.exit(77)
    unittest.main()
