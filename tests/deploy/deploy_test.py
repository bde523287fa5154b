#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom deploy as a program, on the photo service of examples/photos: the incident replayed, the six bad
candidates, the good one, and everything that is refused before anything is touched. Real processes and requests; the
GPU is a folder.

usage: deploy_test.py BIN_FOLDER
"""
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LONG_S = 120
SLOW_MS = 200  # A request, with the configuration that is there.


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Photos:
    """The service in a folder of its own, and headroom beside it."""

    def __init__(self, binaries, candidate="good", gpu=False, machine=None, **changes):
        self.binaries = binaries
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-deploy-")
        self.top = pathlib.Path(self.scratch.name)
        self.folder = self.top / "photos"
        shutil.copytree(SOURCE / "examples/photos", self.folder)
        self.port = free_port()
        for name in ("photos.conf", f"candidates/{candidate}.conf"):
            # Far slower than in the example: a busy machine is not to decide which of the two is faster.
            conf = (self.folder / name).read_text(encoding="utf-8").replace("work_ms = 40", f"work_ms = {SLOW_MS}")
            (self.folder / name).write_text(f"{conf}port = {self.port}\n", encoding="utf-8")
        shutil.copy(self.folder / f"candidates/{candidate}.conf", self.folder / "new.conf")
        text = (self.folder / "SERVICE.toml").read_text(encoding="utf-8").replace(":3003/", f":{self.port}/")
        if gpu:
            text = text.replace("[expect]\n", "[expect]\ngpu = true\n")
        for old, new in changes.get("edits", []):
            assert old in text, old
            text = text.replace(old, new)
        (self.folder / "SERVICE.toml").write_text(text, encoding="utf-8")
        self.root = None
        self.environment = dict(os.environ, XDG_STATE_HOME=str(self.top / "state"))
        if machine:
            self.root = self.top / "machine"
            self.root.mkdir()
            subprocess.run([f"{binaries}/fake_machine", SOURCE / machine, self.root], check=True)
            if changes.get("scratch", True):
                subprocess.run([f"{binaries}/scratch_root", self.root], check=True)
            self.environment["PHOTOS_MACHINE"] = str(self.root)

    def __enter__(self):
        self.service("start")
        self.wait_for_ping()
        return self

    def __exit__(self, *_):
        self.service("stop")
        self.scratch.cleanup()

    def service(self, what):
        return subprocess.run([str(self.folder / "service.sh"), what], env=self.environment, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONG_S).returncode

    def wait_for_ping(self):
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=5).status
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the photo service did not start")

    def command(self, *words):
        root = ["--root", str(self.root)] if self.root else []
        return [f"{self.binaries}/headroom", "deploy", str(self.folder / "SERVICE.toml"), *words, *root]

    def deploy(self, *words, **options):
        done = subprocess.run(self.command(*words, "--json"), env=self.environment, capture_output=True, text=True,
                              timeout=LONG_S, check=False, **options)
        report = json.loads(done.stdout) if done.stdout.strip() else None
        return done.returncode, report, done.stderr

    def conf(self):
        return (self.folder / "photos.conf").read_text(encoding="utf-8")

    def predict(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/predict", timeout=10) as answer:
            return json.load(answer)

    def record(self):
        path = self.top / "state/headroom/deploy/photos/record.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def wait_for_stage(photos, stage):
    deadline = time.monotonic() + LONG_S
    while (photos.record() or {}).get("stage") != stage:
        assert time.monotonic() < deadline, f"expected the stage {stage}, found {photos.record()}"
        time.sleep(0.02)


class Checks:
    def __init__(self):
        self.wrong = []

    def equal(self, what, found, expected):
        if found != expected:
            self.wrong.append(f"{what}: expected {expected!r}, found {found!r}")

    def true(self, what, holds, found=""):
        if not holds:
            self.wrong.append(f"{what}: {found}")


def check_rolled_back(check, what, photos, before, outcome, cause):
    code, report, errors = outcome
    check.equal(f"{what}: exit code", code, 1)
    if report is None:
        check.true(what, False, errors)
        return
    check.equal(f"{what}: outcome", report["outcome"], "rolled-back")
    check.equal(f"{what}: cause", (report["cause"] or {}).get("id"), cause)
    check.equal(f"{what}: restored", report["restored"], True)
    check.equal(f"{what}: the file", photos.conf(), before)
    check.equal(f"{what}: the service", photos.service("status"), 0)
    check.equal(f"{what}: its answer", photos.predict()["faces"][0]["score"], 0.98)
    check.true(f"{what}: a post-mortem", report["postmortem"] and os.path.exists(report["postmortem"]),
               report["postmortem"])
    events = [entry["event"] for entry in report["timeline"]]
    check.true(f"{what}: the old configuration is proved by the same requests",
               any("old configuration passed its smoke test" in one for one in events), events)


def the_incident(check, binaries):
    with Photos(binaries, "crash") as photos:
        before = photos.conf()
        code, report, errors = photos.deploy("--apply")
        check_rolled_back(check, "the incident", photos, before, (code, report, errors), "crash-loop")
        if report:
            check.true("the incident: back within 10 s", report["downtime_s"] < 10, report["downtime_s"])
            text = pathlib.Path(report["postmortem"]).read_text(encoding="utf-8")
            check.true("the incident: the post-mortem has the evidence", "134" in text or "Memory critical" in text,
                       text)


def the_bad_ones(check, binaries):
    for candidate, cause in (("slower", "slower"), ("wrong", "wrong-answer"), ("leak", "memory-growth"),
                             ("hang", "hang")):
        with Photos(binaries, candidate) as photos:
            before = photos.conf()
            check_rolled_back(check, candidate, photos, before, photos.deploy("--apply"), cause)
    with Photos(binaries, "silently-cpu", gpu=True, machine="examples/photos/machine.toml") as photos:
        before = photos.conf()
        check_rolled_back(check, "silently-cpu", photos, before, photos.deploy("--apply"), "gpu-not-used")


def the_good_one(check, binaries):
    for gpu in (False, True):
        with Photos(binaries, "good", gpu=gpu, machine="examples/photos/machine.toml" if gpu else None) as photos:
            before = photos.conf()
            code, report, errors = photos.deploy("--apply")
            check.equal(f"good, gpu {gpu}: exit code", code, 0)
            if report is None:
                check.true("good", False, errors)
                continue
            check.equal(f"good, gpu {gpu}: outcome", report["outcome"], "committed")
            check.true(f"good, gpu {gpu}: faster", report["smoke"]["ratio"] > 1.5, report["smoke"])
            check.true(f"good, gpu {gpu}: the file", "device = gpu" in photos.conf(), photos.conf())
            check.equal(f"good, gpu {gpu}: the service outlives headroom", photos.service("status"), 0)
            check.equal(f"good, gpu {gpu}: its answer", photos.predict()["took_ms"], 10)
            if gpu:
                continue  # Undo looks into the journals of this machine, not of the one it stands for.
            undo = subprocess.run([f"{binaries}/headroom", "undo"], env=photos.environment, capture_output=True, text=True,
                                  timeout=LONG_S, check=False)
            check.equal("good: undo, wherever the records are kept", (undo.returncode, photos.conf()), (0, before))


def refused_before_anything(check, binaries):
    """The machine of the incident, and one without a GPU: nothing is touched, not even asked."""
    for machine, cause in (("tests/machines/apu-5600g.toml", "gpu-unsupported"),
                           ("tests/machines/no-gpu.toml", "gpu-not-used")):
        with Photos(binaries, "good", gpu=True, machine=machine) as photos:
            before, pid = photos.conf(), (photos.folder / "photos.pid").read_text(encoding="utf-8")
            for words in ((), ("--apply",)):
                code, report, _ = photos.deploy(*words)
                check.equal(f"{machine} {words}: exit code", code, 1)
                check.equal(f"{machine} {words}: outcome", report and report["outcome"], "refused")
                check.equal(f"{machine} {words}: cause", report and report["cause"]["id"], cause)
            check.equal(f"{machine}: the file", photos.conf(), before)
            check.equal(f"{machine}: the process", (photos.folder / "photos.pid").read_text(encoding="utf-8"), pid)
            log = (photos.folder / "photos.log").read_text(encoding="utf-8")
            check.true(f"{machine}: no request was made", "Loading" not in log, log)


def another_machine(check, binaries):
    """A captured machine is judged, and nothing is done there or here."""
    with Photos(binaries, "good", gpu=True, machine="examples/photos/machine.toml", scratch=False) as photos:
        before = photos.conf()
        code, report, _ = photos.deploy()
        check.equal("a captured machine: exit code", code, 0)
        check.equal("a captured machine: outcome", report and report["outcome"], "planned")
        code, report, errors = photos.deploy("--apply")
        check.equal("a captured machine, --apply: exit code", code, 3)
        check.true("a captured machine, --apply: says so", "not this system" in errors, errors)
        check.equal("a captured machine: the file", photos.conf(), before)


def broken_baseline(check, binaries):
    with Photos(binaries, "good", edits=[('"/faces/0/score" = 0.98', '"/faces/0/score" = 0.5')]) as photos:
        before = photos.conf()
        code, report, _ = photos.deploy("--apply")
        check.equal("a broken baseline: exit code", code, 1)
        check.equal("a broken baseline: outcome", report and report["outcome"], "refused")
        check.equal("a broken baseline: cause", report and report["cause"]["id"], "baseline-broken")
        check.equal("a broken baseline: the file", photos.conf(), before)
        check.equal("a broken baseline: the service", photos.service("status"), 0)


def not_running(check, binaries):
    """Nothing to compare with: refused, but with --force; and afterwards it runs as before: not at all."""
    with Photos(binaries, "crash") as photos:
        photos.service("stop")
        before = photos.conf()
        code, report, _ = photos.deploy("--apply")
        check.equal("not running: exit code", code, 1)
        check.equal("not running: cause", report and report["cause"]["id"], "baseline-broken")
        code, report, _ = photos.deploy("--apply", "--force")
        check.equal("not running, --force: outcome", report and report["outcome"], "rolled-back")
        check.equal("not running, --force: the file", photos.conf(), before)


def two_at_once(check, binaries):
    with Photos(binaries, "good", edits=[("seconds = 3", "seconds = 8")]) as photos:
        first = subprocess.Popen(photos.command("--apply", "--json"), env=photos.environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        wait_for_stage(photos, "watching")
        code, _, errors = photos.deploy("--apply")
        check.equal("the second of two: exit code", code, 3)
        check.true("the second of two: says who", str(first.pid) in errors, errors)
        status = subprocess.run([f"{binaries}/headroom", "deploy", "--status", "--json"], env=photos.environment,
                                capture_output=True, text=True, timeout=LONG_S, check=False)
        shown = json.loads(status.stdout)["deployments"]
        check.true("--status shows the first", len(shown) == 1 and shown[0]["running"], status.stdout)
        report = json.loads(first.communicate(timeout=LONG_S)[0])
        check.equal("the first of two: outcome", report["outcome"], "committed")


def the_terminal_goes(check, binaries):
    """A hang-up does not end it, nor a terminal that is gone."""
    with Photos(binaries, "good") as photos:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(f"{binaries}/headroom", photos.command("--apply"), photos.environment)
        wait_for_stage(photos, "smoking")
        os.close(terminal)
        os.waitpid(pid, 0)
        record = photos.record()
        check.equal("the terminal goes: outcome", record and record["outcome"], "committed")
        check.equal("the terminal goes: the service", photos.service("status"), 0)


def asked_to_end(check, binaries):
    """^C in the watch puts the old configuration back."""
    with Photos(binaries, "good", edits=[("seconds = 3", "seconds = 600")]) as photos:
        before = photos.conf()
        one = subprocess.Popen(photos.command("--apply", "--json"), env=photos.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        wait_for_stage(photos, "watching")
        one.send_signal(signal.SIGINT)
        report = json.loads(one.communicate(timeout=LONG_S)[0])
        check.equal("^C: outcome", report["outcome"], "rolled-back")
        check.equal("^C: restored", report["restored"], True)
        check.equal("^C: the file", photos.conf(), before)
        check.equal("^C: its answer", photos.predict()["took_ms"], SLOW_MS)


def killed_in_the_watch(check, binaries):
    with Photos(binaries, "good", edits=[("seconds = 3", "seconds = 600")]) as photos:
        before = photos.conf()
        one = subprocess.Popen(photos.command("--apply"), env=photos.environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        wait_for_stage(photos, "watching")
        one.kill()
        one.wait()
        check.equal("killed: the candidate goes on", photos.service("status"), 0)
        code, report, errors = photos.deploy()
        check.equal("killed: the next call's exit code", code, 1)
        check.equal("killed: outcome", report and report["outcome"], "rolled-back")
        check.equal("killed: restored", report and report["restored"], True)
        check.true("killed: the file", photos.conf() == before, errors)
        check.equal("killed: its answer", photos.predict()["took_ms"], SLOW_MS)


def mistakes(check, binaries):
    with Photos(binaries, "good") as photos:
        before = photos.conf()
        good = (photos.folder / "SERVICE.toml").read_text(encoding="utf-8")
        for what, old, new in (("an unknown key", "[watch]\n", "[watch]\nminutes = 3\n"),
                               ("a file that is not there", "new.conf", "none.conf"),
                               ("a body that is not there", "photo.json", "none.json"),
                               ("no URL", "http://127.0.0.1", "nonsense"),
                               ("a kind that is none", '"commands"', '"upstart"')):
            (photos.folder / "SERVICE.toml").write_text(good.replace(old, new), encoding="utf-8")
            code, _, errors = photos.deploy("--apply")
            check.equal(f"{what}: exit code", code, 2)
            check.true(f"{what}: a message", errors.startswith("headroom: "), errors)
            check.equal(f"{what}, without --apply: exit code", photos.deploy()[0], 2)
        check.equal("mistakes: the file", photos.conf(), before)
        check.equal("mistakes: the service", photos.service("status"), 0)


def no_rights(check, binaries):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("no rights: skipped, it takes root and setpriv to be somebody else")
        return
    with Photos(binaries, "good") as photos:
        before = photos.conf()
        photos.top.chmod(0o755)
        state = photos.top / "theirs"
        state.mkdir()
        state.chmod(0o777)
        environment = dict(photos.environment, XDG_STATE_HOME=str(state))
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               *photos.command("--apply")], env=environment, capture_output=True, text=True,
                              timeout=LONG_S, check=False)
        if "Permission denied" in done.stderr and "headroom:" not in done.stderr:
            print("no rights: skipped, that user cannot even start headroom here")
            return
        check.equal("no rights: exit code", done.returncode, 3)
        check.true("no rights: the way", "sudo " in done.stderr, done.stderr)
        check.equal("no rights: the file", photos.conf(), before)
        check.equal("no rights: the service", photos.service("status"), 0)


def main():
    check = Checks()
    binaries = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    for test in (the_incident, the_bad_ones, the_good_one, refused_before_anything, another_machine, broken_baseline,
                 not_running, two_at_once, the_terminal_goes, asked_to_end, killed_in_the_watch, mistakes, no_rights):
        if not wanted or test.__name__ in wanted:
            test(check, binaries)
    for one in check.wrong:
        print(one)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
