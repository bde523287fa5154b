#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live page of headroom serve in Chromium: what it shows, that it follows, narrow and dark, and by the keyboard.

    page_test.py FOLDER_OF_PROGRAMS

Skipped with the reason where chromium and chromedriver are not installed (Debian: chromium-driver).
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import browser  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"


@unittest.skipUnless(browser.is_here(), "no chromium and chromedriver here")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.machine = pathlib.Path(cls.scratch.name, "machine")
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "orphan-dead-process.toml", cls.machine], check=True)
        cls.server = subprocess.Popen([PROGRAMS / "headroom", "serve", "--listen", "127.0.0.1:0", "--interval", "1", "--root",
                                       cls.machine], stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end_server)
        cls.address = re.search(r"http://[^ ]*/", cls.server.stderr.readline())[0]
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def end_server(cls):
        cls.server.terminate()
        cls.server.wait(timeout=20)
        cls.server.stderr.close()

    def setUp(self):
        self.browser.command("Emulation.setDeviceMetricsOverride", width=1200, height=900, deviceScaleFactor=1, mobile=False)
        self.browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        self.browser.open(self.address)
        self.browser.wait_for("document.getElementById('state').textContent === 'Live'")

    def vram_file(self):
        return next(self.machine.rglob("mem_info_vram_used"))

    def test_says_what_top_says(self):
        live = json.loads(subprocess.run([PROGRAMS / "headroom", "top", "--json", "--root", self.machine], capture_output=True,
                                         text=True, check=True).stdout)
        text = self.browser.text()
        self.assertIn(f"{live['verdict']}: {live['summary']}", text)
        for gpu in live["gpus"]:
            self.assertIn(gpu["pci"], text)
            for holder in gpu["holders"]:
                self.assertIn(str(holder["pid"]), text)
        for finding in live["findings"]:
            if finding["severity"] != "info":
                self.assertIn(finding["title"], text)

    def test_follows_and_keeps_what_the_reader_opened(self):
        self.browser.run("document.querySelector('summary').click()")
        before = self.browser.run("return document.querySelector('[role=meter]').getAttribute('aria-valuetext')")
        file = self.vram_file()
        old = file.read_text()
        try:
            file.write_text("1073741824\n")
            self.browser.wait_for("document.querySelector('[role=meter]').getAttribute('aria-valuetext') !== " + json.dumps(before))
            self.assertIn("1.00 GiB of", self.browser.text())
            self.assertTrue(self.browser.run("return document.querySelector('details').open"))
        finally:
            file.write_text(old)

    def test_no_word_on_the_console(self):
        time.sleep(1.5)
        log = self.browser.ask("POST", "/se/log", {"type": "browser"})
        self.assertEqual(log, [])

    def test_on_a_phone_nothing_is_cut_off(self):
        self.browser.command("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=2, mobile=True)
        wide = self.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.assertLessEqual(wide, 0)

    def test_contrast_in_light_and_dark(self):
        for scheme in ("light", "dark"):
            self.browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            contrast, text = self.browser.run(browser.LEAST_CONTRAST)
            self.assertGreaterEqual(contrast, 4.5, f"{scheme}: {text}")

    def test_by_the_keyboard_and_for_a_screen_reader(self):
        self.assertEqual(self.browser.run("return document.documentElement.lang"), "en")
        self.assertTrue(self.browser.run("return [...document.querySelectorAll('[role=meter]')].every("
                                         "one => document.getElementById(one.getAttribute('aria-labelledby')).textContent)"))
        self.browser.run("document.querySelector('summary').focus()")
        self.browser.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": "\ue007"}, {"type": "keyUp", "value": "\ue007"}]}]})
        self.browser.wait_for("document.querySelector('details').open")

    def test_says_that_the_server_is_gone(self):
        other = subprocess.Popen([PROGRAMS / "headroom", "serve", "--listen", "127.0.0.1:0", "--root", self.machine],
                                 stderr=subprocess.PIPE, text=True)
        try:
            self.browser.open(re.search(r"http://[^ ]*/", other.stderr.readline())[0])
            self.browser.wait_for("document.getElementById('state').textContent === 'Live'")
        finally:
            other.terminate()
            other.wait(timeout=20)
            other.stderr.close()
        self.browser.wait_for("document.getElementById('state').textContent.startsWith('Connection lost')")
        self.browser.ask("POST", "/se/log", {"type": "browser"})  # That it is gone stands on the console, too.


if __name__ == "__main__":
    unittest.main()
