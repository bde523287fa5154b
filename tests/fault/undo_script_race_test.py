#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""undo.sh run by root while the owner of the home folder that it restores to is hostile: the owner's
processes plant links where the script writes, and exchange folders for links that lead to root's own.
Nothing of root's may be read, written, removed or given away, and the script must end.

usage: undo_script_race_test.py BIN_FOLDER [ROUNDS]
"""
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

ROUNDS = 50
HOSTILE = 65534
TIMEOUT_S = 120
CHANGE = "20261121T223011Z-home"
NAMES = ("settings.conf", "link", "made")


def write(path, text, owner=0):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chown(path, owner, owner)


def content(path):
    """None where nothing is there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def seen(folder):
    """Everything about a tree that the hostile user could want to change."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in folders + files + ["."]:
            path = os.path.join(at, name)
            status = os.lstat(path)
            data = None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    data = file.read()
            found[path] = (status.st_mode, status.st_uid, status.st_gid, status.st_ino, data)
    return found


def lay_out(root, victims):
    """A machine with one hostile user, and what is root's and has the names of that user's files."""
    os.chmod(root, 0o755)
    write(f"{root}/etc/environment", "old\n")
    app = f"{root}/people/someone/.config/app"
    write(f"{app}/settings.conf", "old\n", HOSTILE)
    os.symlink("old", f"{app}/link")
    for path in (f"{root}/people/someone", f"{root}/people/someone/.config", app):
        os.chown(path, HOSTILE, HOSTILE)
    for name in ("settings.conf", "link", "made/made.conf", "file", "app/settings.conf", "app/link",
                 "app/made/made.conf"):
        write(f"{victims}/{name}", "root's own\n")
    os.mkdir(f"{victims}/empty")


def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        pass


def plant(app, victims):
    """Links to root's file at every name that something could be written to."""
    while True:
        for name in NAMES:
            attempt(os.symlink, f"{victims}/file", f"{app}/.{name}.headroom-new")
        attempt(os.unlink, f"{app}/link")
        attempt(os.symlink, victims, f"{app}/link")
        attempt(os.rename, f"{app}/.settings.conf.headroom-new", f"{app}/.old")


def exchange(folder, aside, target):
    """The folder is the user's own, and then a link to root's, and then the user's own again."""
    while True:
        attempt(os.rename, folder, aside)
        attempt(os.symlink, target, folder)
        attempt(os.unlink, folder)
        attempt(os.rename, aside, folder)


def start(action, *arguments):
    child = os.fork()
    if child:
        return child
    signal.alarm(3600)  # Never outlives the test by much.
    try:
        os.setgroups([])
        os.setgid(HOSTILE)
        os.setuid(HOSTILE)
        action(*arguments)
    finally:
        os._exit(0)


def stop(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


ATTACKS = {
    "links planted": lambda home, victims: (plant, f"{home}/.config/app", victims),
    "folder exchanged": lambda home, victims: (exchange, f"{home}/.config/app", f"{home}/.config/aside",
                                               victims),
    "folder above exchanged": lambda home, victims: (exchange, f"{home}/.config", f"{home}/aside", victims),
}


def one_round(binaries, attack, run):
    """Returns what went wrong."""
    with tempfile.TemporaryDirectory(prefix="headroom-race-") as scratch:
        os.chmod(scratch, 0o755)
        root, victims = f"{scratch}/root", f"{scratch}/victims"
        os.mkdir(root)
        lay_out(root, victims)
        subprocess.run([f"{binaries}/scratch_root", root], check=True)
        subprocess.run([f"{binaries}/home_change", root, "/people/someone"], check=True)
        before = seen(victims)
        child = start(*ATTACKS[attack](f"{root}/people/someone", victims))
        try:
            done = run(binaries, root)
        finally:
            stop(child)
        after = seen(victims)
        wrong = [f"{path}: {before.get(path)}, then {after.get(path)}"
                 for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
        if run is by_script and content(f"{root}/etc/environment") != "old\n":
            wrong.append(f"what root alone can change was not restored: {done.stdout}{done.stderr}")
        return wrong


def by_script(_, root):
    words = ["sh", f"{root}/var/lib/headroom/changes/{CHANGE}/undo.sh", "--force", root]
    return subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def by_headroom(binaries, root):
    return subprocess.run([f"{binaries}/home_change", "--undo", root], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)


def said_what_it_left(binaries):
    """Without anybody hostile: what is the user's is named, the way on as well, and the exit says it."""
    with tempfile.TemporaryDirectory(prefix="headroom-race-") as scratch:
        os.chmod(scratch, 0o755)
        root = f"{scratch}/root"
        os.mkdir(root)
        lay_out(root, f"{scratch}/victims")
        subprocess.run([f"{binaries}/scratch_root", root], check=True)
        subprocess.run([f"{binaries}/home_change", root, "/people/someone"], check=True)
        done = by_script(binaries, root)
        said = done.stdout + done.stderr
        wrong = []
        for text in (f"{root}/people/someone/.config/app/settings.conf: left as it is",
                     f"{root}/people/someone is user {HOSTILE}'s", f"sudo headroom undo {CHANGE}"):
            if text not in said:
                wrong.append(f"expected {text!r} to be said, found {said!r}")
        if done.returncode != 1:
            wrong.append(f"expected exit 1, found {done.returncode}: {said}")
        # The rest is headroom's, and of it the user's own rights do as well.
        done = by_headroom(binaries, root)
        if done.returncode != 0:
            wrong.append(f"headroom did not finish it: {done.stderr}")
        if content(f"{root}/people/someone/.config/app/settings.conf") != "old\n":
            wrong.append("headroom did not restore the user's file")
        return wrong


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    binaries = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) == 3 else ROUNDS
    if os.geteuid() != 0:
        print("skipped: only root can play both root and a hostile user")
        return 77
    wrong = said_what_it_left(binaries)
    victims = 0
    began = time.monotonic()
    for number in range(rounds):
        attack = list(ATTACKS)[number % len(ATTACKS)]
        for run in (by_script, by_headroom):
            found = one_round(binaries, attack, run)
            if found:
                victims += 1
                print(f"round {number}, {attack}, {run.__name__}:", *found, sep="\n  ")
    print(f"{victims} victims in {2 * rounds} runs, {time.monotonic() - began:.0f} s")
    for line in wrong:
        print(line)
    return 1 if victims or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
