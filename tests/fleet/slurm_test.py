#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/fleet/slurm under a real Slurm: slurmctld, slurmd and munged of Debian, one node, on this machine.

    slurm_test.py FOLDER_OF_PROGRAMS SOURCE

In a mount namespace of its own, where /usr/local/sbin/headroom, which the scripts call, judges a captured machine. What that
machine is changes while Slurm runs. Exit 77: a program or the right to make the namespace is missing.
"""
import ctypes
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trainer"))
from tiny_job import write_job  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
NEEDED = ("slurmctld", "slurmd", "srun", "scontrol", "sinfo", "munged", "mungekey", "unshare")
SKIP = 77
PR_SET_PDEATHSIG = 1
LONG_S = 120
READY, FULL, BROKEN = "navi22-therock", "two-cards-full-host", "driver-not-loaded"
CONFIG = """\
ClusterName=headroom
SlurmctldHost={host}(127.0.0.1)
MailProg=/bin/true
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerType=sched/backfill
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
GresTypes=gpu
Prolog={scripts}/prolog.sh
Epilog={scripts}/epilog.sh
HealthCheckProgram={scripts}/health.sh
HealthCheckInterval=2
HealthCheckNodeState=ANY
NodeName=node NodeAddr=127.0.0.1 Port={node} CPUs=2 RealMemory=200 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=node Default=YES MaxTime=INFINITE State=UP
"""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          **({"timeout": LONG_S} | more))


def dies_with_us():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="headroom-slurm-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.folder.chmod(0o755)  # munged's socket has to be reached.
        cls.started = []
        cls.make_headroom()
        for name in ("state", "spool"):
            (cls.folder / name).mkdir()
        (cls.folder / "gres.conf").write_text("NodeName=node Name=gpu File=/dev/null\n")
        text = CONFIG.format(controller=free_port(), node=free_port(), folder=cls.folder, host=socket.gethostname(),
                             scripts=SOURCE / "examples/fleet/slurm")
        (cls.folder / "slurm.conf").write_text(text)
        # A health check is given no SLURM_CONF: on a node the file stands where Slurm looks for it.
        subprocess.run(["mount", "--bind", cls.folder, "/etc/slurm"], check=True)
        run("mungekey", "--create", "--keyfile", cls.folder / "munge.key")
        cls.start("munged", "--foreground", "--force", f"--socket={cls.folder}/munge.socket",
                  *(f"--{what}-file={cls.folder}/munge.{what}" for what in ("key", "pid", "seed", "log")))
        cls.start("slurmctld", "-D", "-c")
        cls.start("slurmd", "-D", "-N", "node")

    @classmethod
    def tearDownClass(cls):
        for process in reversed(cls.started):
            process.terminate()
        for process in cls.started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        subprocess.run(["umount", "/etc/slurm"], check=True)
        cls.scratch.cleanup()

    @classmethod
    def start(cls, *words):
        with open(cls.folder / f"{words[0]}.out", "wb") as log:
            cls.started.append(subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, preexec_fn=dies_with_us))

    @classmethod
    def make_headroom(cls):
        """The headroom that the scripts find: ours, of the machine that `machine` leads to. The namespace hides what is there."""
        for name in (READY, FULL, BROKEN):
            root = cls.folder / name
            root.mkdir()
            subprocess.run([PROGRAMS / "fake_machine", SOURCE / f"tests/machines/{name}.toml", root], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/usr/local/sbin"], check=True)
        wrapper = pathlib.Path("/usr/local/sbin/headroom")
        wrapper.write_text(f"#!/bin/sh\nexec '{PROGRAMS}/headroom' \"$@\" --root '{cls.folder}/machine'\n")
        wrapper.chmod(0o755)

    def be(self, name):
        """From now on the machine is this one."""
        link = self.folder / "machine"
        link.unlink(missing_ok=True)
        link.symlink_to(name)

    def state(self):
        """What sinfo says of the node: state and reason."""
        done = run("sinfo", "-h", "-N", "-o", "%T|%E")
        return done.stdout.strip()

    def until(self, true, what):
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            state = self.state()
            if true(state):
                return state
            time.sleep(0.5)
        logs = "".join((self.folder / name).read_text()[-1500:] for name in ("slurmctld.log", "slurmd.log")
                       if (self.folder / name).exists())
        self.fail(f"{what}: {self.state()}\n{logs}")

    def resume(self):
        self.be(READY)
        run("scontrol", "update", "NodeName=node", "State=RESUME")
        self.until(lambda state: state.startswith("idle"), "expected the node to be idle")

    def setUp(self):
        self.be(READY)
        self.until(lambda state: state.startswith(("idle", "drain")), "expected a node")
        if not self.state().startswith("idle"):
            self.resume()

    def test_a_job_runs_where_the_gpu_is_free(self):
        done = run("srun", "--gres=gpu:1", "echo", "it ran")
        self.assertEqual((done.returncode, done.stdout), (0, "it ran\n"), done.stderr)
        self.until(lambda state: state.startswith("idle"), "expected the node to be idle again")

    def test_a_job_does_not_start_where_others_hold_the_memory(self):
        run("scontrol", "update", "NodeName=node", "State=RESUME")
        self.be(FULL)
        with subprocess.Popen(["srun", "--gres=gpu:1", "touch", str(self.folder / "started")], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as job:
            self.until(lambda state: "drain" in state, "expected the node to be drained")
            job.terminate()
            job.wait(LONG_S)
        self.assertFalse((self.folder / "started").exists())

    def test_ranks_of_headroom_train_find_each_other(self):
        if not (PROGRAMS / "headroom-train").exists():
            self.skipTest("headroom-train is not built")
        job = write_job(self.folder)
        job.write_text(job.read_text() + "batch.accumulate = 2\n")
        words = [PROGRAMS / "headroom-train", job, "--output"]
        own = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = run("srun", "-n", 2, *words, self.folder / "ranks", env=own)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("scontrol show hostnames", done.stderr)
        own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        done = run("srun", "-n", 2, *words, self.folder / "ranks", env=own)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.folder / "ranks" / "report.json").read_text())
        self.assertEqual([one["rank"] for one in report["ranks"]], [0, 1])

    def test_a_node_whose_gpu_is_broken_is_drained_with_the_reason(self):
        self.be(BROKEN)
        state = self.until(lambda state: "drain" in state, "expected the node to be drained")
        self.assertIn("headroom: broken: no driver is bound to", state)
        self.be(READY)
        time.sleep(5)  # Two health checks: it stays so until a person has looked.
        self.assertIn("drain", self.state())


def main():
    missing = next((name for name in NEEDED if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") is None), None)
    if missing or os.geteuid() != 0:
        print(f"skipped: expected {missing or 'root'}" + (", found none (Debian: slurmd slurmctld slurm-client munge)" if missing
                                                          else ""))
        return SKIP
    if os.environ.get("HEADROOM_IN_NAMESPACE") != "yes":
        if run("unshare", "-m", "true").returncode != 0:
            print("skipped: a mount namespace cannot be made here")
            return SKIP
        os.environ["HEADROOM_IN_NAMESPACE"] = "yes"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, __file__, PROGRAMS, SOURCE,
                              *sys.argv[1:]])
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    return unittest.main()


if __name__ == "__main__":
    sys.exit(main())
