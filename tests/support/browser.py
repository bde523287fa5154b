# SPDX-License-Identifier: Apache-2.0
"""Chromium for tests of pages, by the WebDriver protocol. Where chromium and chromedriver are not installed (Debian:
chromium-driver), a test skips itself by `is_here()`."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# A row of text and all that is drawn behind it, as the browser computes it: its contrast by WCAG 2.1, 1.4.3.
LEAST_CONTRAST = """
const channel = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = c => .2126 * channel(c[0]) + .7152 * channel(c[1]) + .0722 * channel(c[2]);
const parse = text => text.match(/[\\d.]+/g).map(Number);
let least = [99, ''];
for (const node of document.querySelectorAll('body *')) {
  const own = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
  if (!own || !node.offsetParent || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(node.tagName)) continue;
  let behind = node, colour;
  do { colour = parse(getComputedStyle(behind).backgroundColor); behind = behind.parentElement; } while (behind && colour[3] === 0);
  const one = light(parse(getComputedStyle(node).color)), other = light(colour);
  const contrast = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
  if (contrast < least[0]) least = [contrast, node.textContent.slice(0, 40)];
}
return least;
"""


def is_here():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    """Chromium by the WebDriver protocol (w3.org/TR/webdriver)."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        environment = {**os.environ, "HOME": self.profile.name}
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                       env=environment)
        for line in self.driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                break
        self.base = f"http://127.0.0.1:{found[1]}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={self.profile.name}/profile"]
        options = {"args": arguments, "binary": shutil.which("chromium")}
        answer = self.ask("POST", "", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += "/" + answer["sessionId"]

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, address):
        self.ask("POST", "/url", {"url": address})

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": script, "args": []})

    def text(self):
        return self.run("return document.body.innerText")

    def wait_for(self, script, seconds=20):
        end = time.monotonic() + seconds
        while not self.run("return " + script):
            if time.monotonic() > end:
                raise AssertionError(f"not in {seconds} s: {script}\n{self.text()}")
            time.sleep(0.1)

    def command(self, name, **parameters):
        self.ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def close(self):
        try:
            self.ask("DELETE", "")
        except (urllib.error.URLError, OSError):
            pass
        self.driver.terminate()
        self.driver.wait(timeout=20)
        self.driver.stdout.close()
        self.profile.cleanup()
