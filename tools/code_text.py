# SPDX-License-Identifier: Apache-2.0
"""What a linter of C++ sees in a source: its tokens, without the words of messages and comments.

code_of(text) has every string literal as "", neighbours as one, and no comments but those that speak to the linter (NOLINT).
Whitespace is one blank. Directives keep their strings: #include "name". Since a function's length in lines is a rule too, and
folding a message over more lines changes it, the lengths of blocks that are too long for the rule stand at the end.
"""
import re

LONGEST = 70  # Lines of a function: .clang-tidy, readability-function-size.

_TOKEN = re.compile(r'''
    (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?(?:R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"))
  | (?P<number>\d(?:'?[\w.])*)
  | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<word>\w+)
  | (?P<space>\s+)
  | (?P<other>.)
''', re.X | re.S | re.M)


def _long_blocks(tokens):
    """How many lines each function, lambda or loop has that is longer than a function may be."""
    opened, lengths, line, before = [], [], 1, ""
    for kind, text in tokens:
        if text == "{":
            opened.append(line if before in (")", "const", "noexcept", "override") or before.isidentifier() else None)
        elif text == "}" and opened:
            begun = opened.pop()
            if begun is not None and line - begun > LONGEST:
                lengths.append(line - begun)
        line += text.count("\n")
        if kind not in ("space", "comment"):
            before = text
    return lengths


def code_of(text):
    tokens = [(match.lastgroup, match[0]) for match in _TOKEN.finditer(text)]
    kept = [""]
    for kind, token in tokens:
        if kind == "comment" and "NOLINT" not in token or kind == "space":
            token = " "
        if kind == "string":  # With the blanks around it, which are other ones where it is folded.
            token = '""'
            if kept[-1] == " ":
                kept.pop()
        if token in (" ", '""') and kept[-1] in (token, '""'):
            continue
        kept.append(token)
    lengths = _long_blocks(tokens)
    return "".join(kept) + (f" {lengths}" if lengths else "")
