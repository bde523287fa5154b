#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which source files can be compiled as one, for builds from nothing: reading headers is half of what compiling a file takes.

    unity_groups.py FILE ...     prints one group per line, the files of it divided by semicolons

Two files share a group if no name of the unnamed namespace of one is a word of the other or declared by its headers. So no file need be written with
others in mind: `mib` may be a constant in thirty tests.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

LARGEST = 10  # Files of a group. Larger ones leave a processor idle at the end.

IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
END = "}  // namespace\n"  # As clang-format closes an unnamed namespace.
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}@$", re.S | re.M)
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?) (?:\[\[\w+\]\] )?(\w+)")
NAME = re.compile(r"[^({=;\[]*?(?<!::)\b(\w+)\s*(?:\[[^\]]*\]\s*)?[({=;]")


def words(text):
    """Those that could mean a name of the unnamed namespace: not members after a dot or an arrow."""
    return set(re.findall(r"(?<![.\w>])\w+|(?<=[^-]>)\w+", text))


def named(part):
    """What is declared in the first column, where clang-format leaves what a namespace holds."""
    names = set()
    for line in part.splitlines():
        if not re.match(r"[A-Za-z_]", line) or re.match(r"(?:TEST|INSTANTIATE_|RC_GTEST|static_assert|namespace)\b", line):
            continue
        found = TYPE.match(line) or NAME.match(line)
        if found:
            names.add(found[1])
    return names


def declared(text):
    """The names of the unnamed namespace."""
    return set().union(*map(named, UNNAMED.findall(text))) | set(re.findall(r"(?m)^#\s*define (\w+)", text))


def without_text(text):
    """The code alone; what closes an unnamed namespace stays to be seen."""
    return IGNORED.sub(" ", text.replace(END, "}@\n"))


@functools.lru_cache(maxsize=None)
def names_of_header(name):
    """What one of ours declares, and those that it includes."""
    for folder in ("src", "tests"):
        if (ROOT / folder / name).is_file():
            text = (ROOT / folder / name).read_text(encoding="utf-8")
            return named(without_text(text)).union(*map(names_of_header, included(text)))
    return set()


def included(text):
    return re.findall(r'(?m)^#include "([^"]+)"', text)


class Source:
    def __init__(self, file):
        self.file = file
        written = pathlib.Path(file).read_text(encoding="utf-8")
        text = without_text(written)
        self.names, self.words = declared(text), words(text)
        self.header_names = set().union(*map(names_of_header, included(written)))
        # What is brought in from another namespace means the same to all, or is mentioned by one alone.
        self.brought_in = {(name, full) for full, name in re.findall(r"(?m)^using ([\w:]+::(\w+));", text)}
        self.brought_in |= set(re.findall(r"(?m)^namespace (\w+) = ([\w:]+);", text))

    def disturbs(self, other):
        brought_in = {name for name, _ in self.brought_in - other.brought_in}
        return (self.names | brought_in) & (other.words | other.header_names)


def groups_of(files):
    groups = []
    for source in map(Source, files):
        for group in groups:
            if len(group) < LARGEST and not any(source.disturbs(one) or one.disturbs(source) for one in group):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


if __name__ == "__main__":
    for one in groups_of(sys.argv[1:]):
        print(";".join(source.file for source in one))
