#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shellcheck over every shell script: our own, the texts that programs are built with, and what the programs print.

    check_shell.py [FOLDER_OF_PROGRAMS]      default: build/dev/bin

Exit 0: clean (scripts that the programs print are left out where nothing is built yet, which is said); 1: one finding
a line; 77: shellcheck is not installed. A finding that is meant is disabled where it stands, with its reason beside it.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/dev/bin").resolve()
# What somebody else wrote, mistakes included, for `headroom check` to read.
NOT_OURS = {"tests/transcripts/files/forum.sh"}
# Directives do not get into the binaries, so what src/*.sh disable is left out of what is printed as well; and one
# change may have no use for a variable that others need.
LEFT_OUT_OF_PRINTED = "SC2015,SC2034,SC2046,SC3013"
DISTRIBUTIONS = sorted(path.stem for path in (ROOT / "tests/distributions").glob("*.toml"))


def is_shell(name):
    """By its ending, or by its first line."""
    path = ROOT / name
    if name in NOT_OURS or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(200).rstrip()
    return name.endswith(".sh") or (first.startswith(b"#!") and first.endswith(b"sh"))


def shellcheck(files, *options):
    """What it finds, one finding a line."""
    # Texts in src/ name those that they take in by their path from there.
    done = subprocess.run(["shellcheck", "-x", "-P", ROOT / "src", "-f", "gcc", *options, *files], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"shellcheck: {done.stderr.strip()}")
    return done.stdout.splitlines()


def printed_scripts(scratch):
    """The script of a fix and its undo.sh, as the programs make them for every distribution of the tests."""
    for name in DISTRIBUTIONS:
        root = pathlib.Path(scratch, name)
        subprocess.run([PROGRAMS / "fake_distribution", name, root], check=True)
        fix = [PROGRAMS / "headroom", "fix", "ttm-cap", "--root", root]
        script = pathlib.Path(scratch, f"{name}.sh")
        script.write_bytes(subprocess.run([*fix, "--script"], check=True, capture_output=True).stdout)
        subprocess.run([*fix, "--apply"], check=True, capture_output=True)
        undo_script, = root.glob("var/lib/headroom/changes/*/undo.sh")
        yield from (script, undo_script)


def main():
    if shutil.which("shellcheck") is None:
        print("shellcheck is not installed; ./dev check installs it")
        sys.exit(77)
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    findings = shellcheck([name for name in tracked.stdout.splitlines() if is_shell(name)])
    if all((PROGRAMS / name).exists() for name in ("headroom", "fake_distribution")):
        with tempfile.TemporaryDirectory() as scratch:
            findings += shellcheck(list(printed_scripts(scratch)), "-e", LEFT_OUT_OF_PRINTED)
    else:
        print(f"shell: {PROGRAMS} has no programs; build them to check the scripts that they print", file=sys.stderr)
    for finding in findings:
        print(finding)
    print(f"shell: {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
