#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a release: its heading in CHANGELOG.md, its version, a commit, the packages, a tag.

    release.py VERSION [--apply] [--date YYYY-MM-DD]

Without --apply it prints what it would do and changes nothing. The packages lie in build/packages then. They are made before
the tag, so that a version that cannot be packed has none; to take the rest back: git reset --hard HEAD~1.
"""
import argparse
import datetime
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADING = "## [Unreleased]\n"
PROJECT = re.compile(r"(?m)^(project\(headroom VERSION )(\d+\.\d+\.\d+)( )")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()


def refuse(text):
    sys.exit(f"release: {text}")


def as_numbers(version):
    return tuple(int(part) for part in version.split("."))


def new_changelog(text, version, date):
    """The entries under Unreleased become the version's; an empty Unreleased stands above them."""
    begin = text.find(HEADING)
    if begin < 0:
        refuse(f"expected the heading {HEADING.strip()} in CHANGELOG.md, found none")
    if f"## [{version}]" in text:
        refuse(f"expected a version that CHANGELOG.md does not have yet, found {version} there")
    end = text.find("\n## [", begin)
    if not text[begin + len(HEADING):end if end >= 0 else None].strip():
        refuse("expected entries under Unreleased in CHANGELOG.md, found none")
    return text.replace(HEADING, f"{HEADING}\n## [{version}] - {date}\n", 1)


def new_project(text, version):
    found = PROJECT.search(text)
    if found is None:
        refuse("expected project(headroom VERSION X.Y.Z …) in CMakeLists.txt, found none")
    if as_numbers(found[2]) >= as_numbers(version):
        refuse(f"expected a version after {found[2]}, found {version}")
    return PROJECT.sub(rf"\g<1>{version}\g<3>", text, count=1)


def check_repository(version):
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        refuse(f"expected no uncommitted changes, found:\n{changed}")
    if git("tag", "--list", f"v{version}"):
        refuse(f"expected no tag v{version}, found one")


def apply(files, version, epoch):
    for path, text in files.items():
        path.write_text(text)
    stamp = f"{epoch} +0000"
    os.environ.update(GIT_AUTHOR_DATE=stamp, GIT_COMMITTER_DATE=stamp, SOURCE_DATE_EPOCH=str(epoch))
    git("commit", "--quiet", "--message", f"Version {version}", "--", *(str(path) for path in files))
    subprocess.run([ROOT / "dev", "package"], check=True)
    git("tag", "--annotate", f"v{version}", "--message", f"headroom {version}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--apply", action="store_true", help="do it; otherwise print what would be done")
    parser.add_argument("--date", type=datetime.date.fromisoformat, help="of the release; today in UTC otherwise")
    asked = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", asked.version):
        refuse(f"expected a version like 1.2.3, found {asked.version}")
    date = asked.date or datetime.datetime.now(datetime.timezone.utc).date()
    epoch = int(datetime.datetime(date.year, date.month, date.day, tzinfo=datetime.timezone.utc).timestamp())
    changelog, project = ROOT / "CHANGELOG.md", ROOT / "CMakeLists.txt"
    files = {changelog: new_changelog(changelog.read_text(), asked.version, date),
             project: new_project(project.read_text(), asked.version)}
    check_repository(asked.version)
    for path, text in files.items():
        lines = path.read_text().splitlines(keepends=True), text.splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(*lines, path.name, path.name, n=1))
    print(f"git commit --message 'Version {asked.version}'\nSOURCE_DATE_EPOCH={epoch} ./dev package\n"
          f"git tag --annotate v{asked.version}")
    if asked.apply:
        apply(files, asked.version, epoch)
    else:
        print("Nothing was changed; with --apply it is done.")


if __name__ == "__main__":
    main()
