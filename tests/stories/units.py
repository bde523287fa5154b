# SPDX-License-Identifier: Apache-2.0
"""What of a story has to be answered, and how it is known again: every heading, every entry of a list, every row of a table and
every listing is one unit. A unit is known by a checksum of its words, so that a new or a changed one is noticed."""
import hashlib
import re

UNIT = re.compile(r"#+ |\s*(?:[-*]|\d+\.) |\|")
RULE_OF_TABLE = re.compile(r"\|[\s:|-]+\|?$")


def key(text):
    """Eight digits that stand for these words, however they are spaced."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:8]


def units(story):
    """(line, key, text) of every unit of a story."""
    listing = None
    for number, line in enumerate(story.splitlines(), 1):
        if line.lstrip().startswith("```"):
            if listing is None:
                listing, begins = [], number
            else:
                text = "\n".join(listing)
                listing = None
                yield begins, key(text), text
        elif listing is not None:
            listing.append(line)
        elif UNIT.match(line) and not RULE_OF_TABLE.match(line):
            yield number, key(line), line.strip()
