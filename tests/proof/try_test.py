#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom try` with the real PyTorch on a stand-in for a GPU with one fault at a time, with programs that are no Python, and in containers of
a stand-in for podman.

    try_test.py FOLDER_OF_PROGRAMS SOURCE_FOLDER      exit 77: there is no build/venv
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
del sys.argv[1:3]
PYTHON = SOURCE / "build/venv/bin/python3"
SCHEMA = SOURCE / "docs/schema/try.schema.json"
LIMIT_S = 600
CONFIG = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "vocab_size": 256, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
JOB = """
[model]
config = "config.json"
[compute]
dtype = "fp32"
[batch]
micro = 4
sequence = 64
"""


def exists(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until(condition, limit_s=60):
    end = time.monotonic() + limit_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


class Trial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-try-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "config.json").write_text(json.dumps(CONFIG))
        self.job = self.folder / "job.toml"
        self.job.write_text(JOB)
        self.mark = self.folder / "mark"

    def environment(self, fault=None, **more):
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "FAKE_TORCH_MARK": str(self.mark), **more}
        if fault is not None:
            variables["PYTHONPATH"] = str(SOURCE / "tests/proof/stand_in")
            variables["FAKE_TORCH_FAULT"] = fault
        return variables

    def words(self, *options):
        return [PROGRAMS / "headroom", "try", self.job, *options]

    def program(self, text, name="python3"):
        """A program in the place of a Python."""
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + textwrap.dedent(text))
        path.chmod(0o755)
        return path

    def run_try(self, *options, code, fault=None, **more):
        done = subprocess.run(self.words("--json", *options), env=self.environment(fault, **more), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        report = json.loads(done.stdout)
        try:
            import jsonschema
            jsonschema.validate(report, json.loads(SCHEMA.read_text()))
        except ImportError:
            pass
        return report

    def only(self, fault, *options, code=1, steps=8, **more):
        """The one row."""
        rows = self.run_try("--python", PYTHON, "--steps", str(steps), *options, code=code, fault=fault, **more)["stacks"]
        self.assertEqual(len(rows), 1, rows)
        return rows[0]

    def failed_at(self, fault, step, cause, *options):
        row = self.only(fault, *options)
        self.assertEqual((row["step"], row["cause"] and row["cause"]["id"]), (step, cause), row)
        return row


class Faults(Trial):
    def test_healthy_card_finishes(self):
        row = self.only("", code=0)
        self.assertEqual((row["ok"], row["device"], row["steps_done"]), (True, "cuda:0", 8), row)
        self.assertEqual(row["peak_by"], "torch.cuda.max_memory_allocated")
        self.assertGreater(row["planned_bytes"], 1 << 20)
        self.assertGreater(row["samples_per_s"], 0)
        self.assertLess(row["last_loss"], row["first_loss"])

    def test_card_without_code_is_found_by_the_devices(self):
        self.assertIn("gfx1100", self.failed_at("target", "devices", "gfx-target-missing")["detail"])

    def test_wrong_products_are_found_by_the_correctness(self):
        self.failed_at("product", "correctness", "wrong-answer")

    def test_crash_has_its_cause(self):
        row = self.only("crash")
        self.assertEqual(row["step"], "correctness")
        self.assertIn("Memory access fault", row["cause"]["evidence"][0]["text"])

    def test_memory_that_does_not_come_back_is_found(self):
        self.failed_at("lost", "correctness", "vram-orphaned")

    def test_memory_that_grows_is_found_by_the_training(self):
        self.assertIn("each step keeps 100 MiB", self.failed_at("leak", "training", "memory-growth")["detail"])

    def test_loss_that_is_no_number_is_found_by_the_training(self):
        row = self.failed_at("nan", "training", "wrong-answer")
        self.assertIsNone(row["last_loss"])

    def test_crash_of_a_later_step_says_how_far_it_came(self):
        row = self.only("late")
        self.assertEqual((row["step"], row["steps_done"]), ("training", 5), row)
        self.assertIn("SIGSEGV", row["detail"])
        self.assertGreater(row["samples_per_s"], 0)

    def test_hang_is_ended(self):
        row = self.failed_at("hang", "training", "gpu-hang", "--timeout", "60")
        self.assertEqual(row["steps_done"], 0)
        self.assertFalse(exists(int(self.mark.read_text())))

    def test_time_that_is_over_is_no_hang(self):
        row = self.only("", "--timeout", "60", steps=100000)
        self.assertEqual((row["step"], row["cause"]["id"]), ("training", "time-limit"), row)
        self.assertGreater(row["steps_done"], 1)

    def test_job_that_is_too_big_for_the_machine_is_not_begun(self):
        self.job.write_text(JOB.replace("micro = 4", "micro = 1048576").replace("sequence = 64", "sequence = 4096"))
        row = self.only(None)
        self.assertEqual((row["step"], row["cause"]["id"], row["steps_done"]), ("training", "job-too-big", 0), row)

    def test_processor_that_is_slow_does_not_hang(self):
        self.job.write_text(JOB.replace("micro = 4", "micro = 4000"))
        row = self.only(None, "--timeout", "60")
        self.assertEqual((row["step"], row["cause"]["id"]), ("training", "time-limit"), row)

    def end(self, number):
        # A shell's background job ignores SIGINT, and what it starts as well.
        with subprocess.Popen(self.words("--python", PYTHON), env=self.environment("hang"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            self.assertTrue(wait_until(self.mark.exists, LIMIT_S))
            child = int(self.mark.read_text())
            self.assertTrue(exists(child))
            process.send_signal(number)
        self.assertTrue(wait_until(lambda: not exists(child)))

    def test_killed_headroom_leaves_no_child(self):
        self.end(signal.SIGKILL)

    def test_interrupted_headroom_leaves_no_child(self):
        self.end(signal.SIGINT)


class Ranks(Trial):
    def test_those_that_finished_come_first_and_one_is_enough(self):
        broken = self.program("exit 3")
        report = self.run_try("--python", broken, "--python", PYTHON, "--steps", "3", code=0)
        self.assertEqual([row["ok"] for row in report["stacks"]], [True, False])
        self.assertEqual([row["step"] for row in report["stacks"]], ["training", "import"])
        self.assertIn(str(PYTHON), report["next"])

    def test_stack_alone_against_two_is_wrong(self):
        wrong = self.program(f"FAKE_TORCH_FAULT=loss exec {PYTHON} \"$@\"", "wrong")
        second = self.program(f"FAKE_TORCH_FAULT= exec {PYTHON} \"$@\"", "second")
        third = self.program(f"FAKE_TORCH_FAULT= exec {PYTHON} \"$@\"", "third")
        report = self.run_try("--python", wrong, "--python", second, "--python", third, "--steps", "3", code=0, fault="")
        rows = {pathlib.Path(row["python"]).name: row for row in report["stacks"]}
        self.assertTrue(rows["second"]["ok"] and rows["third"]["ok"])
        self.assertEqual((rows["wrong"]["step"], rows["wrong"]["cause"]["id"]), ("correctness", "wrong-answer"))
        self.assertIn("2 others agree", rows["wrong"]["detail"])


def say(text):
    return f"printf '\\nheadroom-step: %s\\n' '{text}'\n"


class Hostile(Trial):
    """What stands in the place of a Python is believed nothing that it cannot know."""

    def row(self, script, *options, code=1):
        rows = self.run_try("--python", self.program(script), "--steps", "4", "--timeout", "5", *options, code=code)["stacks"]
        self.assertEqual(len(rows), 1, rows)
        return rows[0]

    def test_program_that_says_nothing(self):
        row = self.row("exit 0")
        self.assertEqual((row["ok"], row["step"], row["framework"]), (False, "import", None))

    def test_program_that_ends_as_soon_as_it_begins_is_diagnosed(self):
        row = self.row("echo 'ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory' >&2; exit 1")
        self.assertEqual(row["cause"]["id"], "rocm-version-mismatch", row)

    def test_python_without_a_framework(self):
        row = self.row(say('{"frameworks": []}'))
        self.assertEqual((row["step"], row["cause"]["id"]), ("import", "missing-library"))

    def test_endless_output(self):
        row = self.row("exec yes")
        self.assertEqual((row["ok"], row["step"]), (False, "import"))

    def test_endless_progress_has_an_end(self):
        row = self.row(say('{"frameworks": ["torch"]}') + '[ "$3" = frameworks ] && exit\n' + say('{"begin": "import"}') +
                       say('{"step": "import", "ok": true}') + 'while :; do ' + say('{"devices": []}') + "sleep 1; done")
        self.assertFalse(row["ok"])

    def script(self, training):
        """All steps pass; then what is said of the training."""
        return ('if [ "$3" = frameworks ]; then ' + say('{"frameworks": ["torch"]}') + 'exit 0; fi\n' + say('{"begin": "import"}') + say('{"step": "import", "ok": true}') +
                'if [ "$6" = training ]; then\n' + say('{"begin": "training"}') + training +
                say('{"step": "training", "ok": true, "detail": "fine"}') + "exit 0; fi\n" +
                say('{"devices": [], "version": "9\\u001b[31m"}') + say('{"begin": "devices"}') + say('{"step": "devices", "ok": true}') + say('{"begin": "correctness"}') + say('{"step": "correctness", "ok": true}'))

    def test_training_without_its_steps_has_not_finished(self):
        row = self.row(self.script(""))
        self.assertEqual((row["ok"], row["step"], row["steps_done"]), (False, "training", 0))

    def test_forged_progress_counts_nothing(self):
        lines = ['{"progress": {"steps": 18446744073709551615, "seconds": 1}}', '{"progress": {"steps": 1, "seconds": -1}}',
                 '{"progress": {"steps": 1, "seconds": NaN}}', '{"progress": {"steps": 1, "seconds": 1e999}}',
                 '{"progress": {"steps": "1", "seconds": 1}}', '{"progress": [1]}', '{"progress": {"steps": 2, "seconds": 1}}']
        row = self.row(self.script("".join(say(line) for line in lines)))
        self.assertEqual((row["ok"], row["steps_done"]), (False, 0))

    def test_numbers_of_any_size_are_shown(self):
        lines = [f'{{"progress": {{"steps": {step}, "seconds": 1e-300, "loss": 1e308, "peak_bytes": 18446744073709551615, "peak_by": 7}}}}'
                 for step in range(1, 5)]
        row = self.row(self.script("".join(say(line) for line in lines)), code=0)
        self.assertEqual((row["ok"], row["steps_done"], row["peak_bytes"]), (True, 4, 18446744073709551615))

    def test_no_escape_reaches_the_terminal(self):
        self.program(self.script(say('{"progress": {"steps": 1, "seconds": 1}}') + "printf '\\033]0;x\\007'; printf '\\033[2J' >&2; exit 1\n"))
        done = subprocess.run(self.words("--python", self.folder / "python3", "--timeout", "5"), env=self.environment(), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)
        self.assertIn(b"1/10", done.stdout)

    def test_full_disk_and_closed_output_are_no_success(self):
        python = self.program("exit 1")
        for output in ("/dev/full", None):
            with open(output or os.devnull, "wb") as file:
                done = subprocess.run(["sh", "-c", '"$@"' + ("" if output else " >&-"), "sh", *self.words("--python", python)],
                                      env=self.environment(), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, timeout=LIMIT_S,
                                      check=False)
            self.assertEqual(done.returncode, 3, done.stderr)

    def refuse(self, code, text, *words):
        done = subprocess.run([PROGRAMS / "headroom", "try", *words], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_wrong_words_are_refused(self):
        self.refuse(2, "nowhere", self.job, "--python", "nowhere")
        self.refuse(2, "interpreter", self.job, "--python", self.folder)
        self.refuse(2, "none.toml", "none.toml", "--python", PYTHON)
        self.refuse(2, "--image", self.job, "--image", "--privileged")
        self.refuse(2, "--steps", self.job, "--steps", "1")
        self.job.write_text(JOB + '[method]\nkind = "inference"\n')
        self.refuse(2, "found an inference", self.job, "--python", PYTHON)

    def test_file_that_cannot_be_executed_is_a_row(self):
        path = self.program("exit 0")
        path.chmod(0o644)
        row = self.run_try("--python", path, code=1)["stacks"][0]
        self.assertEqual((row["ok"], row["step"]), (False, "import"))


class Containers(Trial):
    """A stand-in for podman, which starts what is to run in the image as a daemon's child: none of ours."""

    ENGINE = """
        echo "$@" >> {folder}/calls
        if [ "$1" = rm ]; then exit 0; fi
        while [ "$1" != --entrypoint ]; do
          case "$1" in --volume) program=${{2%%:*}};; esac
          shift
        done
        image=$3
        [ "$image" = absent ] && {{ echo "Error: $image: image not known" >&2; exit 125; }}
        shift 3
        while [ "$1" != guard ]; do shift; done
        exec {python} -c '
        import subprocess, sys
        child = subprocess.Popen(sys.argv[1:], start_new_session=True)
        sys.exit(child.wait() % 256)
        ' {python} -B "$program" "$@"
        """

    def setUp(self):
        super().setUp()
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        self.program(textwrap.dedent(self.ENGINE).format(folder=self.folder, python=PYTHON), "bin/podman")
        self.path = f"{bin_folder}:/usr/bin:/bin"

    def test_image_is_a_stack(self):
        report = self.run_try("--image", "some/image:1", "--steps", "3", code=0, fault="", PATH=self.path)
        row = report["stacks"][0]
        self.assertEqual((row["image"], row["ok"], row["framework"]), ("some/image:1", True, "torch"), row)
        calls = (self.folder / "calls").read_text()
        for word in ("--network none", "--rm", "--pull never", "headroom_steps:ro", "some/image:1"):
            self.assertIn(word, calls)
        self.assertIn("rm --force headroom-try-", calls)

    def test_image_that_is_not_here_is_a_row_that_says_so(self):
        row = self.run_try("--image", "absent", code=1, PATH=self.path)["stacks"][0]
        self.assertEqual(row["step"], "import")
        self.assertIn("image not known", row["detail"])

    def test_crash_in_a_container_has_its_signal(self):
        row = self.run_try("--image", "an/image", "--steps", "8", code=1, fault="late", PATH=self.path)["stacks"][0]
        self.assertIn("SIGSEGV", row["detail"])

    def test_killed_headroom_leaves_nothing_in_the_container(self):
        with subprocess.Popen(self.words("--image", "an/image"), env=self.environment("hang", PATH=self.path), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as process:
            self.assertTrue(wait_until(self.mark.exists, LIMIT_S))
            child = int(self.mark.read_text())
            process.send_signal(signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not exists(child)))

    def test_without_an_engine_nothing_is_tried(self):
        empty = self.folder / "empty"
        empty.mkdir()
        done = subprocess.run(self.words("--image", "an/image"), env=self.environment(PATH=str(empty)), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"expected podman or docker", done.stderr)


if not PYTHON.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
unittest.main(verbosity=2)
