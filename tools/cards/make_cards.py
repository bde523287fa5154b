#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/cards from the tables in data/: a page for every GPU target, and an index of the cards by name.

    make_cards.py [ROOT]            exit 0: the pages are what the tables say; 1: they are not, one line for each page
    HEADROOM_UPDATE_GOLDEN=1 …      writes them, as ./dev golden does

A page says only what a table holds, each with its certainty and source. What follows from it, what to buy and what to use
instead, is said as our judgement.
"""
import os
import pathlib
import re
import sys

from page_of_a_target import Tables, page, support

ROOT = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs" / "cards"

INDEX = """# What is known of each card

Made from the tables in `data/`, which `headroom check` decides by. There is one page for each *target*, the name of a GPU's
instruction set, because code is compiled for targets. A card's name does not always tell its target: `headroom check` reads it
from the driver.

Each page says whether ROCm supports the GPU, which wheels include it, what limits it, what is known to go wrong, and what to use or
buy instead. Letters say how sure that is: A, read in source or in AMD's own data; B, measured by users and consistent with the
code; C, secondary text; D, our inference. headroom itself has not run on a machine with an AMD GPU.

**What no page has**: prices, power supplies, cooling, and how much RAM a machine should have. The tables hold nothing about
them.
"""


def version_order(gfx):
    digits = gfx.removeprefix("gfx")
    return int(digits[:-2]), digits[-2:]


def index(tables):
    lines = [INDEX, "## By target\n", "| target | cards | kind | support |", "|---|---|---|---|"]
    for gfx in sorted(tables.targets, key=version_order):
        target = tables.targets[gfx]
        lines.append(f"| [{gfx}]({gfx}.md) | {target['cards']} | {target['kind']} | {support(tables, target)} |")
    lines += ["\n## By name\n", "Names as the driver's tables have them. Several chips share some of them.\n"]
    lines += ["| name | target |", "|---|---|"]
    names = {}
    for gfx, name in tables.names():
        names.setdefault(name, set()).add(gfx)
    for name in sorted(names, key=lambda name: re.sub(r"^(Radeon|Instinct) ", "", name)):
        lines.append(f"| {name} | {', '.join(f'[{gfx}]({gfx}.md)' for gfx in sorted(names[name], key=version_order))} |")
    return "\n".join(lines) + "\n"


def disagreements(tables):
    """Targets of which docs/gpus.md, which the program makes, says another support."""
    rows = (ROOT / "docs" / "gpus.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"(?m)^\| `(gfx\w+)` \| [^|]* \| [^|]* \| \w+ \| (\w+) \|", rows))
    return [gfx for gfx, target in tables.targets.items() if said.get(gfx) != support(tables, target)]


def main():
    tables = Tables(ROOT / "data")
    wanted = {f"{gfx}.md": page(tables, target) for gfx, target in tables.targets.items()} | {"README.md": index(tables)}
    if os.environ.get("HEADROOM_UPDATE_GOLDEN"):
        PAGES.mkdir(exist_ok=True)
        for path in PAGES.glob("*.md"):
            if path.name not in wanted:
                path.unlink()
        for name, text in wanted.items():
            (PAGES / name).write_text(text, encoding="utf-8")
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    for name in stale:
        print(f"docs/cards/{name}: not what the tables in data/ say; ./dev golden writes it")
    other = disagreements(tables)
    for gfx in other:
        print(f"docs/cards/{gfx}.md: docs/gpus.md says another support; page_of_a_target.py has to follow the program's rule")
    return 1 if stale or other else 0


if __name__ == "__main__":
    sys.exit(main())
