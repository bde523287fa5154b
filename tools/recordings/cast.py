# SPDX-License-Identifier: Apache-2.0
"""A session as an asciicast, version 2 (docs.asciinema.org/manual/asciicast/v2): a header, then one event a line."""
import json

from terminal import HEIGHT, WIDTH


def to_cast(title, events):
    """`events` are (seconds since the beginning, text)."""
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title,
              "env": {"TERM": "xterm-256color", "SHELL": "/bin/sh"}}
    rows = [json.dumps(header)]
    rows += [json.dumps([round(when, 3), "o", text.replace("\n", "\r\n")], ensure_ascii=False) for when, text in events]
    return "\n".join(rows) + "\n"
