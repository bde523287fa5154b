#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom-train under launchers of several machines: torchrun, mpirun and what sets PyTorch's variables. The model is that of
`headroom run --ranks`, to the byte, and whoever is lost, the others end with a checkpoint.

    machines_test.py FOLDER_OF_PROGRAMS [TORCHRUN]
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "trainer"))
from hosts import Hosts, missing  # noqa: E402
from tiny_job import Programs, write_job  # noqa: E402
from tiny_runs import furthest, leftovers  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
TORCHRUN = pathlib.Path(sys.argv.pop(1)).absolute() if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
TRAIN = FOLDER / "headroom-train"
ADAMW = 1e-4  # How far rounding may take another number of ranks in these steps.
SILENT = 30  # Seconds after which a rank that says nothing is lost.


def free_port():
    """One that is free, as is the one behind it."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
                return port
            except (OSError, OverflowError):
                continue


class Machines(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-machines-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.programs = Programs(FOLDER, self.scratch / "state")
        self.before = leftovers()

    def tearDown(self):
        self.assertEqual(leftovers() - self.before, set())

    def write(self, *lines, epochs=4, name="job.toml"):
        job = write_job(self.scratch, name=name, epochs=epochs)
        job.write_text(job.read_text().replace("batch.micro = 2", "batch.micro = 1") + "batch.accumulate = 6\n" +
                       "\n".join(lines) + "\n")
        return job

    def hosts(self):
        if reason := missing():
            self.skipTest(reason)
        hosts = Hosts(self.scratch)
        self.addCleanup(hosts.close)
        return hosts

    def start(self, words, variables=None, **more):
        run = subprocess.Popen([str(word) for word in words], env={**self.programs.environment, **(variables or {})}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.scratch, **more)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        return run

    def begin(self, job, output, *words, ranks=2, port=None, hosts=None, stray=None):
        """The ranks of a job, one after the other on each of `hosts`; `stray`: what a rank has instead of `job` or variables."""
        port = port or free_port()
        runs = []
        for rank in range(ranks):
            variables = {"MASTER_ADDR": hosts[0].address if hosts else "127.0.0.1", "MASTER_PORT": str(port),
                         "WORLD_SIZE": str(ranks), "RANK": str(rank), **(stray or {}).get(rank, {})}
            command = [TRAIN, variables.pop("JOB", job), "--output", output, *words]
            runs.append(self.start(hosts[rank].words(self.scratch, *command) if hosts else command, variables))
        return runs

    def finish(self, runs, codes=0, timeout=120):
        said = [run.communicate(timeout=timeout)[0] for run in runs]
        self.assertEqual([run.returncode for run in runs], [codes] * len(runs) if isinstance(codes, int) else codes, said)
        return said

    def alone(self, job, output, *words):
        done = self.programs.run("headroom-train", job, "--output", self.scratch / output, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def in_shared_memory(self, job, output, ranks=2):
        done = self.programs.run("headroom", "run", "--ranks", ranks, job, "--output", self.scratch / output, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)

    def model(self, output):
        return (self.scratch / output / "model.safetensors").read_bytes()

    def steps(self, output):
        path = self.scratch / output / "metrics.jsonl"
        return path.read_text().count("\n") if path.exists() else 0

    def wait_for_steps(self, runs, output, count=3):
        deadline = time.monotonic() + 60
        while self.steps(output) < count:
            for run in runs:
                self.assertIsNone(run.poll(), run.stdout.read() if run.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline, "it did not begin")
            time.sleep(0.01)

    def test_the_bytes_are_those_of_ranks_in_shared_memory(self):
        job = self.write("data.evaluation = 0.2")
        for ranks in (2, 3):
            self.in_shared_memory(job, f"shared-{ranks}", ranks)
            said = self.finish(self.begin(job, f"net-{ranks}", ranks=ranks))
            self.assertIn("done; results are in", said[0])
            self.assertEqual(said[1:], [""] * (ranks - 1))
            self.assertEqual(self.model(f"shared-{ranks}"), self.model(f"net-{ranks}"))
        report = json.loads((self.scratch / "net-3" / "report.json").read_text())
        self.assertEqual([one["rank"] for one in report["ranks"]], [0, 1, 2])

    def test_bf16_too(self):
        job = self.write()
        job.write_text(job.read_text().replace('"fp32"', '"bf16"'))
        self.in_shared_memory(job, "shared")
        self.finish(self.begin(job, "net"))
        self.assertEqual(self.model("shared"), self.model("net"))

    def test_two_machines(self):
        job, hosts = self.write(), self.hosts().hosts
        self.in_shared_memory(job, "shared")
        self.finish(self.begin(job, "net", hosts=hosts))
        self.assertEqual(self.model("shared"), self.model("net"))

    def test_mpirun_on_two_machines(self):
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not there")
        job, machines = self.write(), self.hosts()
        one, two = machines.hosts
        self.in_shared_memory(job, "shared")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        run = self.start(one.words(self.scratch, "mpirun", *root, "--mca", "plm_rsh_agent", machines.agent(), "--mca",
                                   "btl_tcp_if_include", "10.77.0.0/24", "--host", f"{one.address},{two.address}", "-np", 2, "-x",
                                   f"MASTER_ADDR={one.address}", "-x", "OMP_NUM_THREADS", "-x", "XDG_STATE_HOME", "--wdir",
                                   self.scratch, TRAIN, job, "--output", "net"))
        self.finish([run])
        self.assertEqual(self.model("shared"), self.model("net"))

    def torchrun(self, machines, job, output, *words):
        if TORCHRUN is None or not TORCHRUN.exists():
            self.skipTest("torchrun is not there: ./dev venv")
        return [self.start(host.words(self.scratch, TORCHRUN, "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d",
                                      "--rdzv-endpoint=one:29400", "--rdzv-id=7", *words, "--no-python", TRAIN, job, "--output",
                                      output), {"PATH": f"{TORCHRUN.parent}:{os.environ['PATH']}"}, start_new_session=True)
                for host in machines.hosts]

    def test_torchrun_on_two_machines(self):
        job, machines = self.write(), self.hosts()
        runs = self.torchrun(machines, job, "net")
        self.in_shared_memory(job, "shared")
        self.finish(runs)
        self.assertEqual(self.model("shared"), self.model("net"))

    def test_what_torchrun_starts_anew_goes_on(self):
        job, machines = self.write(epochs=100), self.hosts()
        runs = self.torchrun(machines, job, "net", "--max-restarts=1")
        self.wait_for_steps(runs, "net")
        killed = self.trainer_below(runs[1].pid)
        os.kill(killed, signal.SIGKILL)
        said = self.finish(runs)
        self.assertRegex(said[0], "another rank is gone|stopped by request")  # Or torchrun was faster.
        self.assertIn("resuming after step", said[0])
        self.assertTrue(json.loads((self.scratch / "net" / "report.json").read_text())["completed"])
        self.in_shared_memory(job, "shared")
        self.assertEqual(self.model("shared"), self.model("net"))

    @staticmethod
    def trainer_below(pid):
        below = [pid]
        for one in below:
            if pathlib.Path(f"/proc/{one}/comm").read_text().strip() == "headroom-train":
                return one
            below += map(int, pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split())
        raise LookupError("no headroom-train below it")

    def test_a_rank_that_is_killed_ends_the_others_with_a_checkpoint(self):
        job = self.write(epochs=60)
        self.in_shared_memory(job, "whole")
        for killed in (0, 1):
            output = f"net-{killed}"
            runs = self.begin(job, output)
            self.wait_for_steps(runs, output)
            runs[killed].kill()
            begun = time.monotonic()
            said = runs[1 - killed].communicate(timeout=60)[0]
            self.assertLess(time.monotonic() - begun, 15)
            self.assertEqual(runs[1 - killed].returncode, 1, said)
            self.assertIn("another rank is gone", said)
            self.assertIn("--resume", said)
            runs[killed].wait()
            if killed == 1:  # The one that writes has saved what was done.
                self.finish(self.begin(job, output, "--resume"))
                self.assertEqual(self.model("whole"), self.model(output))

    def test_what_a_broken_connection_sends_ends_no_rank(self):
        runs = self.begin(self.write(epochs=60), "net")
        self.wait_for_steps(runs, "net")
        for run in runs:
            os.kill(run.pid, signal.SIGPIPE)  # As the kernel does for a write to a rank that is gone.
        self.finish(runs)

    def test_a_machine_that_is_cut_off_ends_in_a_clear_state(self):
        job, machines = self.write(epochs=60), self.hosts()
        runs = self.begin(job, "net", hosts=machines.hosts)
        self.wait_for_steps(runs, "net")
        machines.hosts[1].cut_off()
        begun = time.monotonic()
        said = self.finish(runs, codes=1, timeout=SILENT + 60)
        self.assertLess(time.monotonic() - begun, SILENT + 30)
        self.assertIn("rank 1 has given no sign of life for 30 s", said[0])
        self.assertIn("the state after step", said[0])
        self.assertIn("was not reached for 30 s", said[1])
        self.alone(job, "whole")
        self.alone(job, "net", "--resume")  # With the machine that is left.
        self.assertLess(furthest(self.scratch / "whole", self.scratch / "net"), ADAMW)

    def test_a_stop_of_one_stops_all_after_the_same_step(self):
        runs = self.begin(self.write(epochs=2000), "net")
        self.wait_for_steps(runs, "net")
        runs[1].terminate()
        said = self.finish(runs, codes=1)
        self.assertIn("stopped by request", said[0])

    def test_a_stop_before_all_are_there_is_heard(self):
        variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "RANK": "0"}
        run = self.start([TRAIN, self.write(), "--output", "net"], variables)
        self.assertIn("waiting for rank 1", run.stdout.readline())
        run.terminate()
        self.assertIn("stopped by request", self.finish([run], codes=3)[0])

    def test_one_that_waits_for_rank_0_is_calm(self):
        variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "RANK": "1"}
        run = self.start([TRAIN, self.write(), "--output", "net"], variables)
        time.sleep(5)  # Several tries.
        run.terminate()
        self.assertEqual(self.finish([run], codes=1), [""])

    def test_ranks_that_are_not_of_one_job_are_told(self):
        job = self.write()
        other = self.write("optimizer.learning_rate = 0.5", name="other.toml")
        said = self.finish(self.begin(job, "net", stray={1: {"JOB": other}}), codes=[2, 2])
        self.assertIn("to be of the same job", said[0])

    def test_two_processes_that_are_the_same_rank_are_told(self):
        runs = self.begin(self.write(), "net", ranks=3, stray={2: {"RANK": "1"}})
        deadline = time.monotonic() + 60
        while not any(run.poll() is not None for run in runs[1:]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        second = runs[1] if runs[1].poll() is not None else runs[2]
        self.assertIn("another one that says so", self.finish([second], codes=2)[0])

    def test_what_makes_no_place_is_refused(self):
        job = self.write()
        split = self.write("engine.stages = 2", name="split.toml")
        for variables, expected in ({"MASTER_ADDR": ""}, "MASTER_ADDR: expected the machine of rank 0"), \
                                   ({"MASTER_PORT": "0"}, "MASTER_PORT: expected a number"), \
                                   ({"RANK": "2"}, "RANK: expected a number from 0 to 1"), \
                                   ({"JOB": split}, "engine.stages = 2"), \
                                   ({"MASTER_ADDR": "no.such.machine.invalid"}, "MASTER_ADDR=no.such.machine.invalid"):
            run = self.begin(job, "net", stray={0: variables})[0]
            said = self.finish([run], codes=2)[0]
            self.assertIn(expected, said)
            self.assertIn("next: ", said)


if __name__ == "__main__":
    unittest.main()
