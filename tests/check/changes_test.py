#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What changed on a machine before its jobs failed, as each package manager tells it.     changes_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"

APT = """
Start-Date: 2026-04-01  09:00:00
Upgrade: linux-firmware:amd64 (20240318, 20240401)
End-Date: 2026-04-01  09:00:09

Start-Date: 2026-05-08  09:00:00
Commandline: apt upgrade
Requested-By: marguerite (1000)
Upgrade: keepassxc:amd64 (2.6, 2.7), rocm-core:amd64 (6.3.2, 6.4.0), rocblas:amd64 (4.3, 4.4)
End-Date: 2026-05-08  09:01:00

Start-Date: 2026-05-12  09:00:00
Upgrade: amdgpu-dkms:amd64 (6.10, 6.12)
End-Date: 2026-05-12  09:01:00
"""
PACMAN = """[2026-05-08T09:00:00+0200] [ALPM] transaction started
[2026-05-08T09:00:01+0200] [ALPM] upgraded rocm-core (6.3.2-1 -> 6.4.0-1)
[2026-05-08T09:00:02+0200] [ALPM] upgraded firefox (1-1 -> 2-1)
[2026-05-12T09:00:02+0200] [ALPM] upgraded linux (6.14-1 -> 6.15-1)
"""
DNF = """2026-05-08T09:00:00+0200 INFO --- logging initialized ---
2026-05-08T09:00:01+0200 SUBDEBUG Upgrade: rocm-core-6.4.0-1.fc41.x86_64
2026-05-08T09:00:02+0200 SUBDEBUG Upgraded: rocm-core-6.3.2-1.fc41.x86_64
2026-05-12T09:00:02+0200 SUBDEBUG Installed: kernel-core-6.15-1.fc41.x86_64
"""
ZYPP = """# 2026-04-01 09:00:00 rocm-core-6.3.2-1.x86_64.rpm installed ok
2026-03-01 09:00:00|install|rocm-core|6.3.2-1|x86_64||rocm|0|
2026-05-08 09:00:00|install|rocm-core|6.4.0-1|x86_64|root@marguerite|rocm|0|
2026-05-12 09:00:00|install|kernel-default|6.15-1|x86_64||oss|0|
"""
LOG = """2026-05-10 10:00:00,100 INFO step 1/100 loss 2.0
2026-05-10 10:00:01,200 ERROR Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. Reason: Unknown.
"""


def headroom(*words):
    return subprocess.run([PROGRAMS / "headroom", *map(str, words)], capture_output=True, text=True, timeout=60)


class Changes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.root = self.folder / "machine"
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "navi22-override.toml", self.root], check=True)
        self.log = self.folder / "job.log"
        self.log.write_text(LOG)

    def write(self, path, text):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())

    def changes(self, *words, root=None):
        return json.loads(headroom("check", "--json", "--root", root or self.root, *words).stdout).get("changes")

    def test_each_manager_tells_what_changed_before_the_first_failure(self):
        for path, text, command in (
                ("var/log/apt/history.log", APT, "sudo apt install rocm-core=6.3.2 rocblas=4.3"),
                ("var/log/pacman.log", PACMAN, "sudo pacman -U /var/cache/pacman/pkg/rocm-core-6.3.2-1-*.pkg.tar.zst"),
                ("var/log/dnf.rpm.log", DNF, "sudo dnf downgrade rocm-core-6.3.2-1.fc41"),
                ("var/log/zypp/history", ZYPP, "sudo zypper install --oldpackage rocm-core=6.3.2-1")):
            with self.subTest(path):
                self.write(path, text)
                found = self.changes("--log", self.log)
                self.assertEqual((found["until"], found["until_what"]), ("2026-05-10T10:00:01", "first-failure"))
                self.assertEqual([one["package"] for one in found["list"]], ["rocm-core"])
                self.assertEqual(found["list"][0]["go_back"]["command"], command)
                run = headroom("check", "--root", self.root, "--log", self.log)
                self.assertIn("Changed in the 14 days before the first failure (2026-05-10)", run.stdout)
                self.assertIn("Last changed: rocm-core from", " ".join(run.stdout.split()))
                (self.root / path).unlink()

    def test_without_a_log_a_copy_ends_with_its_newest_change(self):
        self.write("var/log/apt/history.log", APT)
        found = self.changes()
        self.assertEqual((found["until"], found["until_what"]), ("2026-05-12T09:00:00", "newest-change"))
        self.assertEqual([one["kind"] for one in found["list"]], ["driver", "rocm"])
        self.assertEqual(found["list"][1]["others"], ["rocblas"])
        self.assertIn("amdgpu-dkms from 6.10 to 6.12", headroom("check", "--root", self.root).stdout)

    def test_without_histories_nothing_is_said(self):
        self.assertIsNone(self.changes())
        self.assertNotIn("Changed in", headroom("check", "--root", self.root, "--log", self.log).stdout)

    def test_a_history_that_begins_after_the_failure_does_not_say_that_nothing_changed(self):
        self.write("var/log/pacman.log", "[2026-05-20T09:00:01+0200] [ALPM] upgraded rocm-core (6.3.2-1 -> 6.4.0-1)\n")
        found = self.changes("--log", self.log)
        self.assertEqual((found["list"], found["histories"][0]["since"]), ([], "2026-05-20T09:00:01"))
        self.assertIn("not known: the history of pacman begins on 2026-05-20",
                      headroom("check", "--root", self.root, "--log", self.log).stdout)
        self.write("var/log/pacman.log.1", "[2026-04-01T09:00:01+0200] [ALPM] upgraded bash (1-1 -> 2-1)\n")
        self.assertNotIn("not known", headroom("check", "--root", self.root, "--log", self.log).stdout)

    def test_a_version_that_is_a_path_is_in_no_command(self):
        self.write("var/log/pacman.log",
                   "[2026-05-08T09:00:01+0200] [ALPM] upgraded rocm-core (/../../../tmp/evil -> 6.4.0-1)\n")
        self.assertIsNone(self.changes("--log", self.log)["list"][0]["go_back"])

    def test_a_log_without_dates_leaves_the_last_days(self):
        self.write("var/log/apt/history.log", APT)
        self.log.write_text("Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00.\n")
        self.assertEqual(self.changes("--log", self.log)["until_what"], "newest-change")

    def test_a_capture_says_the_same_and_holds_no_log(self):
        self.write("var/log/apt/history.log", APT)
        output = self.folder / "capture"
        run = headroom("capture", output, "--root", self.root, "--json")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.changes(root=output), self.changes())
        self.assertEqual(self.changes("--log", self.log, root=output), self.changes("--log", self.log))
        everything = b"".join(path.read_bytes() for path in output.rglob("*") if path.is_file())
        for private in (b"marguerite", b"keepassxc", b"Commandline"):
            self.assertNotIn(private, everything)

    def test_hostile_histories_do_no_harm(self):
        apt = self.root / "var/log/apt"
        apt.mkdir(parents=True)
        os.mkfifo(apt / "history.log")
        (self.root / "var/log/pacman.log").symlink_to("pacman.log")
        self.write("var/log/dnf.rpm.log", bytes(range(256)) * 4096)
        self.write("var/log/zypp/history", "2099-01-01 00:00:00|install|kernel-default|9\n2099-01-01 00")
        run = headroom("check", "--root", self.root, "--log", self.log, "--json")
        found = json.loads(run.stdout)["changes"]
        self.assertEqual(found["list"], [])
        self.assertEqual({one["manager"]: one["read"] for one in found["histories"]},
                         {"apt": False, "pacman": False, "dnf": True, "zypp": True})


if __name__ == "__main__":
    unittest.main()
