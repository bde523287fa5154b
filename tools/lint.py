#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over our sources; by default over those that changed since they were last found clean.

    lint.py [--all] [--stamp] [--list] BUILD_FOLDER      exit 0: clean; 1: findings; 2: usage

tools/lint-stamp has a fingerprint of every file that was found clean: a source by itself, a header by a source that includes
it. The words of messages and comments are left out of it (code_text.py): of our rules only the one about NUL in strings reads
them. Linted is a source if its own fingerprint is another one now, or is not there, and one source for each such header: what
is wrong in a header is told by any source that includes it. Where .clang-tidy changes, and by --all, everything is linted;
that also finds what a changed header makes wrong in a source that has not changed.
--stamp writes the fingerprints of what is clean, for you to commit. --list prints what would be linted. The trainer's sources
are left out: libtorch's headers take minutes each.
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
    """Of files, by their code and the rules. Files are read once."""

    def __init__(self):
        self.rules = (ROOT / ".clang-tidy").read_bytes()
        self.files = {}  # name → (its fingerprint, what it includes)

    def read(self, name):
        if name not in self.files:
            path = ROOT / name
            text = path.read_text() if path.exists() else ""  # Made by the build, and so from what is read here.
            whole = hashlib.sha256(self.rules + code_of(text).encode()).hexdigest()[:16]
            self.files[name] = (whole, [f"src/{target}" for target in INCLUDE.findall(text)])
        return self.files[name]

    def of(self, name):
        return self.read(name)[0]

    def reached(self, source):
        """The source and all that it includes from src/, through any chain."""
        reached, todo = {source}, [source]
        while todo:
            new = set(self.read(todo.pop())[1]) - reached
            reached |= new
            todo += new
        return {name for name in reached if (ROOT / name).exists()}


def choose(everything, fingerprints, stamped):
    """Sources that changed, and for each changed header that none of them includes one that does: its own, if it has one."""
    def is_new(name):
        return stamped.get(name) != fingerprints.of(name)

    chosen = [source for source in everything if is_new(source)]
    covered = set().union(*(fingerprints.reached(source) for source in chosen)) if chosen else set()
    reached = {source: fingerprints.reached(source) for source in everything}
    headers = sorted({name for names in reached.values() for name in names if name.endswith(".h") and is_new(name)})
    for header in headers:
        if header in covered:
            continue
        own = header[:-2] + ".cpp"
        source = own if own in reached else min((one for one in everything if header in reached[one]),
                                                key=lambda one: (len(reached[one]), one))
        chosen.append(source)
        covered |= reached[source]
    return sorted(chosen)


def read_stamp():
    if not STAMP.exists():
        return {}
    rows = (line.split() for line in STAMP.read_text().splitlines() if not line.startswith("#"))
    return {row[1]: row[0] for row in rows if len(row) == 2}


def write_stamp(fingerprints):
    lines = [f"{fingerprints[name]} {name}\n" for name in sorted(fingerprints)]
    STAMP.write_text("# Written by ./dev lint --stamp: files that clang-tidy found clean.\n" + "".join(lines))


def find_groups(sources, build):
    """What to give to clang-tidy, each with the sources that it covers. A build by groups (HEADROOM_UNITY) has files that
    include several sources; headers, which take most of the time, are then read once for all of them. It pays if most of its
    sources are wanted."""
    commands = pathlib.Path(ROOT, build, "compile_commands.json")
    files = [pathlib.Path(entry["file"]) for entry in json.loads(commands.read_text())] if commands.exists() else []
    wanted, groups = set(sources), []
    for file in files:
        if "Unity" in file.parts and file.exists():
            group = {str(pathlib.Path(one).relative_to(ROOT)) for one in INCLUDED_SOURCE.findall(file.read_text())}
            members = group & wanted
            if 2 * len(members) > len(group):
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
    sources = choose(everything, fingerprints, {} if options.all else stamped)
    if options.list:
        print("\n".join(sources))
        return 0
    print(f"lint: {len(sources)} of {len(everything)} sources, for what changed since it was found clean", file=sys.stderr)
    there = set().union(*(fingerprints.reached(source) for source in everything))
    kept = {} if options.all else {name: mark for name, mark in stamped.items() if name in there}

    def note(clean):  # After each source, so that what is interrupted goes on from there.
        if options.all or options.stamp:
            found = set().union(*(fingerprints.reached(source) for source in clean)) if clean else set()
            # What a source includes is clean with it; another source that has changed is not.
            marks = {name: fingerprints.of(name) for name in found if name.endswith(".h") or name in clean}
            write_stamp(kept | marks)

    note([])
    clean = lint(sources, options.build, os.cpu_count() or 1, note)
    return 0 if len(clean) == len(sources) else 1


if __name__ == "__main__":
    sys.exit(main())
