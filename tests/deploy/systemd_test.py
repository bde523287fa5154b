#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom deploy of a systemd unit, by a real systemd: a user's service manager of the test's own, with a bus of its
own, in a mount namespace and a control group that are gone afterwards. Skipped (77) where that cannot be had.

usage: systemd_test.py BIN_FOLDER
"""
import ctypes
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import deploy_test

MS_PRIVATE, MS_REC, CLONE_NEWNS = 1 << 18, 1 << 14, 0x00020000
SYSTEMD = "/lib/systemd/systemd"
GROUPS = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Manager:
    """A service manager of its own. What it needs of /run and /etc is its own, too."""

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) != 0:
            skip("a mount namespace of its own could not be made")
        libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        os.makedirs("/run/systemd", exist_ok=True)
        for folder in ("/run/systemd", "/etc/systemd/system"):
            if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, None) != 0:
                skip(f"nothing can be mounted on {folder}")
        os.mkdir("/run/systemd/system")  # By this systemd knows that there is one (sd_booted(3)).
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-systemd-")
        self.top = self.scratch.name
        os.environ.update(XDG_RUNTIME_DIR=f"{self.top}/run", XDG_CONFIG_HOME=f"{self.top}/config", HOME=self.top,
                          DBUS_SESSION_BUS_ADDRESS=f"unix:path={self.top}/run/bus")
        self.units = pathlib.Path(self.top, "config/systemd/user")
        self.units.mkdir(parents=True)
        os.mkdir(f"{self.top}/run", 0o700)
        self.groups = [f"{one}/headroom-test-{os.getpid()}" for one in GROUPS if os.path.isdir(one)]
        self.children = [self.start("dbus-daemon", "--session", "--nofork", "--nopidfile",
                                    f"--address={os.environ['DBUS_SESSION_BUS_ADDRESS']}")]
        self.wait(lambda: os.path.exists(f"{self.top}/run/bus"))
        self.children.append(self.start(SYSTEMD, "--user", "--unit=basic.target"))
        self.wait(lambda: self.systemctl("is-active", "basic.target") == 0)

    def start(self, *words):
        def enter():
            for group in self.groups:
                os.makedirs(group, exist_ok=True)
                with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                    file.write(str(os.getpid()))
        return subprocess.Popen(words, preexec_fn=enter, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self, holds):
        deadline = time.monotonic() + 20
        while not holds():
            if time.monotonic() > deadline:
                self.end()
                skip("no service manager of a user runs here")
            time.sleep(0.1)

    def systemctl(self, *words):
        return subprocess.run(["systemctl", "--user", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60, check=False).returncode

    def kill(self):
        """The manager and each bus: the one it was started beside, and that of its dbus.socket."""
        buses = subprocess.run(["pgrep", "-f", "^[^ ]*dbus-daemon "], capture_output=True, text=True, check=False)
        ours = [pathlib.Path(f"/proc/{pid}/cgroup") for pid in buses.stdout.split()]
        for group in ours:
            if f"headroom-test-{os.getpid()}/" in group.read_text(encoding="ascii"):
                os.kill(int(group.parent.name), signal.SIGKILL)
        for child in reversed(self.children):
            child.kill()
            child.wait(20)

    def end(self):
        self.systemctl("stop", "photos.service")
        for child in reversed(self.children):
            child.terminate()
            child.wait(20)
        for group in self.groups:
            for folder, _, _ in os.walk(group, topdown=False):
                for pid in pathlib.Path(folder, "cgroup.procs").read_text(encoding="ascii").split():
                    os.kill(int(pid), signal.SIGKILL)  # What a manager that was killed left.
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
        self.scratch.cleanup()


class Unit(deploy_test.Photos):
    """The photo service as a unit, with systemd starting it again when it dies."""

    def __init__(self, manager, binaries, candidate, **changes):
        super().__init__(binaries, candidate, **changes)
        self.manager = manager
        path = self.folder / "SERVICE.toml"
        text = re.sub(r'kind = "commands"\n(.+\n)*', 'kind = "systemd"\nuser = true\nunit = "photos.service"\n',
                      path.read_text(encoding="utf-8"), count=1)
        path.write_text(text, encoding="utf-8")
        (manager.units / "photos.service").write_text(
            f"[Service]\nExecStart=/usr/bin/python3 {self.folder}/photos.py {self.folder}/photos.conf\n"
            "Restart=always\nRestartSec=0.2\n", encoding="utf-8")

    def service(self, what):
        self.manager.systemctl("daemon-reload")
        return self.manager.systemctl({"status": "is-active"}.get(what, what), "photos.service")


def begin(photos, **environment):
    """A deployment in its watch, with a terminal of its own; what ends that is the test's to do."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(f"{photos.binaries}/headroom", photos.command("--apply"), dict(photos.environment, **environment))
    deploy_test.wait_for_stage(photos, "watching")
    return pid, terminal


def read_to_end(terminal):
    text = b""
    while True:
        try:
            text += os.read(terminal, 65536)
        except OSError:  # Nobody has its other end any more.
            os.close(terminal)
            return text


def own_scope(check, manager, binaries):
    """It leaves its session, and keeps its terminal, its parent and its exit code. Root's goes to the system's manager,
    which is the test's here."""
    for system_bus, moves in ((os.environ["DBUS_SESSION_BUS_ADDRESS"], True), ("unix:path=/nowhere", False)):
        what = f"a scope of its own, moves {moves}"
        with Unit(manager, binaries, "good") as photos:
            pid, terminal = begin(photos, DBUS_SYSTEM_BUS_ADDRESS=system_bus)
            name = f"headroom-deploy-photos-{pid}.scope"
            groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii")
            check.equal(f"{what}: its group", f"/{name}\n" in groups, moves)
            said = os.read(terminal, 65536).decode()
            check.true(f"{what}: it says what holds", "goes on when its terminal goes" in said, said)
            check.equal(f"{what}: it says where", name in said, moves)
            check.equal(f"{what}: it says what does not hold", "KillUserProcesses" in said, not moves)
            os.kill(pid, signal.SIGHUP)
            check.true(f"{what}: its output", b"committed" in read_to_end(terminal))
            status = os.waitpid(pid, 0)[1]
            check.equal(f"{what}: exit code", os.waitstatus_to_exitcode(status), 0)
            check.equal(f"{what}: outcome", photos.record()["outcome"], "committed")
            check.true(f"{what}: the scope is gone", manager.systemctl("is-active", name) != 0)


def next_start_of_the_manager(check, manager, binaries):
    """What was killed is finished by a unit that is there as long as it is needed."""
    wants = manager.units / "default.target.wants/headroom-deploy-photos.service"
    unit = manager.units / "headroom-deploy-photos.service"
    with Unit(manager, binaries, "good", edits=[("seconds = 3", "seconds = 600")]) as photos:
        before = photos.conf()
        pid, terminal = begin(photos)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
        check.true("killed: the unit that finishes it is wanted", wants.resolve() == unit.resolve() and unit.exists())
        verified = subprocess.run(["systemd-analyze", "--user", "--man=no", "verify", str(unit)], capture_output=True,
                                  text=True, check=False)
        check.true("killed: systemd takes the unit", verified.returncode == 0, verified.stderr)
        manager.systemctl("daemon-reload")
        manager.systemctl("start", unit.name)
        manager.wait(lambda: photos.record()["stage"] == "over" and not unit.exists())
        manager.wait(lambda: manager.systemctl("is-active", unit.name) != 0)
        check.true("killed: the unit did its work", manager.systemctl("is-failed", unit.name) != 0)
        check.equal("killed: the file", photos.conf(), before)
        check.equal("killed: its answer", photos.predict()["took_ms"], deploy_test.SLOW_MS)
        check.true("killed: nothing is left", not wants.is_symlink())


def the_manager_ends(check, manager, binaries):
    """A manager that goes down starts nothing any more: nothing is put back, and the unit for that stays."""
    unit = manager.units / "headroom-deploy-photos.service"
    with Unit(manager, binaries, "good", edits=[("seconds = 3", "seconds = 600")]) as photos:
        pid, terminal = begin(photos, DBUS_SYSTEM_BUS_ADDRESS=os.environ["DBUS_SESSION_BUS_ADDRESS"])
        manager.children[-1].terminate()  # Ends what is in its scopes, and with dbus.socket its bus.
        said = read_to_end(terminal).decode()
        os.waitpid(pid, 0)
        check.true("the manager ends: it says so", "shutting down" in said, said)
        check.equal("the manager ends: the record", photos.record()["stage"], "watching")
        check.true("the manager ends: the unit stays", unit.exists())


def the_manager_has_ended(check, manager, binaries):
    """The same, heard of when manager and bus are gone already."""
    unit = manager.units / "headroom-deploy-photos.service"
    with Unit(manager, binaries, "good", edits=[("seconds = 3", "seconds = 600")]) as photos:
        pid, terminal = begin(photos, DBUS_SYSTEM_BUS_ADDRESS=os.environ["DBUS_SESSION_BUS_ADDRESS"])
        manager.kill()
        os.kill(pid, signal.SIGTERM)
        said = read_to_end(terminal).decode()
        os.waitpid(pid, 0)
        check.true("the manager has ended: it says so", "shutting down" in said, said)
        check.equal("the manager has ended: the record", photos.record()["stage"], "watching")
        check.true("the manager has ended: the unit stays", unit.exists())


def main():
    if os.geteuid() != 0:
        skip("it takes root to have a mount namespace")
    for program in ("dbus-daemon", "systemctl", "unshare", SYSTEMD):
        if not shutil.which(program):
            skip(f"{program} is not here")
    binaries = os.path.abspath(sys.argv[1])
    manager, check = Manager(), deploy_test.Checks()
    try:
        for candidate, cause in (("crash", "crash-loop"), ("wrong", "wrong-answer"), ("hang", "hang")):
            with Unit(manager, binaries, candidate) as photos:
                before = photos.conf()
                deploy_test.check_rolled_back(check, f"a unit, {candidate}", photos, before,
                                              photos.deploy("--apply"), cause)
        with Unit(manager, binaries, "good") as photos:
            code, report, errors = photos.deploy("--apply")
            check.equal("a unit, good: exit code", code, 0)
            check.equal("a unit, good: outcome", report and report["outcome"], "committed")
            check.true("a unit, good: its answer", photos.predict()["took_ms"] == 10, errors)
        # A setting of the unit itself, which systemd has to read anew, there and back.
        unit = manager.units / "photos.service"
        change = ('file = "photos.conf"\nwith = "new.conf"       # run.sh puts one of candidates/ there',
                  f'file = "{unit}"\nset = {{ environment = {{ SHOWN = "1" }} }}')
        with Unit(manager, binaries, "good", edits=[change, ("faster = 1.5", "faster = 0")]) as photos:
            code, _, errors = photos.deploy("--apply")
            check.true("a setting of the unit: it is committed", code == 0, errors)
            shown = subprocess.run(["systemctl", "--user", "show", "photos.service", "--property=Environment"],
                                   capture_output=True, text=True, check=False).stdout
            check.equal("a setting of the unit: systemd has it", shown.strip(), "Environment=SHOWN=1")
        own_scope(check, manager, binaries)
        next_start_of_the_manager(check, manager, binaries)
        the_manager_ends(check, manager, binaries)  # The last one: it takes the manager.
    finally:
        manager.end()
    manager = Manager()
    try:
        the_manager_has_ended(check, manager, binaries)
    finally:
        manager.end()
    for one in check.wrong:
        print(one)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
