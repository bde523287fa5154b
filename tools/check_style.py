#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of STYLE.md that clang-format and clang-tidy cannot.

    check_style.py [ROOT]      exit 0: clean; 1: one problem a line
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
LINES_MAX = 400
BANNED_FILE = re.compile(r"(^|_)(util|utils|helper|helpers|common|manager|misc)(_|\.|$)")
# A word for a stream where it is no name in quotes: "stdout".
PRINTS = re.compile(r"""\b(std::cout\b|std::cerr\b|std::clog\b|fmt::print(ln)?\b|f?(printf|puts|putc|putchar)\s*\()"""
                    r"""|[(,=&\s](stdout|stderr)\s*[),;]""")
# What is printed goes through machine/printer.h, which writes by descriptor.
MAY_PRINT = re.compile(r"^(src/.*_test\.cpp$|src/.*/testing/|src/screen/|tests/|bench/|include/)")  # ncurses draws on a terminal.
# The standard library's say nothing to clang's thread-safety analysis.
STD_LOCK = re.compile(r"\bstd::(\w*mutex|condition_variable\w*|lock_guard|unique_lock|scoped_lock|shared_lock)\b")
MAY_LOCK = re.compile(r"^(src/base/(mutex\.h|quick_mutex\.(h|cpp))$|src/.*_test\.cpp$|src/.*/testing/|tests/|bench/)")
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!.*https?://)")
DEAD_CODE = re.compile(r"^\s*//.*[;{}]\s*$")
ABSOLUTE = re.compile(r"(?<![\w./])/(?:work|root|home/\w+)/")

# A page that a comment or a page refers to: "docs/check.md". "owner/name: path" is a page of another repository.
PAGE = re.compile(r"[\w./-]*\w\.md\b(?!\.\w)")
OTHER_REPOSITORY = re.compile(r"(?<![\w./])([\w.-]+)/[\w.-]+[: ]")
OPTION = re.compile(r"--[\w-]+[ =]$")  # `--report FILE.md` names a file of the reader's.
COMMENT = {".h": "//", ".cpp": "//", ".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#", ".toml": "#", "": "#"}
# What tests are fed with. A file elsewhere that is no text was left behind by a run.
MAY_BE_BINARY = re.compile(r"^tests/")
MADE_OF_WORDS = re.compile(r"^(examples/.*/text/|tests/(machines|distributions|transcripts)/)")  # Data, not talk of this repository.


def is_checked(name):
    """Our sources, and the files that are compiled in beside them."""
    return name.endswith((".h", ".cpp", ".py")) or (name.startswith("src/") and name.endswith((".sh", ".css", ".js")))


def check(name, text):
    lines = text.splitlines()
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
        yield "the first line must be: SPDX-License-Identifier: Apache-2.0"
    if len(lines) > LINES_MAX:
        yield f"{len(lines)} lines; split it below {LINES_MAX} (one room, one job)"
    if BANNED_FILE.search(pathlib.Path(name).name):
        yield "name the file after what it does, not util/helper/common/manager"
    for number, line in enumerate(lines, 1):
        if ABSOLUTE.search(line):
            yield f"{number}: a path of one machine"
        if name.endswith((".h", ".cpp")):
            if DEAD_CODE.search(line) and "…" not in line and "`" not in line:
                yield f"{number}: looks like commented-out code"
            if TODO.search(line):
                yield f"{number}: a task without a link to where it is tracked"
            if STD_LOCK.search(line.split("//")[0]) and not MAY_LOCK.match(name):
                yield f"{number}: lock by base/mutex.h, and say what the lock guards (base/thread_safety.h)"
            if PRINTS.search(line.split("//")[0]) and not MAY_PRINT.match(name):
                yield f"{number}: print by machine::Printer (machine/printer.h), which main hands down"


def check_content(name, content):
    if b"\0" in content and not MAY_BE_BINARY.match(name):
        yield "not a text; remove it (a run left it?), or keep it below tests/"


def is_page_or_script(name):
    return pathlib.Path(name).suffix in (".md", *COMMENT) and not MADE_OF_WORDS.match(name)


def prose_of(name, text):
    """The lines that talk to a reader, by number: all of a page outside of its listings, the comments of other files."""
    suffix = pathlib.Path(name).suffix
    if suffix == ".md":
        listing = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("```"):
                listing = not listing
            elif not listing:
                yield number, line
    elif suffix in COMMENT:
        for number, line in enumerate(text.splitlines(), 1):
            before, mark, comment = line.partition(COMMENT[suffix])
            if mark and before.count('"') % 2 == 0:
                yield number, comment


def check_pages(name, text):
    """Every page that is named is in the repository, beside the file that names it or below the root."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    for number, line in prose_of(name, text):
        for page in PAGE.finditer(line):
            before = line[: page.start()]
            foreign = any(match[1] not in folders for match in OTHER_REPOSITORY.finditer(before))
            if foreign or before.endswith("://") or page[0].startswith("//") or OPTION.search(before):
                continue
            if not (ROOT / name).parent.joinpath(page[0]).exists() and not (ROOT / page[0]).exists():
                yield f"{number}: refers to {page[0]}, which is not in the repository; name a page that is, or say it here"


def main():
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    problems = 0
    for name in tracked.stdout.splitlines():
        if not is_checked(name) or not (ROOT / name).exists():
            continue
        for problem in check(name, (ROOT / name).read_text()):
            problems += 1
            print(f"{name}: {problem}")
    for name in tracked.stdout.splitlines():
        if not (ROOT / name).is_file():
            continue
        for problem in check_content(name, (ROOT / name).read_bytes()):
            problems += 1
            print(f"{name}: {problem}")
    for name in tracked.stdout.splitlines():
        if not is_page_or_script(name) or not (ROOT / name).is_file():
            continue
        for problem in check_pages(name, (ROOT / name).read_text(errors="replace")):
            problems += 1
            print(f"{name}: {problem}")
    print(f"style: {problems} problems", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
