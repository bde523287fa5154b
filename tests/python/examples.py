#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of a page of documentation, as somebody does who copies it.

    examples.py PAGE [FOLDER_OF_PACKAGES]      the folder comes first on sys.path

An example that begins with "# needs" is compiled, and not run.
"""
import re
import sys

EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def main():
    sys.path[:0] = sys.argv[2:]
    with open(sys.argv[1], encoding="utf-8") as page:
        examples = EXAMPLE.findall(page.read())
    ran = 0
    for number, text in enumerate(examples, 1):
        code = compile(text, f"{sys.argv[1]}, example {number}", "exec")
        if not text.startswith("# needs"):
            exec(code, {"__name__": "__main__"})
            ran += 1
    if ran == 0:
        sys.exit(f"expected an example in {sys.argv[1]} that can be run, found none")


if __name__ == "__main__":
    main()
