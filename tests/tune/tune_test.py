#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom tune as a program, on the photo service of examples/photos: what it finds, what it leaves alone, and that the
old configuration is back, byte for byte, whatever ends it. Real processes and requests.

usage: tune_test.py BIN_FOLDER [TEST …]
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/deploy"))
from deploy_test import LONG_S, Checks, Photos  # noqa: E402

SMALL = [("values = [1, 2, 3, 4, 6, 8]\nrole = \"workers\"", "values = [1, 2, 4]\nrole = \"workers\""),
         ("values = [1, 2, 3, 4, 6, 8]\nrole = \"threads\"", "values = [1, 2]\nrole = \"threads\""),
         ("values = [1, 2, 4, 8]", "values = [1, 2]"), ("repeat = 20", "repeat = 12"), ("seconds = 3", "seconds = 0.3")]


class Tuned(Photos):
    """The photo service on four pretended cores, with one worker that has one thread."""

    def __init__(self, binaries, edits=(), more=""):
        super().__init__(binaries, "good", edits=[*SMALL, *edits])
        conf = (self.folder / "tune.conf").read_text(encoding="utf-8")
        (self.folder / "photos.conf").write_text(f"{conf}cores = 4\n{more}port = {self.port}\n", encoding="utf-8")
        self.before = (self.folder / "photos.conf").read_bytes()

    def command(self, *words, program="tune"):
        return [f"{self.binaries}/headroom", program, str(self.folder / "SERVICE.toml"), *words]

    def tune(self, *words, **options):
        done = subprocess.run(self.command(*words, "--json"), env=self.environment, capture_output=True, text=True,
                              timeout=LONG_S, check=False, **options)
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr

    def begin(self, *words):
        return subprocess.Popen(self.command("--apply", "--json", *words), env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def pid(self):
        return (self.folder / "photos.pid").read_text(encoding="utf-8")

    def check_as_before(self, check, what):
        check.equal(f"{what}: the file", (self.folder / "photos.conf").read_bytes(), self.before)
        check.equal(f"{what}: the service", self.service("status"), 0)
        check.equal(f"{what}: its answer", self.predict()["faces"][0]["score"], 0.98)
        record = self.record()
        check.true(f"{what}: nothing is left to finish", record is None or record["stage"] in ("over", "looking"), record)


def it_finds_and_deploys(check, binaries):
    with Tuned(binaries) as photos:
        change = photos.top / "change.toml"
        code, report, errors = photos.tune("--apply", "--output", str(change), "--items-per-day", "36000", "--faster", "4",
                                           "--gpu-price", "100", "--gpu-watts", "20", "--cpu-watts", "100", "--electricity", "0.5")
        check.equal("found: exit code", code, 0)
        if report is None:
            return check.true("found", False, errors)
        check.equal("found: outcome", report["outcome"], "deployed")
        best = report["best"]
        check.true("found: more at once", int(best["workers"]) * int(best["threads"]) >= 2, best)
        check.true("found: faster", report["best_ms"] < report["baseline_ms"] / 1.5, report)
        check.true("found: within its bounds", report["requests"] <= report["most_requests"] and
                   report["starts"] <= report["most_starts"], report)
        conf = photos.conf()
        for name, value in best.items():
            check.true(f"found: {name} is in the file", f"\n{name} = {value}\n" in conf, conf)
        check.true("found: nothing else changed", conf.startswith("# The photo service") and f"port = {photos.port}" in conf, conf)
        check.equal("found: the service", photos.service("status"), 0)
        check.equal("found: its answer", photos.predict()["faces"][0]["score"], 0.98)
        check.true("found: the present one is among those that were tried",
                   any(one["present"] and one["ms"] for one in report["tried"]), report["tried"])
        check.true("found: memory", all(one["peak_bytes"] for one in report["tried"] if one["ms"]), report["tried"])
        gpu = report["gpu"]
        hours = 36000 * report["best_ms"] / 3.6e6
        check.true("found: hours", gpu and abs(gpu["hours_saved_per_day"] - hours * 3 / 4) < 0.01, gpu)
        saved = (hours * 100 - hours / 4 * 20) / 1000 * 0.5
        check.true("found: days", gpu and abs(gpu["pays_after_days"] * saved / 100 - 1) < 0.02, (gpu, saved))
        check.true("found: the change is written", change.read_text(encoding="utf-8").endswith(report["change"]), report["change"])
        return None


def without_apply_nothing_is_touched(check, binaries):
    with Tuned(binaries) as photos:
        pid, log = photos.pid(), (photos.folder / "photos.log").read_text(encoding="utf-8")
        code, report, _ = photos.tune("--items-per-day", "100")
        check.equal("dry: exit code", code, 0)
        check.equal("dry: outcome", report["outcome"], "planned")
        check.equal("dry: best", report["best"], None)
        check.true("dry: how often", report["starts"] == 0 and 0 < report["most_starts"] <= 14, report)
        check.equal("dry: the process", photos.pid(), pid)
        check.equal("dry: its log", (photos.folder / "photos.log").read_text(encoding="utf-8"), log)
        check.true("dry: no state", not (photos.top / "state").exists(), "")
        photos.check_as_before(check, "dry")
        page = subprocess.run(photos.command(), env=photos.environment, capture_output=True, text=True, timeout=LONG_S,
                              check=False)
        check.true("dry: the next command", "tune" in page.stdout and "--apply" in page.stdout.splitlines()[-1], page.stdout)


def the_present_one_stays(check, binaries):
    """Eight workers with the locks and the switches of eight are no faster than four."""
    with Tuned(binaries, edits=[("values = [1, 2, 4]\nrole = \"workers\"", "values = [4, 8]\nrole = \"workers\""),
                                ("values = [1, 2]\nrole = \"threads\"", "values = [1]\nrole = \"threads\""),
                                ("values = [1, 2]", "values = [1]")]) as photos:
        photos.service("stop")
        conf = photos.before.decode().replace("workers = 1", "workers = 4") + "switch = 0.2\n"
        photos.before = conf.encode()
        (photos.folder / "photos.conf").write_bytes(photos.before)
        photos.service("start")
        photos.wait_for_ping()
        code, report, errors = photos.tune("--apply")
        check.equal("kept: exit code", code, 0)
        check.equal("kept: outcome", report and report["outcome"], "kept")
        check.true("kept: why", report and "faster" in (report["why"] or ""), errors)
        check.equal("kept: no change", report and report["change"], None)
        photos.check_as_before(check, "kept")


def what_dies_is_out(check, binaries):
    model = '[[tune]]\nname = "model"\nas = "key"\nfile = "photos.conf"\nvalues = ["good", "crash"]\n\n[health]'
    with Tuned(binaries, edits=[("values = [1, 2]\nrole = \"threads\"", "values = [1]\nrole = \"threads\""),
                                ("values = [1, 2]", "values = [1]"), ("[health]", model)], more="model = good\n") as photos:
        code, report, errors = photos.tune("--apply")
        check.equal("dies: exit code", code, 0)
        if report is None:
            return check.true("dies", False, errors)
        check.equal("dies: outcome", report["outcome"], "deployed")
        check.equal("dies: best", report["best"]["model"], "good")
        dead = [one for one in report["tried"] if one["settings"]["model"] == "crash"]
        check.true("dies: the cause is named", all(one["ms"] is None and "crash-loop" in one["why"] for one in dead), dead)
        check.equal("dies: its answer", photos.predict()["faces"][0]["score"], 0.98)
        return None


def memory_is_kept(check, binaries):
    with Tuned(binaries, edits=[('memory = "256MiB"', 'memory = "260MiB"')], more="model_mib = 60\n") as photos:
        code, report, errors = photos.tune("--apply")
        check.equal("memory: exit code", code, 0)
        if report is None:
            return check.true("memory", False, errors)
        check.true("memory: fewer than four workers", int(report["best"]["workers"]) < 4, report["best"])
        for one in report["tried"]:
            large = int(one["settings"]["workers"]) >= 4
            check.true(f"memory: {one['settings']}", not (large and one["ms"]), one)
        check.true("memory: the rest is said", report["too_large"] > 0, report["too_large"])
        return None


def refused_before_anything(check, binaries):
    with Tuned(binaries, edits=[('"/faces/0/score" = 0.98', '"/faces/0/score" = 0.5')]) as photos:
        code, report, _ = photos.tune("--apply")
        check.equal("broken: exit code", code, 1)
        check.equal("broken: cause", report and report["cause"]["id"], "baseline-broken")
        photos.check_as_before(check, "broken")
        photos.service("stop")
        code, report, _ = photos.tune("--apply")
        check.equal("stopped: exit code", code, 1)
        check.equal("stopped: outcome", report and report["outcome"], "refused")
        check.equal("stopped: the file", (photos.folder / "photos.conf").read_bytes(), photos.before)


def asked_to_end(check, binaries):
    with Tuned(binaries) as photos:
        one = photos.begin()
        wait_for_trial(photos)
        one.send_signal(signal.SIGINT)
        output, _ = one.communicate(timeout=LONG_S)
        report = json.loads(output)
        check.equal("^C: exit code", one.returncode, 1)
        check.equal("^C: outcome", report["outcome"], "interrupted")
        check.equal("^C: restored", report["restored"], True)
        photos.check_as_before(check, "^C")


def wait_for_trial(photos):
    deadline = time.monotonic() + LONG_S
    while (photos.record() or {}).get("stage") not in ("starting", "smoking", "rolling-back"):
        assert time.monotonic() < deadline, photos.record()
        time.sleep(0.01)


def killed_at_any_moment(check, binaries):
    """kill -9, and the next call of tune or deploy, with --apply or without, brings the old one back and does nothing else."""
    dice = random.Random(7)
    rounds = 40 if os.environ.get("HEADROOM_TEST_ALL") else 6
    for number in range(rounds):
        with Tuned(binaries, edits=[("repeat = 12", "repeat = 8")]) as photos:
            one = photos.begin()
            wait_for_trial(photos)
            time.sleep(dice.random() * 4)
            one.kill()
            one.communicate()
            what = f"killed {number}"
            if (photos.record() or {})["stage"] in ("committing", "over") or "workers = 1" not in photos.before.decode():
                continue
            program, words = (("tune", ()), ("tune", ("--apply",)), ("deploy", ()))[number % 3]
            done = subprocess.run(photos.command(*words, "--json", program=program), env=photos.environment, timeout=LONG_S,
                                  capture_output=True, text=True, check=False)
            check.equal(f"{what}: the next call's exit code", done.returncode, 1)
            check.equal(f"{what}: what it did", json.loads(done.stdout)["outcome"], "rolled-back")
            photos.check_as_before(check, what)


def two_at_once(check, binaries):
    with Tuned(binaries) as photos:
        one = photos.begin()
        wait_for_trial(photos)
        for program in ("tune", "deploy"):
            done = subprocess.run(photos.command("--apply", program=program), env=photos.environment, timeout=LONG_S,
                                  capture_output=True, text=True, check=False)
            check.equal(f"{program} beside it: exit code", done.returncode, 3)
            check.true(f"{program} beside it: says who", str(one.pid) in done.stderr, done.stderr)
        report = json.loads(one.communicate(timeout=LONG_S)[0])
        check.equal("the first of two: outcome", report["outcome"], "deployed")


def mistakes(check, binaries):
    with Tuned(binaries) as photos:
        good = (photos.folder / "SERVICE.toml").read_text(encoding="utf-8")
        first = 'name = "workers"\nas = "key"\nfile = "photos.conf"\nvalues = [1, 2, 4]\nrole = "workers"\n'
        assert first in good
        for what, new in (("an unknown key", first + "most = 3\n"), ("no values", first.replace("[1, 2, 4]", "[]")),
                          ("values twice", first.replace("[1, 2, 4]", "[1, 1]")),
                          ("values that are tables", first.replace("[1, 2, 4]", "[{}]")),
                          ("a value with a line end", first.replace("[1, 2, 4]", '["1\\n2"]')),
                          ("a role that is none", first.replace('role = "workers"', 'role = "worker"')),
                          ("an option without dashes", first.replace('"key"', '"option"')),
                          ("a key without a file", first.replace('file = "photos.conf"\n', "")),
                          ("a variable with a blank", first.replace('"workers"\nas = "key"', '"work ers"')),
                          ("a file that is not there", first.replace("photos.conf", "none.conf")),
                          ("the same twice", first + "[[tune]]\n" + first)):
            (photos.folder / "SERVICE.toml").write_text(good.replace(first, new), encoding="utf-8")
            for words in ((), ("--apply",)):
                code, _, errors = photos.tune(*words)
                check.equal(f"{what} {words}: exit code", code, 2)
                check.true(f"{what} {words}: a message", errors.startswith("headroom: "), errors)
        start = good.index("[[tune]]")
        (photos.folder / "SERVICE.toml").write_text(good[:start] + good[good.index("[health]"):], encoding="utf-8")
        code, _, errors = photos.tune()
        check.equal("nothing to vary: exit code", code, 2)
        check.true("nothing to vary: what to write", "[[tune]]" in errors, errors)
        (photos.folder / "SERVICE.toml").write_text(good, encoding="utf-8")
        for words in (("--faster", "2"), ("--items-per-day", "-1"), ("--output", str(photos.folder / "SERVICE.toml")),
                      ("--output", str(photos.folder / "photos.conf")), ("--output", str(photos.folder / "service.sh")),
                      ("--output", str(photos.folder / "photo.json")), ("--output", str(photos.folder / "photos.pid")),
                      ("--output", "/no/such/folder/x"), ("--items-per-day", "much")):
            check.equal(f"{words}: exit code", photos.tune(*words)[0], 2)
        check.equal("a file that is not there: exit code",
                    subprocess.run([f"{binaries}/headroom", "tune", "/no/such.toml"], capture_output=True, check=False).returncode, 2)
        photos.check_as_before(check, "mistakes")


def nobody_reads_it(check, binaries):
    """Its output is gone or full: the work is finished all the same."""
    for where in ("/dev/full", "closed"):
        with Tuned(binaries, edits=[("repeat = 12", "repeat = 6")]) as photos:
            if where == "closed":
                one = subprocess.Popen(photos.command("--apply"), env=photos.environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
                one.stdout.close()
                one.stderr.close()
                code = one.wait(timeout=LONG_S)
            else:
                with open(where, "w", encoding="utf-8") as full:
                    code = subprocess.run(photos.command("--apply"), env=photos.environment, stdout=full, stderr=full,
                                          timeout=LONG_S, check=False).returncode
            check.true(f"{where}: exit code", code in (0, 3), code)
            check.equal(f"{where}: the service", photos.service("status"), 0)
            check.equal(f"{where}: nothing is left", photos.record()["stage"], "over")
            check.true(f"{where}: the file is one of the two", "port" in photos.conf(), photos.conf())


def no_rights(check, binaries):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("no rights: skipped, it takes root and setpriv to be somebody else")
        return
    with Tuned(binaries) as photos:
        photos.top.chmod(0o755)
        state = photos.top / "theirs"
        state.mkdir()
        state.chmod(0o777)
        environment = dict(photos.environment, XDG_STATE_HOME=str(state))
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *photos.command("--apply")],
                              env=environment, capture_output=True, text=True, timeout=LONG_S, check=False)
        if "Permission denied" in done.stderr and "headroom:" not in done.stderr:
            print("no rights: skipped, that user cannot even start headroom here")
            return
        check.equal("no rights: exit code", done.returncode, 3)
        check.true("no rights: the way", "sudo " in done.stderr, done.stderr)
        photos.check_as_before(check, "no rights")


def try_again(test, check, binaries, attempts=3):
    """What a service's requests take is measured, on a machine that others may use meanwhile: one undisturbed attempt is enough."""
    for _ in range(attempts):
        own = Checks()
        test(own, binaries)
        if not own.wrong:
            return
    check.wrong += own.wrong


def main():
    check = Checks()
    binaries = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    for test in (it_finds_and_deploys, without_apply_nothing_is_touched, the_present_one_stays, what_dies_is_out, memory_is_kept,
                 refused_before_anything, asked_to_end, killed_at_any_moment, two_at_once, mistakes, nobody_reads_it, no_rights):
        if not wanted or test.__name__ in wanted:
            try_again(test, check, binaries)
    for one in check.wrong:
        print(one)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
