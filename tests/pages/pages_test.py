#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages and completions say what --help says, for headroom and headroom-train: each command has its page, each option
is in the page and in the completions, and real programs read them without a complaint.

    pages_test.py FOLDER_OF_PROGRAMS FOLDER_OF_PAGES

What is not installed here (mandoc, zsh, fish) is skipped with the reason.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
PAGES = pathlib.Path(sys.argv.pop(1)).resolve()
ENVIRONMENT = {"PATH": f"{PROGRAMS}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=ENVIRONMENT, check=False, **more)


def help_of(words):
    done = run(*words, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


def options_of(text):
    """Every option that a help text lists."""
    found = []
    for line in re.findall(r"(?m)^  (-.*)$", text):
        found += re.findall(r"(?:^|, )(--?[a-zA-Z][\w-]*)", line.split("  ")[0])
    return found


def commands():
    """(words, name of the page) of each program and command."""
    for program in ("headroom", "headroom-train"):
        if not (PROGRAMS / program).exists():
            continue
        yield [program], program
        text = help_of([program])
        if "\nCommands:\n" in text:
            for name in re.findall(r"(?m)^  ([a-z]+)(?:  |$)", text.split("\nCommands:\n")[1].split("\n\n")[0]):
                yield [program, name], f"{program}-{name}"


class Shell:
    """An interactive shell in a terminal, to press Tab in."""

    def __init__(self, words, folder, prepare):
        self.child, self.end = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {**ENVIRONMENT, "TERM": "dumb", "HOME": str(folder), "PS1": "READY> ",
                                         "INPUTRC": "/dev/null"})
        self.read(3)
        for line in prepare:
            self.write(line + "\n")
        self.write("echo prepa''red\n")
        self.read(20, "prepared")

    def read(self, seconds, until=None):
        """What it writes in this time; less where it is silent for long, or has written `until`."""
        text, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.end], [], [], 1.0)
            if not ready:
                if until is None:
                    break
                continue
            try:
                text += os.read(self.end, 65536).decode(errors="replace")
            except OSError:
                break
            if until and until in text:
                break
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)

    def write(self, text):
        os.write(self.end, text.encode())

    def complete(self, text, until):
        self.write(text + "\t")
        shown = self.read(20, until)
        self.write("\x15")  # ^U: the line is taken back.
        return shown

    def close(self):
        os.close(self.end)
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)


class Pages(unittest.TestCase):
    def test_every_command_and_option_is_in_its_man_page(self):
        count = 0
        for words, page in commands():
            text = (PAGES / "man" / f"{page}.1").read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
            options = options_of(help_of(words))
            self.assertIn("--help", options)
            for option in options:
                self.assertRegex(text, rf"(?m)^(-\w, )?{re.escape(option)}( |,|$)", (page, option))
            count += len(options)
        self.assertGreater(count, 100)

    def test_no_page_is_of_a_command_that_is_gone(self):
        self.assertEqual({f"{page}.1" for _, page in commands()}, {path.name for path in (PAGES / "man").glob("*.1")})

    def test_every_option_is_in_every_completion(self):
        for words, page in commands():
            program = words[0]
            bash = (PAGES / "completions/bash" / program).read_text()
            zsh = (PAGES / "completions/zsh" / f"_{program}").read_text()
            fish = (PAGES / "completions/fish" / f"{program}.fish").read_text()
            for option in options_of(help_of(words)):
                self.assertRegex(bash, rf"(?<![\w-]){re.escape(option)}(?![\w-])", page)
                self.assertRegex(zsh, rf"(?<![\w-]){re.escape(option)}[=+\[]", page)
                self.assertRegex(fish, rf" -l {option[2:]} " if option.startswith("--") else rf" -s {option[1:]} ", page)

    def test_man_reads_the_pages(self):
        mandoc = shutil.which("mandoc")
        man = shutil.which("man")
        if not mandoc and not man:
            self.skipTest("neither mandoc nor man is installed")
        for path in sorted((PAGES / "man").glob("*.1")):
            if mandoc:
                done = run(mandoc, "-Tlint", "-W", "style", path)
                self.assertEqual(done.stdout + done.stderr, "", path.name)
            if man and shutil.which("groff"):
                done = run(man, "--warnings", "-l", path)
                self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)
                self.assertIn("SYNOPSIS", done.stdout)


class Bash(unittest.TestCase):
    """The functions that bash would call, in a real bash."""

    def answers(self, line, folder=None):
        words = line.split(" ")
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  'function=$(complete -p "$1" | sed "s/.*-F \\([^ ]*\\).*/\\1/"); "$function"; printf "%s\\n" "${COMPREPLY[@]}"')
        done = run("bash", "--norc", "-c", script, "bash", PAGES / "completions/bash" / words[0], *words, cwd=folder)
        self.assertEqual(done.stderr, "", line)
        return done.stdout.split()

    def test_commands_options_and_values(self):
        self.assertEqual(self.answers("headroom che"), ["check"])
        self.assertIn("reclaim", self.answers("headroom "))
        self.assertEqual(self.answers("headroom check --verb"), ["--verbose"])
        self.assertEqual(self.answers("headroom fix --via k"), ["kernel"])
        self.assertEqual(self.answers("headroom plan --largest = b"), ["batch"])
        self.assertEqual(self.answers("headroom run --guard a"), ["auto"])
        self.assertIn("ttm-cap", self.answers("headroom fix ttm"))
        self.assertIn("memory", self.answers("headroom help mem"))
        self.assertEqual(self.answers("headroom check --if x"), [])

    def test_every_option_of_every_command_is_offered(self):
        for words, _ in commands():
            self.assertEqual(sorted(self.answers(" ".join([*words, "-"]))), sorted(options_of(help_of(words))), words)

    def test_files_folders_and_other_commands(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "job.toml").touch()
            (folder / "jobs").mkdir()
            self.assertEqual(sorted(self.answers("headroom plan jo", folder)), ["job.toml", "jobs"])
            self.assertEqual(self.answers("headroom run --output jo", folder), ["jobs"])
            self.assertIn("printenv", self.answers("headroom run -- printen", folder))
            self.assertEqual(sorted(self.answers("headroom run -- cat job", folder)), ["job.toml", "jobs"])

    def test_pressing_tab(self):
        with tempfile.TemporaryDirectory() as scratch:
            shell = Shell(["bash", "--norc", "-i"], scratch, [f"source {PAGES / 'completions/bash/headroom'}"])
            try:
                self.assertIn("headroom reclaim", shell.complete("headroom recl", "headroom reclaim"))
                self.assertIn("--permanent", shell.complete("headroom fix --perm", "--permanent"))
            finally:
                shell.close()


class Zsh(unittest.TestCase):
    def setUp(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")

    def test_it_is_zsh(self):
        for path in (PAGES / "completions/zsh").iterdir():
            done = run("zsh", "-n", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)

    def test_pressing_tab(self):
        with tempfile.TemporaryDirectory() as scratch:
            prepare = [f"fpath=({PAGES / 'completions/zsh'} $fpath)", "autoload -Uz compinit", f"compinit -u -d {scratch}/dump"]
            shell = Shell(["zsh", "-f", "-i"], scratch, prepare)
            try:
                for typed, completed in (("headroom recl", "reclaim"), ("headroom fix --perm", "--permanent"),
                                         ("headroom fix --via k", "kernel"), ("headroom help ladd", "ladder"),
                                         ("headroom run -- printen", "printenv"), ("headroom-train --allocator=l", "libtorch")):
                    if typed.startswith("headroom-train") and not (PROGRAMS / "headroom-train").exists():
                        continue
                    self.assertIn(completed, shell.complete(typed, completed), typed)
            finally:
                shell.close()


class Fish(unittest.TestCase):
    def setUp(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")

    def answers(self, line):
        script = f'for file in {PAGES}/completions/fish/*.fish; source $file; end; complete -C "{line}"'
        done = run("fish", "--no-config", "-c", script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    def test_commands_options_and_values(self):
        self.assertEqual(self.answers("headroom che"), ["check"])
        self.assertEqual(self.answers("headroom check --verb"), ["--verbose"])
        self.assertEqual(self.answers("headroom fix --via k"), ["kernel"])
        self.assertIn("ttm-cap", self.answers("headroom fix ttm"))
        self.assertIn("ladder", self.answers("headroom help ladd"))
        self.assertIn("printenv", self.answers("headroom run -- printen"))

    def test_every_option_is_offered(self):
        for words, _ in commands():
            long_ones = [option for option in options_of(help_of(words)) if option.startswith("--")]
            offered = self.answers(" ".join([*words, "--"]))
            for option in long_ones:
                self.assertIn(option, offered, words)


if __name__ == "__main__":
    unittest.main()
