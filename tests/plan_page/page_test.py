#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan --html` keeps its promises: the page is well formed, needs no network, hides no name from the escaping,
and says the numbers that `headroom plan --json` says.

    page_test.py FOLDER_OF_PROGRAMS
"""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
VOID = {"meta"}
MODEL = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300}
COMPONENTS = ["weights", "adapters", "gradients", "optimizer", "activations", "logits", "kv_cache", "workspace", "other"]


class Page(html.parser.HTMLParser):
    """Elements with their attributes, the text of each table cell and script; and every mistake of nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.mistakes, self.elements, self.scripts, self.rows, self.text = [], [], [], [], [], ""
        self.ids = []
        self.feed(text)
        self.close()
        self.mistakes += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"</{tag}> at {self.getpos()} closes another element")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text += data


class PlanPage(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-page-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def plan(self, job):
        """The page and the answer of one job."""
        spec, page = self.folder / "job.json", self.folder / "page.html"
        spec.write_text(json.dumps(job))
        done = subprocess.run([PROGRAMS / "headroom", "plan", "--json", "--html", page, spec], capture_output=True,
                              text=True, timeout=120, env={"HOME": str(self.folder), "PATH": os.environ["PATH"]})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return page.read_text(encoding="utf-8"), json.loads(done.stdout)

    def job(self, **device):
        return {"model": {"config": MODEL}, "batch": {"micro": 4, "sequence": 64}, "device": device,
                "compute": {"attention": "math"}, "method": {"kind": "lora"}}

    def test_it_is_well_formed_and_needs_no_network(self):
        for device in ({}, {"capacity": "2GiB"}, {"capacity": "400MiB"}):
            text, _ = self.plan(self.job(**device))
            page = Page(text)
            self.assertEqual(page.mistakes, [])
            self.assertEqual(len(page.ids), len(set(page.ids)))
            self.assertNotIn("http", text)
            for tag, attributes in page.elements:
                self.assertFalse({"src", "href", "xlink:href", "srcset"} & set(attributes), tag)
                self.assertNotIn(tag, ("link", "img", "iframe", "object"))
            self.assertNotIn("url(", text)
            self.assertNotIn("@import", text)

    def test_its_head_says_which_modules_are_trained_and_by_which_kernels(self):
        job = self.job()
        job["method"].update(targets=["q"], modules_to_save=["lm_head"])
        job["compute"]["use_liger_kernel"] = True
        text, _ = self.plan(job)
        page = Page(text)
        self.assertIn("LoRA of rank 8 on q, lm_head whole", page.text)
        self.assertIn("checkpointing none, Liger's kernels", page.text)

    def test_every_picture_says_what_it_shows(self):
        text, _ = self.plan(self.job(capacity="400MiB"))
        page = Page(text)
        pictures = [attributes for tag, attributes in page.elements if tag == "svg" and attributes.get("role") == "img"]
        self.assertTrue(pictures)
        for attributes in pictures:
            for name in attributes["aria-labelledby"].split():
                self.assertIn(name, page.ids)

    def test_its_numbers_are_the_plans(self):
        for device in ({}, {"capacity": "2GiB"}, {"capacity": "400MiB"}):
            text, answer = self.plan(self.job(**device))
            page = Page(text)
            table = {row[0]: row[1] for row in page.rows if len(row) == 5}
            for component in COMPONENTS:
                self.assertEqual(int(table[component]), answer["components"][component], component)
            self.assertEqual(int(table["allocated"]), answer["allocated_bytes"])
            self.assertEqual(int(table["on the device, with the context"]), answer["device_bytes"])
            data = [json.loads(script) for script in page.scripts if script.startswith("{")]
            step = data[0]
            self.assertEqual(max(point[5] for point in step["points"]), answer["allocated_bytes"])
            self.assertLessEqual(max(point[6] for point in step["points"]), answer["reserved_bytes"])
            for chart in data:
                self.assertLessEqual(len(chart["points"]), 1000)
                for point in chart["points"]:
                    self.assertEqual(sum(point[7:]), point[5])
                    self.assertLess(point[2], len(chart["names"]))
            for tensor in answer["largest"]:
                self.assertIn(tensor["tensor"], page.text)

    def test_each_candidate_has_its_picture(self):
        job = self.job(capacity="450MiB")
        job["batch"]["micro"] = 32
        text, answer = self.plan(job)
        self.assertTrue(answer["advice"])
        data = [json.loads(script) for script in Page(text).scripts if script.startswith("{")]
        self.assertEqual(len(data), 1 + len(answer["advice"]))
        for chart, advice in zip(data[1:], answer["advice"]):
            self.assertEqual(max(point[5] for point in chart["points"]), advice["allocated_bytes"])

    def test_no_name_becomes_markup(self):
        evil = '</script><script>alert(1)</script>"&\'\x01 <b>'
        job = self.job()
        job["model"]["name"] = evil
        text, _ = self.plan(job)
        page = Page(text)
        self.assertEqual(page.mistakes, [])
        self.assertNotIn("b", [tag for tag, _ in page.elements])
        self.assertNotRegex(text, re.compile("<script>alert"))
        self.assertNotIn("\x01", text)
        self.assertIn("alert(1)", page.text)

    def test_a_place_that_cannot_be_written_is_said_and_left_as_it_was(self):
        spec = self.folder / "job.json"
        spec.write_text(json.dumps(self.job()))
        done = subprocess.run([PROGRAMS / "headroom", "plan", spec, "--html", self.folder / "none/page.html"],
                              capture_output=True, text=True, timeout=120, env={"HOME": str(self.folder)})
        self.assertEqual(done.returncode, 3)
        self.assertIn("none/page.html", done.stderr)
        self.assertIn("next:", done.stderr)


if __name__ == "__main__":
    unittest.main()
