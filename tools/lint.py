#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over our sources; by default over what changed since they were last found clean, and what that reaches.

    lint.py [--all] [--stamp] [--list] BUILD_FOLDER      exit 0: clean; 1: findings; 2: usage

tools/lint-stamp names the commit whose sources were all clean. A source is linted if it, or a header that it includes
through any chain, differs from that commit. Everything is linted if the stamp is absent, names a commit that this
clone does not have, or if .clang-tidy or this file changed. --all lints everything, and writes the stamp if all is
clean; --stamp lints what changed, and moves the stamp on; neither writes one beside changes that are not committed.
--list prints what would be linted. The trainer's sources are left out: libtorch's headers take minutes each.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAMP = ROOT / "tools" / "lint-stamp"
RULES = {".clang-tidy", "tools/lint.py"}  # A change of these changes what is found in any source.
CLANG_TIDY = "clang-tidy-16"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
NOISE = re.compile(r"^\d+ warnings? generated\.\n", re.M)  # It counts those of other people's headers.


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout


def all_files():
    return [name for name in git("ls-files", "-co", "--exclude-standard", "src").splitlines()
            if name.endswith((".h", ".cpp")) and (ROOT / name).exists()]


def is_linted(name):
    return name.endswith(".cpp") and not name.endswith("_test.cpp") and not name.startswith("src/trainer/")


def changed_files():
    """What differs from the stamp's commit, and None with the reason if that cannot be told."""
    if not STAMP.exists():
        return None, "there is no tools/lint-stamp"
    commit = STAMP.read_text().strip()
    try:
        git("cat-file", "-e", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError:
        return None, f"this clone has no commit {commit[:12]}, which tools/lint-stamp names"
    changed = set(git("diff", "--name-only", "--no-renames", commit).splitlines())
    changed |= set(git("ls-files", "-o", "--exclude-standard").splitlines())
    if changed & RULES:
        return None, "the rules changed: " + ", ".join(sorted(changed & RULES))
    return changed, ""


def reached_from(changed, files):
    """`changed`, and every file that includes one of them through any chain."""
    includers = {}
    for name in files:
        for target in INCLUDE.findall((ROOT / name).read_text()):
            includers.setdefault(f"src/{target}", []).append(name)
    reached, todo = set(changed), list(changed)
    while todo:
        for name in includers.get(todo.pop(), []):
            if name not in reached:
                reached.add(name)
                todo.append(name)
    return reached


def choose(files, everything):
    sources = sorted(filter(is_linted, files))
    if everything:
        return sources, "everything"
    changed, why = changed_files()
    if changed is None:
        return sources, f"everything, because {why}"
    reached = reached_from(changed, files)
    return [name for name in sources if name in reached], "what changed since tools/lint-stamp, and what that reaches"


def lint(sources, build, jobs):
    """Whether all are clean; prints what is found."""
    def run(some):
        words = [CLANG_TIDY, "-p", build, "--quiet", *some]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout + NOISE.sub("", done.stderr)

    few = [sources[i:i + 4] for i in range(0, len(sources), 4)]
    clean = True
    with ThreadPoolExecutor(jobs) as pool:
        for code, text in pool.map(run, few):
            clean &= code == 0
            if text.strip():
                print(text, end="", flush=True)
    return clean


def write_stamp():
    if git("status", "--porcelain", "src", *RULES).strip():
        print("lint: tools/lint-stamp stays: there are changes that are not committed", file=sys.stderr)
        return
    STAMP.write_text(git("rev-parse", "HEAD"))
    print("lint: tools/lint-stamp names HEAD now; commit it", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--stamp", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("build")
    options = parser.parse_args()
    sources, which = choose(all_files(), options.all)
    if options.list:
        print("\n".join(sources))
        return 0
    print(f"lint: {len(sources)} sources: {which}", file=sys.stderr)
    clean = lint(sources, options.build, os.cpu_count() or 1)
    if clean and (options.all or options.stamp):
        write_stamp()
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
