#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/stories answers the five stories whole, and shows only what headroom has.

    stories_test.py BIN_DIR SOURCE_DIR SHARED_DIR

items.toml says which units of a story an item answers. Where the stories themselves are at hand (SHARED_DIR/stories), a unit that
no item answers fails; without them the pages, the list and the commands are still compared.
"""
import functools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import unittest

from units import key, units

BIN, SOURCE, SHARED = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PAGES = SOURCE / "docs" / "stories"
STORIES = ("S0", "S1", "S2", "S3", "S4")
LIST = tomllib.loads((PAGES / "items.toml").read_text(encoding="utf-8"))
LISTING = re.compile(r"<!-- on (\S+) -->\n\n?```\n\$ (headroom [^\n]*)\n(.*?)\n```", re.S)
ITEMS_AT_LEAST, LETTERS_AT_LEAST = 100, 40  # Of all pages; of one answer.


def read(name):
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def items_of(page):
    """(id, title, text below the heading) of every item of a page."""
    for part in re.split(r"(?m)^### ", page)[1:]:
        heading, _, text = part.partition("\n")
        number, _, title = heading.partition(" ")
        yield number, title, re.split(r"(?m)^## ", text)[0]


def field(text, name):
    found = re.search(rf"(?ms)^- {name}: (.*?)(?=^- |\Z)", text)
    return " ".join(found[1].split()) if found else ""


def commands_in(page):
    """Every command of headroom that a page shows, without sudo."""
    inline = re.findall(r"`(?:sudo )?(headroom [^`]+)`", page)
    listings = "\n".join(re.findall(r"(?s)```\n(.*?)```", page))
    return inline + re.findall(r"(?m)^(?:\$ )?(?:sudo )?(headroom [a-z].*)$", listings)


def run(words, folder=SOURCE):
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(folder), "XDG_STATE_HOME": str(folder), "LC_ALL": "C.UTF-8"}
    return subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


@functools.cache
def answer_to(command):
    with tempfile.TemporaryDirectory() as scratch:
        return run(shlex.split(command), pathlib.Path(scratch))


def needs_no_file(words):
    """Whether a command only computes, and reads nothing of the reader's."""
    if words[1] == "help":
        return True
    reads_or_writes = re.search(r"--html|--history|\.(toml|gguf|onnx)\b", " ".join(words))
    return words[1] == "plan" and not reads_or_writes


class Pages(unittest.TestCase):
    def test_every_item_of_the_list_is_a_heading_and_the_other_way_round(self):
        headings = [(number, title) for name in STORIES for number, title, _ in items_of(read(name))]
        self.assertEqual(headings, [(item["id"], item["about"]) for item in LIST["item"]])
        self.assertEqual(len(headings), len({number for number, _ in headings}), "an id is given twice")
        self.assertGreaterEqual(len(headings), ITEMS_AT_LEAST)

    def test_every_item_is_answered_with_evidence_certainty_and_a_command(self):
        for name in STORIES:
            for number, _, text in items_of(read(name)):
                with self.subTest(number):
                    self.assertTrue(number.startswith(f"{name}."), f"stands in {name}.md")
                    self.assertGreaterEqual(len(text.split("- Evidence:")[0].strip()), LETTERS_AT_LEAST, "no answer")
                    self.assertTrue(field(text, "Evidence"), "no evidence")
                    self.assertRegex(field(text, "Sure"), r"^[ABCD]\b")
                    self.assertRegex(field(text, "Command"), r"^(`headroom [^`]+`$|none: .{8,})")

    def test_every_command_and_option_exists(self):
        helps = {}
        for name in STORIES:
            for command in commands_in(read(name)):
                with self.subTest(f"{name}: {command}"):
                    words = shlex.split(command)
                    own = words[:words.index("--")] if "--" in words else words
                    shown = helps.setdefault(own[1], run([BIN / "headroom", own[1], "--help"]))
                    self.assertEqual(shown.returncode, 0, "no such command")
                    for option in (word.partition("=")[0] for word in own[2:] if word.startswith("-")):
                        self.assertRegex(shown.stdout, rf"(?m)^  (-\w, )?{re.escape(option)}\b", "no such option")

    def test_what_needs_no_file_is_answered(self):
        asked = {command for name in STORIES for command in commands_in(read(name)) if needs_no_file(shlex.split(command))}
        self.assertGreater(len(asked), 30)
        for command in sorted(asked):
            with self.subTest(command):
                done = answer_to(command)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_the_figures_of_an_item_are_those_that_its_plan_prints(self):
        compared = 0
        for name in STORIES:
            for number, _, text in items_of(read(name)):
                command = field(text, "Command").strip("`")
                figures = [figure for figure in re.findall(r"\b\d+\.\d\d+\b", text.split("- Command:")[0]) if figure not in command]
                if command.startswith("headroom plan") and needs_no_file(shlex.split(command)) and figures:
                    with self.subTest(number):
                        printed = answer_to(command).stdout
                        self.assertTrue(any(figure in printed for figure in figures), f"{command} prints none of {figures}")
                        compared += 1
        self.assertGreater(compared, 15)

    def test_what_is_shown_is_printed(self):
        shown_somewhere = 0
        for name in STORIES:
            for machine, command, shown in LISTING.findall(read(name)):
                with self.subTest(machine), tempfile.TemporaryDirectory() as scratch:
                    folder = pathlib.Path(scratch)
                    made = run([BIN / "fake_machine", SOURCE / "tests/machines" / f"{machine}.toml", "machine"], folder)
                    self.assertEqual(made.returncode, 0, made.stderr)
                    done = run([*shlex.split(command), "--root", "machine"], folder)
                    shown_somewhere += 1
                    self.assertEqual(done.stdout.rstrip(), shown.rstrip())
        self.assertGreaterEqual(shown_somewhere, 4)

    def test_its_links_lead_somewhere(self):
        for page in [*(PAGES / f"{name}.md" for name in STORIES), PAGES / "README.md"]:
            for place in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
                self.assertTrue((PAGES / place).exists(), f"{page.name}: {place}")


@unittest.skipUnless((SHARED / "stories").is_dir(), "the stories are not at hand")
class Stories(unittest.TestCase):
    def test_every_unit_is_answered_or_said_to_ask_nothing(self):
        for name in STORIES:
            (story,) = (SHARED / "stories").glob(f"{name}-*.md")
            text = story.read_text(encoding="utf-8")
            known = {unit for item in LIST["item"] if item["id"].startswith(f"{name}.") for unit in item["from"]}
            known |= {unit for context in LIST["context"] if context["story"] == name for unit in context["from"]}
            for line, unit, words in units(text):
                with self.subTest(f"{story.name}:{line}"):
                    self.assertTrue(unit in known, f"no item answers {words[:80]!r}; add \"{unit}\" to one in items.toml")
            there = {unit for _, unit, _ in units(text)}
            self.assertFalse(known - there, f"{name}: answered, and no longer in the story")


class Units(unittest.TestCase):
    def test_headings_lists_rows_and_listings_are_units(self):
        story = "# A\nprose\n\n- b\n  1. c\n| h |\n|---|\n| d |\n```\n# in a listing\n```\n"
        self.assertEqual([line for line, _, _ in units(story)], [1, 4, 5, 6, 8, 9])

    def test_a_unit_is_known_by_its_words_and_not_by_its_spaces(self):
        self.assertEqual(key("- a  b"), key(" - a b "))
        self.assertNotEqual(key("- a b"), key("- a c"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
