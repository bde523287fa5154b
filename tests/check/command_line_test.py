#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program itself: what it prints where, and its exit codes.     command_line_test.py FOLDER_OF_PROGRAMS"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"


def headroom(*words):
    return subprocess.run([PROGRAMS / "headroom", *words], capture_output=True, text=True, timeout=60)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def machine(self, name):
        folder = pathlib.Path(self.scratch.name) / name
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / f"{name}.toml", folder], check=True)
        return str(folder)

    def test_a_healthy_machine_exits_0(self):
        run = headroom("check", "--root", self.machine("strix-halo-raised"))
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertTrue(run.stdout.startswith("ok: "))

    def test_a_finding_exits_1(self):
        run = headroom("check", "--root", self.machine("strix-halo-half"))
        self.assertEqual((run.returncode, run.stderr), (1, ""))

    def test_no_gpu_exits_0(self):
        self.assertEqual(headroom("check", "--root", self.machine("no-gpu")).returncode, 0)

    def test_what_could_not_be_seen_exits_3(self):
        self.assertEqual(headroom("check", "--root", self.machine("half-a-capture")).returncode, 3)

    def test_a_root_that_is_no_machine_says_so_and_what_to_type(self):
        for root in (self.scratch.name, self.scratch.name + "/none", __file__):
            run = headroom("check", "--root", root)
            self.assertEqual((run.returncode, run.stdout), (3, ""))
            self.assertIn(root, run.stderr)
            self.assertIn("next: headroom ", run.stderr)

    def test_wrong_usage_exits_2(self):
        for words in (["check", "--rooot", "x"], ["check", "--root"], ["check", "--json", "--verbose"],
                      ["check", "--quiet", "--verbose"], ["chekc"], []):
            run = headroom(*words)
            self.assertEqual((run.returncode, run.stdout), (2, ""), words)

    def test_json_is_one_document_on_stdout(self):
        run = headroom("check", "--json", "--root", self.machine("mi50"))
        document = json.loads(run.stdout)
        self.assertEqual((run.returncode, document["schema"]), (1, "headroom.check/1"))

    def test_quiet_is_the_verdict_and_no_more(self):
        run = headroom("check", "--quiet", "--root", self.machine("mi50"))
        self.assertTrue(run.stdout.startswith("limited: "))
        self.assertLessEqual(len(run.stdout.splitlines()), 2)

    def test_a_quadlet_in_a_users_home_is_read_and_held_against_the_machine(self):
        root = self.machine("quadlet-in-home")
        text = headroom("check", "--root", root).stdout
        self.assertIn("The service photos-ml on this machine", text)
        services = json.loads(headroom("check", "--json", "--root", root).stdout)["services"]
        verdicts = {one["about"]: one["verdict"] for one in services[0]["remarks"]}
        self.assertEqual(verdicts["image"], "does-not-fit")
        self.assertEqual(verdicts["devices"], "does-not-fit")
        fix = headroom("fix", "--root", root).stdout
        self.assertIn("gfx-override-wrong", fix.split("not needed here")[0])

    def test_quiet_names_the_services_that_do_not_fit(self):
        compose = pathlib.Path(self.scratch.name) / "compose.yaml"
        compose.write_text("services:\n  llm:\n    image: ollama/ollama:rocm\n  db:\n    image: postgres:16\n")
        run = headroom("check", "--quiet", "--root", self.machine("mi50"), "--env", str(compose))
        self.assertEqual((run.returncode, run.stdout), (1, f"does not fit: {compose}: devices of llm\n"))

    def test_a_log_given_for_settings_is_called_a_log(self):
        root = self.machine("mi50")
        log = pathlib.Path(self.scratch.name) / "job log.txt"
        log.write_text("loading the model\nRuntimeError: No HIP GPUs are available\n")
        run = headroom("check", "--root", root, "--env", str(log))
        self.assertEqual(run.returncode, 0)
        self.assertIn("is a log", run.stdout)
        self.assertIn(f"headroom check --log '{log}'", run.stdout)
        words = pathlib.Path(self.scratch.name) / "words.txt"
        words.write_text("nothing in here sets anything\n")
        self.assertIn("No GPU settings", headroom("check", "--root", root, "--env", str(words)).stdout)

    def test_a_parameter_without_effect_is_said_to_have_none(self):
        root = self.machine("strix-halo-half")
        run = headroom("check", "--root", root, "--if", "vm_size=131072")
        self.assertIn("amdgpu.vm_size=131072 has no effect", run.stdout)
        quiet = headroom("check", "--quiet", "--root", root, "--if", "vm_size=131072")
        self.assertEqual(quiet.returncode, run.returncode)
        self.assertEqual(len(quiet.stdout.splitlines()), 1)

    def test_what_check_lists_is_not_called_not_needed_by_fix(self):
        for machine in ("strix-halo-above-ram", "strix-halo-two-settings", "knobs-of-a-forum", "quadlet-in-home"):
            root = self.machine(machine)
            found = {one["id"] for one in json.loads(headroom("check", "--json", "--root", root).stdout)["findings"]}
            fixes = json.loads(headroom("fix", "--json", "--root", root).stdout)["fixes"]
            idle = {one["id"] for one in fixes if one["standing"] == "not-needed"}
            self.assertEqual(found & idle, set(), machine)

    def test_a_limit_that_hides_a_larger_carve_out_is_taken_away_by_check_and_by_fix(self):
        root = self.machine("strix-halo-above-ram")
        found = json.loads(headroom("check", "--json", "--root", root).stdout)["findings"]
        steps = next(one["fix"] for one in found if one["id"] == "limit-above-ram")
        self.assertIn("--remove-args=ttm.pages_limit", steps[0])
        text = headroom("fix", "limit-above-ram", "--root", root).stdout
        self.assertIn("Remove ttm.pages_limit, so that AMD Radeon 8060S uses its 64.00 GiB carve-out", text)
        self.assertIn("drop ttm.pages_limit", text)
        self.assertIn("pool  93.75 GiB         64.00 GiB", text)

    def test_fix_on_a_full_card_leads_to_reclaim_and_not_back_to_check(self):
        text = headroom("fix", "--root", self.machine("two-cards-full-host")).stdout
        self.assertIn("Next: headroom reclaim", text)
        self.assertNotIn("headroom check", text)

    def test_what_fix_stack_prints_to_be_typed_is_whole(self):
        text = headroom("fix", "stack", "--root", self.machine("mi50")).stdout
        block = text.split("Create the environment\n", 1)[1].split("\n\n", 1)[0]
        self.assertRegex(block, r'(?m)^ +pip install "[\w.-]+==\S+" --(index-url|find-links) \S+$')
        self.assertEqual(subprocess.run(["bash", "-n"], input=block.encode(), check=False).returncode, 0, block)
        test = next(line for line in text.splitlines() if "torch.allclose" in line)
        self.assertGreater(len(test), 100, "it is not long enough to be folded")
        self.assertRegex(test.strip(), r'^python3 -c ".*"$')

    def test_verbose_names_the_source_of_every_fact(self):
        run = headroom("check", "--verbose", "--root", self.machine("strix-halo-half"))
        for source in ("/proc/meminfo:1", "/sys/module/ttm/parameters/pages_limit", "mem_info_gtt_total"):
            self.assertIn(source, run.stdout)

    def test_no_colour_and_no_bytes_of_the_machine_steer_a_pipe(self):
        root = self.machine("mi50")
        (pathlib.Path(root) / "etc/os-release").write_bytes(b'PRETTY_NAME="\x1b[31mred\xff"\n')
        for words in ([], ["--verbose"], ["--json"]):
            run = subprocess.run([PROGRAMS / "headroom", "check", "--root", root, *words], capture_output=True)
            self.assertNotIn(b"\x1b", run.stdout)
        json.loads(run.stdout.decode())

    def test_a_capture_whose_links_became_text_reads_the_same(self):
        root = pathlib.Path(self.machine("two-cards-full-container"))
        before = headroom("check", "--json", "--root", str(root)).stdout
        for path in [p for p in root.rglob("*") if p.is_symlink()]:
            target = path.readlink()
            path.unlink()
            path.write_text(str(target))
        self.assertEqual(headroom("check", "--json", "--root", str(root)).stdout, before)

    def test_the_named_python_is_read(self):
        root = self.machine("wheel-without-target")
        for words in ([], ["--python", "/opt/venv"], ["--python", "opt/venv/bin/python3"]):
            python = json.loads(headroom("check", "--json", "--root", root, *words).stdout)["python"]
            self.assertEqual(python["torch"]["rocm"], "6.0", words)
            self.assertIn("gfx906", python["torch"]["targets"])

    def test_a_python_that_is_none_is_wrong_usage(self):
        run = headroom("check", "--root", self.machine("wheel-without-target"), "--python", "/opt/none")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("--python /opt/none", run.stderr)
        self.assertIn("next: headroom check", run.stderr)

    def test_this_machine_is_looked_at(self):
        run = headroom("check", "--json")
        self.assertIn(run.returncode, (0, 1, 3))
        self.assertIs(json.loads(run.stdout)["machine"]["live"], True)

    def test_help_names_the_exit_codes(self):
        run = headroom("check", "--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("Exit: 0", run.stdout)


if __name__ == "__main__":
    unittest.main()
