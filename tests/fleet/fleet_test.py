#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of examples/fleet, as far as they can be tried without a cluster; and that the metrics they name exist.

    fleet_test.py FOLDER_OF_PROGRAMS SOURCE

What needs promtool, systemd-analyze, shellcheck or PyYAML is skipped with the reason where they are missing.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
FLEET = SOURCE / "examples/fleet"
METRIC = re.compile(r"\bheadroom_\w+")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=False, **more)


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def metrics_of_the_source():
    return set(METRIC.findall((SOURCE / "src/report/metrics_text.cpp").read_text()))


def dashboard():
    return json.loads((FLEET / "grafana/headroom.json").read_text())


class Fleet(unittest.TestCase):
    def passes(self, *words, **more):
        done = run(*words, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @needs("promtool")
    def test_prometheus(self):
        folder = FLEET / "prometheus"
        self.passes("promtool", "check", "config", folder / "prometheus.yml")
        self.passes("promtool", "check", "rules", folder / "headroom.rules.yml")
        self.passes("promtool", "test", "rules", folder / "headroom.rules.test.yml")

    @needs("promtool")
    def test_every_expression_of_the_dashboard_is_one(self):
        rules = [{"alert": f"Panel{number}", "expr": target["expr"].replace("$instance", "a")}
                 for number, panel in enumerate(dashboard()["panels"]) for target in panel["targets"]]
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch, "rules.json")  # JSON is YAML.
            file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
            self.passes("promtool", "check", "rules", "--lint=none", file)

    def test_metrics_that_are_named_exist_and_are_explained(self):
        known = metrics_of_the_source()
        self.assertEqual(known - set(METRIC.findall((SOURCE / "docs/serve.md").read_text())), set(), "docs/serve.md lacks them")
        named = set(METRIC.findall(json.dumps(dashboard())))
        named |= set(METRIC.findall((FLEET / "prometheus/headroom.rules.yml").read_text())) - {"headroom_token"}
        self.assertEqual(named - known, set())

    @needs("systemd-analyze")
    def test_units(self):
        with tempfile.TemporaryDirectory() as scratch:
            for unit in sorted((FLEET / "systemd").iterdir()):
                # The program and its page are where they are installed; here they are elsewhere.
                text = unit.read_text().replace("ExecStart=headroom", f"ExecStart={PROGRAMS}/headroom")
                pathlib.Path(scratch, unit.name).write_text(re.sub(r"(?m)^Documentation=.*\n", "", text))
            for unit in sorted(pathlib.Path(scratch).iterdir()):
                done = run("systemd-analyze", "verify", unit, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{scratch}:"})
                self.assertNotIn(unit.name, done.stderr)

    @needs("shellcheck")
    def test_scripts(self):
        self.passes("shellcheck", "--shell=sh", *sorted((FLEET / "slurm").glob("*.sh")))

    def test_slurm_drains_a_broken_node_and_no_other(self):
        for machine, drained in (("driver-not-loaded", True), ("mi50", False), ("nothing", False)):
            with tempfile.TemporaryDirectory() as scratch, self.subTest(machine):
                folder = pathlib.Path(scratch, "machine")
                if machine != "nothing":
                    self.passes(PROGRAMS / "fake_machine", SOURCE / f"tests/machines/{machine}.toml", folder)
                self.put(scratch, "headroom", f'exec {PROGRAMS}/headroom "$@" --root {folder}')
                self.put(scratch, "scontrol", f'printf "%s\\n" "$*" > {scratch}/drained')
                text = (FLEET / "slurm/health.sh").read_text()
                script = self.put(scratch, "health", text.replace("PATH=/usr/local/sbin", f"PATH={scratch}:/usr/local/sbin"))
                self.assertEqual(run(script, env={"SLURMD_NODENAME": "gpu7"}).returncode, 0)
                said = pathlib.Path(scratch, "drained")
                self.assertEqual(said.exists(), drained)
                if drained:
                    self.assertRegex(said.read_text(), r"^update NodeName=gpu7 State=DRAIN Reason=headroom: broken: ")

    @staticmethod
    def put(folder, name, text):
        file = pathlib.Path(folder, name)
        file.write_text(text if text.startswith("#!") else "#!/bin/sh\n" + text + "\n")
        file.chmod(0o755)
        return file

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not installed")
        for file in [*FLEET.rglob("*.yml"), *FLEET.rglob("*.yaml")]:
            self.assertTrue(list(yaml.safe_load_all(file.read_text())), file)

    def test_node_problem_detector_gets_a_code_that_it_knows(self):
        rule = json.loads((FLEET / "kubernetes/node-problem-detector.json").read_text())["rules"][0]
        for machine, code in (("driver-not-loaded", 1), ("mi50", 0)):
            with tempfile.TemporaryDirectory() as scratch:
                self.passes(PROGRAMS / "fake_machine", SOURCE / f"tests/machines/{machine}.toml", f"{scratch}/m")
                done = run(PROGRAMS / "headroom", *rule["args"], "--root", f"{scratch}/m")
                self.assertEqual((done.returncode, done.stdout.count("\n")), (code, 1), done.stdout)


if __name__ == "__main__":
    unittest.main()
