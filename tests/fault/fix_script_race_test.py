#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `headroom fix ID --script` prints, run by root for the home folder of a hostile user, whose processes plant
links where it writes and exchange folders for links that lead to root's own. It has to stop before it does anything,
with the command that is safe; where every folder is root's it does its work, through links too, and never out of ROOT.

usage: fix_script_race_test.py BIN_FOLDER [ROUNDS]
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

from undo_script_race_test import ATTACKS, HOSTILE, TIMEOUT_S, content, lay_out, seen, start, stop, write

ROUNDS = 12
HOME = "/people/someone"
APP = f"{HOME}/.config/app"
SAFE_WAY = "sudo headroom fix home --apply"


class Machine:
    """A scratch root, what is root's beside it, and the script of a change in a home folder and in /etc."""

    def __init__(self, binaries, scratch):
        os.chmod(scratch, 0o755)
        self.root, self.victims, self.script = f"{scratch}/root", f"{scratch}/victims", f"{scratch}/fix.sh"
        os.mkdir(self.root)
        lay_out(self.root, self.victims)
        text = subprocess.run([f"{binaries}/home_change", "--script", HOME], capture_output=True, text=True,
                              check=True).stdout
        write(self.script, text)

    def run(self, shell=("sh",), **how):
        done = subprocess.run([*shell, self.script], env={**os.environ, "ROOT": self.root}, capture_output=True,
                              text=True, timeout=TIMEOUT_S, check=False, **how)
        return done.returncode, done.stdout + done.stderr

    def give_all_to(self, owner):
        for at, folders, files in os.walk(self.root):
            for name in folders + files + ["."]:
                os.lchown(os.path.join(at, name), owner, owner)


@contextlib.contextmanager
def machine(binaries):
    with tempfile.TemporaryDirectory(prefix="headroom-race-") as scratch:
        yield Machine(binaries, scratch)


def differences(before, after):
    return [f"{path}: {before.get(path)}, then {after.get(path)}"
            for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]


def refusal(it, run=None):
    """What is wrong with how it refuses; nothing of the machine may have changed."""
    before = seen(it.root)
    status, said = (run or it.run)()
    wrong = differences(before, seen(it.root))
    if status != 1:
        wrong.append(f"expected exit 1, found {status}: {said}")
    for text in ("could lead root elsewhere; nothing was done", SAFE_WAY):
        if text not in said:
            wrong.append(f"expected {text!r} to be said, found {said!r}")
    return wrong


def work(it, status, said, environment="/etc/environment"):
    """What of its work is not as the change says."""
    wrong = [] if status == 0 else [f"expected exit 0, found {status}: {said}"]
    for path, text in ((environment, "new\n"), (f"{APP}/settings.conf", "new\n"), (f"{APP}/made/made.conf", "made\n")):
        if content(it.root + path) != text:
            wrong.append(f"{path}: expected {text!r}, found {content(it.root + path)!r}: {said}")
    if os.readlink(f"{it.root}{APP}/link") != "new":
        wrong.append(f"the link leads to {os.readlink(f'{it.root}{APP}/link')}")
    return wrong


def a_race(binaries, attack):
    with machine(binaries) as it:
        before = seen(it.victims)
        child = start(*ATTACKS[attack](it.root + HOME, it.victims))
        try:
            status, said = it.run()
        finally:
            stop(child)
        wrong = differences(before, seen(it.victims))
        if status != 1 or content(f"{it.root}/etc/environment") != "old\n":
            wrong.append(f"expected exit 1 and nothing done, found {status}: {said}")
        return wrong


def planted_links(binaries):
    """Nothing moves here: the links are there when it starts, at the names that it writes to on the way."""
    with machine(binaries) as it:
        before = seen(it.victims)
        for name in ("settings.conf", "link", "made/made.conf"):
            with contextlib.suppress(FileNotFoundError):
                os.symlink(f"{it.victims}/file", f"{it.root}{APP}/{name}.headroom-new")
        os.symlink(f"{it.victims}/empty", f"{it.root}{APP}/made")
        return refusal(it) + differences(before, seen(it.victims))


def a_folder_of_a_group(binaries):
    with machine(binaries) as it:
        it.give_all_to(0)
        os.chmod(f"{it.root}{HOME}/.config", 0o775)
        return refusal(it)


def a_link_into_a_home(binaries):
    """In root's own folder, so nobody exchanges it; where it leads to is somebody's."""
    with machine(binaries) as it:
        it.give_all_to(0)
        write(f"{it.root}/people/other/environment", "old\n", HOSTILE)
        os.chown(f"{it.root}/people/other", HOSTILE, HOSTILE)
        os.unlink(f"{it.root}/etc/environment")
        os.symlink("../people/other/environment", f"{it.root}/etc/environment")
        return refusal(it)


def copies_in_a_home(binaries):
    """Where it keeps its copies is looked at as well."""
    with machine(binaries) as it:
        it.give_all_to(0)
        os.makedirs(f"{it.root}/var")
        os.symlink("../people/copies", f"{it.root}/var/lib")
        os.mkdir(f"{it.root}/people/copies")
        os.chown(f"{it.root}/people/copies", HOSTILE, HOSTILE)
        return refusal(it)


def all_of_it_is_roots(binaries):
    wrong = []
    for shell in (["sh"], ["dash"], ["bash", "--posix"], ["busybox", "sh"]):
        try:
            subprocess.run([*shell, "-c", ":"], check=True, stderr=subprocess.DEVNULL)
        except (FileNotFoundError, subprocess.CalledProcessError):
            continue
        with machine(binaries) as it:
            it.give_all_to(0)
            wrong += work(it, *it.run(shell))
    return wrong


def links_stay_in_the_root(binaries):
    """Absolute links, of folders and as the last part, are what they are on that machine."""
    with machine(binaries) as it:
        it.give_all_to(0)
        before = seen(it.victims)
        write(f"{it.root}{it.victims}/file", "old\n")
        os.unlink(f"{it.root}/etc/environment")
        os.symlink(f"{it.victims}/file", f"{it.root}/etc/environment")
        os.makedirs(f"{it.root}/var")
        os.symlink(f"{it.victims}/empty", f"{it.root}/var/lib")
        wrong = work(it, *it.run(), environment=f"{it.victims}/file")
        if not os.path.islink(f"{it.root}/etc/environment"):
            wrong.append("the link was replaced")
        return wrong + differences(before, seen(it.victims))


def the_owner_does_as_before(binaries):
    """Who is not root has their own rights to lose."""
    with machine(binaries) as it:
        it.give_all_to(HOSTILE)
        return work(it, *it.run(user=HOSTILE, group=HOSTILE, extra_groups=[]))


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    binaries = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) == 3 else ROUNDS
    if os.geteuid() != 0:
        print("skipped: only root can play both root and a hostile user")
        return 77
    wrong = []
    for check in (planted_links, a_folder_of_a_group, a_link_into_a_home, copies_in_a_home, all_of_it_is_roots,
                  links_stay_in_the_root, the_owner_does_as_before):
        wrong += [f"{check.__name__}: {text}" for text in check(binaries)]
    began = time.monotonic()
    victims = 0
    for number in range(rounds):
        attack = list(ATTACKS)[number % len(ATTACKS)]
        found = a_race(binaries, attack)
        victims += bool(found)
        wrong += [f"round {number}, {attack}: {text}" for text in found]
    print(f"{victims} of {rounds} races lost, {time.monotonic() - began:.0f} s", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
