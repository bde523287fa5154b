#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md shows is what the programs print: each "$ COMMAND" of it is run, and the lines below it are lines of its
output, in this order and with nothing between them but where README says "…". Every command that README names exists.

    readme_test.py BIN_DIR SOURCE_DIR

"<!-- on NAME -->" before a listing names the machine, of tests/machines.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
README = (SOURCE / "README.md").read_text(encoding="utf-8")
LISTING = re.compile(r"<!-- on (\S+) -->\n```\n(.*?)```", re.S)


def run(words, folder):
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    return subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


def as_on_it(printed):
    """What is printed on the machine itself, where the command to type next names no folder."""
    printed = re.sub(r" --root machine\n +\(", "   (", printed)  # Without the folder the remark is on the same line.
    return printed.replace(" --root machine", "").replace("Next: on that machine: ", "Next: ")


def sessions(listing):
    """(command, lines below it) of a listing."""
    for part in re.split(r"(?m)^\$ ", listing)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.rstrip("\n").split("\n")


def first_difference(shown, printed):
    """The first line of README that the output does not have in its place; nothing if all have."""
    place, may_skip = 0, False
    for line in shown:
        if line == "…":
            may_skip = True
            continue
        while may_skip and place < len(printed) and printed[place] != line:
            place += 1
        if place >= len(printed) or printed[place] != line:
            return line
        place, may_skip = place + 1, False
    return None


class Readme(unittest.TestCase):
    def test_what_it_shows_is_what_is_printed(self):
        count = 0
        for name, listing in LISTING.findall(README):
            with tempfile.TemporaryDirectory() as scratch:
                folder = pathlib.Path(scratch)
                made = run([BIN / "fake_machine", SOURCE / "tests/machines" / f"{name}.toml", "machine"], folder)
                self.assertEqual(made.returncode, 0, made.stderr)
                for command, shown in sessions(listing):
                    done = run([*command.split(), "--root", "machine"], folder)
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    missing = first_difference(shown, as_on_it(done.stdout).split("\n"))
                    self.assertIsNone(missing, f"{command} ({name}) no longer prints this line here:\n{done.stdout}")
                    count += 1
        self.assertGreaterEqual(count, 5)

    def test_every_listing_with_output_is_run(self):
        shown = re.findall(r"(?m)^\$ ", README)
        run_here = [command for _, listing in LISTING.findall(README) for command, _ in sessions(listing)]
        self.assertEqual(len(shown), len(run_here))

    def test_every_command_and_option_that_it_names_exists(self):
        helps = {}
        for text in re.findall(r"(?m)^(?:\$ |sudo )?(headroom [a-z][^#\n]*)", README) + re.findall(r"`(?:sudo )?(headroom [^`]*)`", README):
            own, _, behind = text.partition(" -- ")
            words = own.split()
            if words[1].startswith("-"):
                continue
            if words[1] not in helps:
                helps[words[1]] = run([BIN / "headroom", words[1], "--help"], SOURCE)
            self.assertEqual(helps[words[1]].returncode, 0, text)
            for option in (word for word in words[2:] if word.startswith("--")):
                self.assertRegex(helps[words[1]].stdout, rf"(?m)^  (-\w, )?{re.escape(option)}\b", text)

    def test_its_pages_and_pictures_exist(self):
        for place in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
            if not place.startswith("http"):
                self.assertTrue((SOURCE / place).exists(), place)

    def test_its_places_exist(self):
        headings = {re.sub(r"[^\w\- ]", "", line).lower().replace(" ", "-")
                    for line in re.findall(r"(?m)^#+ (.*)$", README)}
        for place in re.findall(r"\]\(#([^)]+)\)", README):
            self.assertIn(place, headings)


if __name__ == "__main__":
    unittest.main()
