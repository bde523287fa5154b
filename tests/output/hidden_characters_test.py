#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever machines, logs, archives and jobs hold: nothing printed steers a terminal or hides.

    hidden_characters_test.py FOLDER_OF_PROGRAMS
"""
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
TESTS = pathlib.Path(__file__).resolve().parent.parent
HIDDEN = "\x1b[2J\x9b31m\u202egpj.exe\u202c\u200b\u200e\u2066x\u2069\u2028\u061c\ufeff\U000e0041\x7f\x07"
BAD_BYTES = b"\xff\xfe\xc2"


def is_hidden(character):
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")


class HiddenCharacters(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-hidden-")
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name) / "run"
        shutil.copytree(TESTS / "transcripts" / "files", self.folder)

    def headroom(self, *words, program="headroom", stdin=b""):
        environment = {"PATH": f"{PROGRAMS}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        done = subprocess.run([PROGRAMS / program, *words], cwd=self.folder, env=environment, input=stdin,
                              capture_output=True, timeout=120)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
            found = [(f"U+{ord(c):04X}", data.decode()[max(0, i - 40):i + 20]) for i, c in enumerate(data.decode())
                     if is_hidden(c)]
            self.assertEqual(found[:1], [], f"{name} of {words}")
        return done

    def test_arguments_that_are_no_text(self):
        for flag in ("--batch", "--rank", "--dropout", "--autocast", "--sequence", "--capacity", "--model"):
            for words in (["plan", "job.toml"], ["plan", "job.toml", "--json"]):
                self.assertEqual(self.headroom(*words, flag, BAD_BYTES).returncode, 2, flag)

    def machine(self, kind="fake_machine", name=str(TESTS / "machines" / "strix-halo-half.toml")):
        """One whose every text file that people or programs write says more than it shows."""
        subprocess.run([PROGRAMS / kind, name, self.folder / "machine"], check=True, capture_output=True)
        root = self.folder / "machine"
        (root / "etc").mkdir(exist_ok=True)
        (root / "etc/os-release").write_text(f'ID=debian\nPRETTY_NAME="Debian {HIDDEN}"\nVERSION_ID="12{HIDDEN}"\n')
        (root / "etc/modprobe.d").mkdir(parents=True, exist_ok=True)
        (root / "etc/modprobe.d" / f"x{HIDDEN}.conf").write_text(f"options amdgpu gttsize=49152 # {HIDDEN}\n")
        for path in ("proc/cmdline", "etc/modprobe.d/amdgpu_llm_optimized.conf", "etc/default/grub", "etc/environment"):
            if (root / path).is_file():
                text = (root / path).read_bytes()
                (root / path).write_bytes(text.replace(b" quiet", b" quiet " + HIDDEN.encode() + BAD_BYTES, 1)
                                          if path == "proc/cmdline" else text + b"# " + HIDDEN.encode() + b"\n")
        for path in root.glob("proc/*/comm"):
            path.write_text(f"a{HIDDEN}\n")
        for name in ("product_name", "product_number"):
            for path in root.glob(f"sys/**/{name}"):
                if path.is_file():
                    path.write_text(f"card{HIDDEN}\n")
        return root

    def test_machines(self):
        self.machine()
        (self.folder / "env").write_text(f"export HSA_OVERRIDE_GFX_VERSION=11{HIDDEN}\nexport {HIDDEN}=1\n")
        for words in (["check"], ["check", "--verbose"], ["check", "--quiet"], ["check", "--json"], ["check", "--env", "env"],
                      ["check", "--env", "env", "--json"], ["check", "--if", "reboot"],
                      ["check", "--if", f"ttm.pages_limit={HIDDEN}"], ["check", "--python", f"/no{HIDDEN}"],
                      ["fix"], ["fix", "--json"], ["fix", "ttm-cap"], ["fix", "ttm-cap", "--json"],
                      ["fix", "ttm-cap", "--script"], ["fix", f"ttm{HIDDEN}"], ["history"], ["reclaim"], ["reclaim", "--json"],
                      ["reclaim", "--gpu", HIDDEN], ["capture", "out"], ["capture", f"o{HIDDEN}"]):
            with self.subTest(words=words):
                self.headroom(*words, "--root", "machine")

    def test_json_keeps_what_was_read(self):
        self.machine()
        done = self.headroom("check", "--json", "--root", "machine")
        self.assertIn(f"Debian {HIDDEN}", json.dumps(json.loads(done.stdout), ensure_ascii=False).encode()
                      .decode().replace("\\u001b", "\x1b").replace("\\u0007", "\x07").replace("\\u007f", "\x7f"))

    def test_changes_of_a_machine(self):
        self.machine("fake_distribution", "debian-12")
        for words in (["fix", "ttm-cap", "--size", "110GiB"], ["fix", "ttm-cap", "--size", "110GiB", "--json"],
                      ["fix", "ttm-cap", "--size", "110GiB", "--script"],
                      ["fix", "ttm-cap", "--size", "110GiB", "--apply"], ["history"], ["history", "--json"],
                      ["history", HIDDEN], ["confirm"], ["undo"], ["undo", HIDDEN]):
            with self.subTest(words=words):
                self.headroom(*words, "--root", "machine")

    def test_logs(self):
        lines = (self.folder / "logs/full-card.log").read_text().splitlines()
        log = "\n".join(f"{line} {HIDDEN}" for line in lines).encode() + b"\n" + BAD_BYTES + b"\n"
        (self.folder / f"log{HIDDEN}.log").write_bytes(log)
        for words in ([], ["--json"], ["--report", "note.md"], ["--quiet"]):
            with self.subTest(words=words):
                self.headroom("check", "--log", f"log{HIDDEN}.log", *words)
        self.assertFalse([c for c in (self.folder / "note.md").read_text() if is_hidden(c)])
        self.headroom("check", "--log", f"none{HIDDEN}")
        self.headroom("check", "--watch", f"none{HIDDEN}")
        (self.folder / "stated.json").write_text(json.dumps({f"gpu{HIDDEN}": HIDDEN}))
        self.headroom("check", "--log", "logs/full-card.log", "--stated", "stated.json")

    def test_archives(self):
        for number, name in enumerate((f"../{HIDDEN}", f"machine/{HIDDEN}", HIDDEN)):
            path = self.folder / f"a{number}.tar"
            with tarfile.open(path, "w") as archive:
                member = tarfile.TarInfo(name)
                member.size = 1
                archive.addfile(member, io.BytesIO(b"x"))
                link = tarfile.TarInfo(f"link{HIDDEN}")
                link.type, link.linkname = tarfile.SYMTYPE, f"/{HIDDEN}"
                archive.addfile(link)
                device = tarfile.TarInfo(f"device{HIDDEN}")
                device.type = tarfile.CHRTYPE
                archive.addfile(device)
            self.headroom("check", "--root", path.name)
        shutil.copy(self.folder / "a0.tar", self.folder / f"a{HIDDEN}.tar")
        self.headroom("check", "--root", f"a{HIDDEN}.tar")

    def test_jobs_and_models(self):
        def toml(text):
            return json.dumps(text)
        jobs = {
            "name": f"[model]\nname = {toml('Qwen/' + HIDDEN)}\n",
            "key": f"[model]\nname = \"Qwen/Qwen2.5-0.5B\"\n[batch]\n{toml(HIDDEN)} = 1\n",
            "value": f"[model]\nname = \"Qwen/Qwen2.5-0.5B\"\n[compute]\ndtype = {toml(HIDDEN)}\n",
            "config": f"[model]\nconfig = {toml('model' + HIDDEN)}\n",
            "raw": f"[model]\nname = \"{HIDDEN}\n",
        }
        for name, text in jobs.items():
            (self.folder / f"{name}.toml").write_text(text)
            for words in (["plan"], ["plan", "--json"], ["run"], ["check", "--log", "logs/full-card.log", "--job"]):
                with self.subTest(job=name, words=words):
                    self.headroom(*words, f"{name}.toml")
        (self.folder / "bytes.toml").write_bytes(b"[model]\nname = \"" + BAD_BYTES + b"\"\n")
        self.headroom("plan", "bytes.toml")
        config = json.loads((self.folder / "model/config.json").read_text())
        config["model_type"] = HIDDEN
        (self.folder / f"model{HIDDEN}").mkdir()
        (self.folder / f"model{HIDDEN}" / "config.json").write_text(json.dumps(config))
        self.headroom("plan", "config.toml")
        self.headroom("plan", f"none{HIDDEN}.toml")
        self.headroom("plan", "job.toml", "--record", f"none{HIDDEN}")
        if (PROGRAMS / "headroom-train").exists():
            for name in jobs:
                self.headroom(f"{name}.toml", "--output", "out", program="headroom-train")

    def test_traces_and_words(self):
        (self.folder / f"t{HIDDEN}.txt").write_text(f"a 1 100\nf 1\n{HIDDEN}\n")
        self.headroom("replay", f"t{HIDDEN}.txt")
        (self.folder / f"u{HIDDEN}.txt").write_text("a 1 100\nf 1\n")
        self.headroom("replay", f"u{HIDDEN}.txt")
        self.headroom("replay", f"u{HIDDEN}.txt", "--json", "--html", f"p{HIDDEN}.html")
        self.headroom("replay", f"u{HIDDEN}.txt", "--html", f"none{HIDDEN}/p.html")
        self.headroom(HIDDEN)
        self.headroom("check", f"--{HIDDEN}")
        self.headroom("plan", "--explain", HIDDEN)
        self.headroom(os.fsdecode(b"che\xffck"))


if __name__ == "__main__":
    unittest.main()
