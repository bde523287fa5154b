#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over our sources; by default over those that changed since they were last found clean.

    lint.py [--all] [--stamp] [--list] BUILD_FOLDER      exit 0: clean; 1: findings; 2: usage

tools/lint-stamp has a fingerprint of every source that was found clean: of the source, of all that it includes from
src/ through any chain, and of the rules (.clang-tidy). The words of messages and comments are left out of it
(code_text.py): of our rules only the one about NUL in strings reads them. A source is linted if its fingerprint is another
one now, or is not there.
--all lints everything; --all and --stamp write the fingerprints of what is clean, for you to commit. --list prints what
would be linted. The trainer's sources are left out: libtorch's headers take minutes each.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from code_text import code_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAMP = ROOT / "tools" / "lint-stamp"
CLANG_TIDY = "clang-tidy-16"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
INCLUDED_SOURCE = re.compile(r'^#include "([^"]+\.cpp)"', re.M)
NOISE = re.compile(r"^\d+ warnings? generated\.\n", re.M)  # It counts those of other people's headers.


def find_sources():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "src"], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return sorted(name for name in names if name.endswith(".cpp") and not name.endswith("_test.cpp")
                  and not name.startswith("src/trainer/") and (ROOT / name).exists())


class Fingerprints:
    """Of sources, by their code and that of all they include. Files are read once."""

    def __init__(self):
        self.rules = (ROOT / ".clang-tidy").read_bytes()
        self.files = {}  # name → (its code's hash, what it includes)

    def read(self, name):
        if name not in self.files:
            path = ROOT / name
            text = path.read_text() if path.exists() else ""  # Made by the build, and so from what is read here.
            included = [f"src/{target}" for target in INCLUDE.findall(text)]
            self.files[name] = (hashlib.sha256(code_of(text).encode()).hexdigest(), included)
        return self.files[name]

    def of(self, source):
        reached, todo = {source}, [source]
        while todo:
            new = set(self.read(todo.pop())[1]) - reached
            reached |= new
            todo += new
        whole = hashlib.sha256(self.rules)
        for name in sorted(reached):
            whole.update(f"{name} {self.read(name)[0]}\n".encode())
        return whole.hexdigest()[:16]


def read_stamp():
    if not STAMP.exists():
        return {}
    rows = (line.split() for line in STAMP.read_text().splitlines() if not line.startswith("#"))
    return {row[1]: row[0] for row in rows if len(row) == 2}


def write_stamp(fingerprints):
    lines = [f"{fingerprints[name]} {name}\n" for name in sorted(fingerprints)]
    STAMP.write_text("# Written by ./dev lint --stamp: sources that clang-tidy found clean, with what they include.\n"
                     + "".join(lines))


def find_groups(sources, build):
    """What to give to clang-tidy, each with the sources that it covers. A build by groups (HEADROOM_UNITY) has files that
    include several sources; headers, which take most of the time, are then read once for all of them."""
    commands = pathlib.Path(ROOT, build, "compile_commands.json")
    files = [pathlib.Path(entry["file"]) for entry in json.loads(commands.read_text())] if commands.exists() else []
    wanted, groups = set(sources), []
    for file in files:
        if "Unity" in file.parts and file.exists():
            members = {str(pathlib.Path(one).relative_to(ROOT)) for one in INCLUDED_SOURCE.findall(file.read_text())} & wanted
            if members:
                groups.append((str(file), sorted(members)))
                wanted -= members
    return groups + [(source, [source]) for source in sources if source in wanted]


def lint(sources, build, jobs, note):
    """Those that are clean, each told to `note` at once; prints what is found in the others."""
    def run(group):
        file, members = group
        by_group = [] if file == members[0] else ["--checks=-bugprone-suspicious-include"]
        done = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", *by_group, file],
                              cwd=ROOT, capture_output=True, text=True)
        return members, done.returncode, done.stdout + NOISE.sub("", done.stderr)

    clean = []
    with ThreadPoolExecutor(jobs) as pool:
        for members, code, text in pool.map(run, find_groups(sources, build)):
            if code == 0:
                clean += members
                note(clean)
            elif text.strip():
                print(text, end="", flush=True)
    return clean


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--stamp", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("build")
    options = parser.parse_args()
    everything, fingerprints, stamped = find_sources(), Fingerprints(), read_stamp()
    now = {source: fingerprints.of(source) for source in everything}
    known = {} if options.all else {source: now[source] for source in everything if stamped.get(source) == now[source]}
    sources = [source for source in everything if source not in known]
    if options.list:
        print("\n".join(sources))
        return 0
    print(f"lint: {len(sources)} of {len(everything)} sources changed since they were found clean", file=sys.stderr)

    def note(clean):  # After each source, so that what is interrupted goes on from there.
        if options.all or options.stamp:
            write_stamp(known | {source: now[source] for source in clean})

    note([])
    clean = lint(sources, options.build, os.cpu_count() or 1, note)
    return 0 if len(clean) == len(sources) else 1


if __name__ == "__main__":
    sys.exit(main())
