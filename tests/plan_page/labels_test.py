#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of `headroom plan --html` and `headroom replay --html` can be read: no label is cut off at an edge, the
highest moment is drawn as high as its label says however short it is, a swatch stays beside its name, and no part of the
page asks for more width than a narrow screen has.

    labels_test.py FOLDER_OF_PROGRAMS
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
# Advance widths of DejaVu Sans and its bold, from " " to "~", in thousandths of the font size. The pages ask for the system's
# font; this one is among the widest that are.
REGULAR = [318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
           636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
           748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
           615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
           337, 636, 838]
BOLD = 1.135  # The bold over the regular, for these labels at most.
FONT_SIZE = 12
MODEL = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300}


def width_of(text, is_bold):
    widths = [REGULAR[ord(letter) - 32] for letter in text]
    return sum(widths) * FONT_SIZE / 1000 * (BOLD if is_bold else 1)


class Pictures(html.parser.HTMLParser):
    """Of each <svg class="chart">: its width, its labels as (anchor, x, text, bold) and the paths by class."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.charts, self.label, self.ticks = [], None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "svg" and "chart" in a.get("class", ""):
            self.ticks = []
            self.charts.append({"width": float(a["viewbox"].split()[2]), "labels": [], "paths": {}, "peak": None,
                                "ticks": self.ticks})
        elif tag == "text":
            anchor = a.get("text-anchor") or {"tick": "end", "event": "middle", "phase-name": "middle"}.get(a["class"], "start")
            self.label = [anchor, float(a["x"]), "", a["class"] == "label"]
            if a["class"] == "tick":
                self.ticks.append(float(a["y"]))
        elif tag == "path":
            self.charts[-1]["paths"][a["class"]] = a["d"]
        elif tag == "circle":
            self.charts[-1]["peak"] = (float(a["cx"]), float(a["cy"]))

    def handle_data(self, data):
        if self.label:
            self.label[2] += data

    def handle_endtag(self, tag):
        if tag == "text" and self.label:
            self.charts[-1]["labels"].append(tuple(self.label))
            self.label = None


def widest_at(path, height):
    """How wide the widest piece of a path of H and V is at the height `height` or above it (y grows downwards)."""
    x = float(re.match(r"M([\d.]+)", path)[1])
    y, widest = float(re.match(r"M[\d.]+ ([\d.]+)", path)[1]), 0.0
    for command, number in re.findall(r"([HV])([\d.]+)", path):
        if command == "H":
            widest = max(widest, float(number) - x) if y <= height + 0.1 else widest
            x = float(number)
        else:
            y = float(number)
    return widest


class Labels(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-labels-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def page(self, *words):
        page = self.folder / "page.html"
        done = subprocess.run([PROGRAMS / "headroom", *words, "--html", page], capture_output=True, text=True, timeout=120,
                              env={"HOME": str(self.folder), "PATH": os.environ["PATH"]})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return page.read_text(encoding="utf-8")

    def plan(self, **model):
        spec = self.folder / "job.json"
        spec.write_text(json.dumps({"model": {"config": {**MODEL, **model}}, "batch": {"micro": 4, "sequence": 64},
                                    "device": {"capacity": "450MiB"}, "compute": {"attention": "math"},
                                    "method": {"kind": "lora"}}))
        return self.page("plan", spec)

    def replay(self, events, peak_bytes):
        """A trace of `events` events with one block that lives for a single event in their middle."""
        trace = self.folder / "trace.txt"
        lines = ["a 1 104857600"]
        for number in range(2, events // 2):
            lines += [f"a {number} 1048576", f"f {number}"]
        lines[len(lines) // 2:len(lines) // 2] = [f"a 0 {peak_bytes}", "f 0"]
        trace.write_text("\n".join(lines) + "\n")
        return self.page("replay", trace, "--policy", "headroom")

    def assert_inside(self, text):
        charts = Pictures(text).charts
        self.assertTrue(charts)
        for chart in charts:
            self.assertTrue(chart["labels"])
            for anchor, x, label, is_bold in chart["labels"]:
                wide = width_of(label, is_bold)
                left = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
                self.assertGreaterEqual(left, -0.1, label)
                self.assertLessEqual(left + wide, chart["width"] + 0.1, label)

    def test_no_label_is_cut_off(self):
        self.assert_inside(self.plan())
        for events in (80, 20_000, 200_000):
            self.assert_inside(self.replay(events, 900 << 20))

    def test_a_peak_of_one_event_is_as_high_and_wide_as_a_reader_can_see(self):
        chart = Pictures(self.replay(20_000, 900 << 20)).charts[0]
        path = chart["paths"]["live"]
        highest = min(float(y) for y in re.findall(r"V([\d.]+)", path))
        self.assertGreaterEqual(widest_at(path, highest), 0.95)
        # Between the lines of the axis it stands where the live peak of the trace belongs: 100 and 900 MiB.
        names = [label for anchor, _, label, _ in chart["labels"] if anchor == "end" and not label.startswith("refused")]
        zero = chart["ticks"][0] - 4  # The labels are 4 lower than their lines.
        unit = chart["ticks"][0] - chart["ticks"][1]
        self.assertEqual(names[:2], ["0 B", "256.0 MiB"])
        self.assertAlmostEqual((zero - highest) / unit * 256, 1000, delta=5)

    def test_the_plans_peak_is_where_its_mark_is(self):
        chart = Pictures(self.plan(num_hidden_layers=24)).charts[0]
        tops = {name: d for name, d in chart["paths"].items() if name.startswith("area ")}
        _, height = chart["peak"]
        self.assertGreaterEqual(max(widest_at(d, height) for d in tops.values()), 0.95)

    def test_a_swatch_stays_beside_its_name(self):
        plan = self.plan()
        for cell in re.findall(r"<t[hd][^>]*>(?=<span class=\"key\")", plan):
            self.assertIn("keyed", cell)
        replay = self.replay(80, 1 << 20)
        keys = len(re.findall(r'class="key"', replay))
        self.assertEqual(keys, len(re.findall(r'<span class="named"><span class="key"', replay)))
        self.assertRegex(replay, r"\.named \{[^}]*nowrap")

    def test_pictures_and_tables_scroll_where_there_is_no_room(self):
        for text in (self.plan(), self.replay(80, 1 << 20)):
            for figure in re.findall(r"<figure>\n(.*?)</figure>", text, re.S):
                self.assertTrue(figure.startswith('<div class="scroll">'))


if __name__ == "__main__":
    unittest.main()
