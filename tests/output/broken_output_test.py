#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command with standard output and standard error closed, full, and read by nobody any more.

    broken_output_test.py FOLDER_OF_PROGRAMS

What an answer could not be written to is exit code 3 with a word on standard error; a reader who has gone ends the
program by SIGPIPE, but never one that acts: it finishes, then exits 3. A lost message changes nothing else. The
commands are those of `headroom --help`, so a new one is not forgotten.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
TESTS = pathlib.Path(__file__).resolve().parent.parent
HALF = f'fake_machine "{TESTS}/machines/strix-halo-half.toml" machine'
HOST = f'fake_machine "{TESTS}/machines/two-cards-full-host.toml" machine'
DEBIAN = "fake_distribution debian-12 machine"
APPLY = "headroom fix ttm-cap --size 110GiB --root machine --apply"
# A machine whose own program fails in the middle of a change.
BROKEN = DEBIAN + " && printf '#!/bin/sh\\nexit 1\\n' > machine/usr/sbin/update-initramfs"


# A service that is judged, and not touched.
SERVICE = ("printf 'good\\n' > app.conf && printf 'new\\n' > new.conf && printf '[service]\\nname = \"toy\"\\n"
           "kind = \"commands\"\\nstart = [\"true\"]\\nstop = [\"true\"]\\nstatus = [\"true\"]\\n"
           "[[change]]\\nfile = \"app.conf\"\\nwith = \"new.conf\"\\n[smoke]\\ncommand = [\"true\"]\\n' > service.toml")

# What differs from run to run: durations in whatever unit, and figures.
TIMES = re.compile(r"[\d.]+ (?:us|ms|s|min)\b|[\d. ]")


class Case:
    """A command line, what is to be there before, the file or the change that it is there for, and how its outputs are broken."""

    def __init__(self, words, before="true", makes=None, acts=False):
        self.words, self.before, self.makes, self.acts = words.split(), before, makes, acts or makes is not None


CASES = {
    "check": [
        Case("check --root machine", HALF), Case("check --json --root machine", HALF),
        Case("check --if ttm.pages_limit=96GiB --root machine", HALF),
        Case("check --env forum.sh --root machine", HALF), Case("check --log logs/full-card.log"),
        Case("check --log logs/full-card.log --report note.md", makes="note.md"),
        Case("check --root nowhere"), Case("check --rooot")],
    "top": [
        Case("top --once --root machine", HALF), Case("top --json --root machine", HALF), Case("top --root nowhere")],
    "serve": [
        Case("serve --once --root machine", HALF), Case("serve --once --root nowhere"),
        Case("serve --once --textfile metrics.prom --root machine", HALF, makes="metrics.prom")],
    "report": [
        Case("report answers", "mkdir answers && headroom check --json --root /nowhere > answers/a.json; true"),
        Case("report answers --json", "mkdir answers && echo {} > answers/a.json"), Case("report nowhere")],
    "accept": [Case("accept out", makes="out/MANIFEST.json"), Case("accept no/such/folder/out")],
    "capture": [
        Case("capture out --root machine", HALF, makes="out/MANIFEST.json"),
        Case("capture out.zip --root machine", HALF), Case("capture out --root nowhere")],
    "plan": [
        Case("plan job.toml"), Case("plan job.toml --json"), Case("plan job.toml --html page.html", makes="page.html"),
        Case("plan --history"), Case("plan --explain 64MiB --spec job.toml"), Case("plan nothing.toml")],
    "fix": [
        Case("fix --root machine", DEBIAN), Case("fix ttm-cap --root machine", DEBIAN),
        Case("fix ttm-cap --root machine --json", DEBIAN), Case("fix ttm-cap --root machine --script", DEBIAN),
        Case(APPLY.removeprefix("headroom "), DEBIAN, acts=True),
        Case(APPLY.removeprefix("headroom "), BROKEN, acts=True), Case("fix nothing --root machine", DEBIAN)],
    "confirm": [
        Case("confirm --root machine", f"{DEBIAN} && {APPLY} && fake_distribution --reboot machine", acts=True),
        Case("confirm --root machine", DEBIAN, acts=True)],
    "deploy": [
        Case("deploy service.toml", SERVICE), Case("deploy service.toml --json", SERVICE),
        Case("deploy --status"), Case("deploy --status --json"), Case("deploy nothing.toml")],
    "undo": [
        Case("undo --root machine", f"{DEBIAN} && {APPLY}", acts=True), Case("undo --root machine", DEBIAN, acts=True)],
    "history": [
        Case("history --root machine", f"{DEBIAN} && {APPLY}"),
        Case("history --root machine --json", f"{DEBIAN} && {APPLY}"), Case("history nonsense --root machine", DEBIAN)],
    "reclaim": [
        Case("reclaim --root machine", HOST), Case("reclaim --root machine --json", HOST),
        Case("reclaim --root machine --up-to sledgehammer", HOST)],
    "run": [Case("run tight.toml", "sed 's/256MiB/96MiB/' job.toml > tight.toml", acts=True), Case("run nothing.toml")],
    "test": [Case("test --virtual-memory --self-test kept.json", makes="kept.json"), Case("test --steps nothing"),
             Case("test --multi --minutes 5"), Case("test --calibrate --multi")],
    "try": [
        # It has children to look after, so a reader who has gone does not end it.
        Case("try job.toml --steps 2 --python ./stack.sh", acts=True),
        Case("try job.toml --steps 2 --python ./stack.sh --json", acts=True),
        Case("try job.toml --python nowhere")],
    "tune": [
        Case("tune tune.toml"), Case("tune tune.toml --json"), Case("tune tune.toml --apply", acts=True),
        Case("tune nothing.toml")],
    "replay": [
        Case("replay trace.txt"), Case("replay trace.txt --json"),
        Case("replay trace.txt --html page.html", makes="page.html"), Case("replay missing.txt")],
    "help": [Case("help"), Case("help memory"), Case("help ttm-cap"), Case("help plan"), Case("help nonsense")],
}
GENERAL = [Case("--help"), Case("--version"), Case("check --help"), Case("chekc"), Case("")]


def environment(folder):
    return {"PATH": f"{PROGRAMS}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


class BrokenOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="headroom-output-")
        cls.places = {}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def fresh(self, before):
        """A folder of its own for one run."""
        if before not in self.places:
            template = pathlib.Path(tempfile.mkdtemp(prefix="template-", dir=self.scratch.name)) / "run"
            shutil.copytree(TESTS / "transcripts" / "files", template)
            made = subprocess.run(["/bin/sh", "-c", before], cwd=template, env=environment(template),
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.places[before] = template
        folder = pathlib.Path(self.scratch.name) / "run"
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(self.places[before], folder, symlinks=True)
        return folder

    def start(self, words, folder, streams, pipe_ignored=False, program="headroom"):
        """Runs it; `streams` says how 1 and 2 are broken: closed, full or unread; others are read."""
        ends, to_close = {}, []
        for name in ("stdout", "stderr"):
            way = streams.get(name)
            if way == "full":
                ends[name] = open("/dev/full", "wb")
                to_close.append(ends[name])
            elif way == "unread":
                read, write = os.pipe()
                os.close(read)
                ends[name] = os.fdopen(write, "wb")
                to_close.append(ends[name])
            else:
                ends[name] = subprocess.PIPE
        close = "".join({"stdout": " >&-", "stderr": " 2>&-"}[name] for name, way in streams.items() if way == "closed")
        try:
            process = subprocess.Popen(["/bin/sh", "-c", f'exec "$@"{close}', "sh", PROGRAMS / program, *words],
                                       cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, text=True,
                                       restore_signals=not pipe_ignored, **ends)
            out, err = process.communicate(timeout=120)
        finally:
            for end in to_close:
                end.close()
        return Outcome(process.returncode, out or "", err or "")

    def finished(self, case, folder):
        """What the command is there for, for comparison: the machine's settings, or that the file is whole."""
        machine = folder / "machine"
        made = [] if case.makes is None else [(folder / case.makes).exists()]
        if not case.acts or not machine.is_dir():
            return made
        kept = [path for path in sorted(machine.rglob("*")) if path.is_file() and not path.is_symlink()
                and ".fake" not in path.parts and "headroom" not in path.parts]
        states = sorted(re.sub(r"\d{8}T\d{6}Z", "", line) for record in machine.rglob("record.json")
                        for line in re.findall(r'"state": "[a-z_-]+"', record.read_text()))
        return made + states + [(str(path.relative_to(machine)), re.sub(rb"\d{8}T\d{6}Z", b"", path.read_bytes()))
                                for path in kept]

    def check(self, case):
        folder = self.fresh(case.before)
        whole = self.start(case.words, folder, {})
        self.assertIn(whole.code, (0, 1, 2, 3), whole.err)
        finished = self.finished(case, folder)
        if case.makes is not None:
            self.assertTrue((folder / case.makes).exists(), whole.err)
        for way in ("closed", "full", "unread"):
            with self.subTest(command=" ".join(case.words), stdout=way):
                folder = self.fresh(case.before)
                broken = self.start(case.words, folder, {"stdout": way})
                self.assertEqual(broken.code, self.expected(whole, case, way), broken.err)
                if broken.code >= 0 and broken.code != whole.code:
                    self.assertIn("standard output", broken.err)
                if case.acts:
                    self.assertEqual(self.finished(case, folder), finished)
            with self.subTest(command=" ".join(case.words), stderr=way):
                folder = self.fresh(case.before)
                broken = self.start(case.words, folder, {"stderr": way})
                self.assertEqual(broken.code, whole.code)
                self.assertEqual(TIMES.sub("", broken.out), TIMES.sub("", whole.out))
                if case.acts:
                    self.assertEqual(self.finished(case, folder), finished)

    def expected(self, whole, case, way):
        if not whole.out:
            return whole.code
        if way == "unread" and not case.acts:
            return -signal.SIGPIPE
        return 3 if whole.code in (0, 1) else whole.code

    def test_no_command_is_left_out(self):
        text = subprocess.run([PROGRAMS / "headroom", "--help"], capture_output=True, text=True, timeout=60).stdout
        listed = re.findall(r"(?m)^  ([a-z]+)  ", text.split("\nCommands:\n")[1].split("\n\n")[0])
        self.assertEqual(sorted(listed), sorted(CASES))

    def test_both_at_once_end_with_a_code(self):
        for way in ("closed", "full"):
            for case in (CASES["check"][0], CASES["check"][-2], GENERAL[0]):
                code = self.start(case.words, self.fresh(case.before), {"stdout": way, "stderr": way}).code
                self.assertEqual(code, 3, (way, case.words))

    def test_a_reader_who_has_gone_unnoticed_is_a_full_output(self):
        case = CASES["check"][0]
        broken = self.start(case.words, self.fresh(case.before), {"stdout": "unread"}, pipe_ignored=True)
        self.assertEqual(broken.code, 3)
        self.assertIn("Broken pipe", broken.err)

    def test_what_is_printed_never_lands_in_a_file_that_was_opened(self):
        folder = self.fresh("true")
        words = ["check", "--log", "logs/full-card.log", "--report", "note.md"]
        self.start(words, folder, {})
        whole = (folder / "note.md").read_bytes()
        folder = self.fresh("true")
        line = 'exec "$@" <&- >&- 2>&-'
        done = subprocess.run(["/bin/sh", "-c", line, "sh", PROGRAMS / "headroom", *words], cwd=folder,
                              env=environment(folder), timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertEqual((folder / "note.md").read_bytes(), whole)

    def test_a_limit_on_the_length_of_files_is_a_full_output(self):
        """`ulimit -f` ends no program in the middle of what it does: a change is made whole, or not at all."""
        cases = [CASES["check"][0], CASES["fix"][1], CASES["fix"][2], CASES["replay"][0], GENERAL[0], CASES["fix"][4]]
        for case in cases:
            folder = self.fresh(case.before)
            with open(folder / "answer", "wb") as answer:
                done = subprocess.run([PROGRAMS / "headroom", *case.words], cwd=folder, env=environment(folder),
                                      stdin=subprocess.DEVNULL, stdout=answer, stderr=subprocess.PIPE, timeout=60,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)))
            # A change that could not be begun has failed; everything else could not be answered.
            self.assertEqual(done.returncode, 1 if "--apply" in case.words else 3, (case.words, done.stderr))
            self.assertIn(b"next: ", done.stderr)
            self.assertFalse(list(folder.glob("machine/var/lib/headroom/changes/*/record.json")), case.words)

    def test_input_that_cannot_be_read_is_not_empty(self):
        for words in (["plan", "-"], ["check", "--env", "-"], ["check", "--log", "-"]):
            folder = self.fresh("true")
            done = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&-', "sh", PROGRAMS / "headroom", *words], cwd=folder,
                                  env=environment(folder), capture_output=True, text=True, timeout=60)
            self.assertIn(done.returncode, (2, 3), words)
            self.assertIn("reading standard input", done.stderr)
            self.assertIn("next: ", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_the_trainer_as_well(self):
        if not (PROGRAMS / "headroom-train").exists():
            self.skipTest("built without headroom-train")
        for words, out, err in ((["--help"], 3, 0), (["nothing.toml"], 2, 2), ([], 2, 2)):
            for way in ("closed", "full"):
                folder = self.fresh("true")
                self.assertEqual(self.start(words, folder, {"stdout": way}, program="headroom-train").code, out)
                self.assertEqual(self.start(words, folder, {"stderr": way}, program="headroom-train").code, err)

    def test_a_training_is_finished_before_anything_is_said_of_it(self):
        if not (PROGRAMS / "headroom-train").exists():
            self.skipTest("built without headroom-train")
        job = ("mkdir -p data && echo some text to learn from > data/a.txt && { cat job.toml; "
               "printf '[data]\\npath = \"data\"\\nkind = \"text\"\\nepochs = 1\\n'; } > short.toml")
        for streams in ({"stdout": "full"}, {"stdout": "unread"}, {"stdout": "closed"}):
            folder = self.fresh(job)
            done = self.start(["short.toml", "--output", "out", "--json", "--quiet"], folder, streams,
                              program="headroom-train")
            self.assertEqual(done.code, 3, done.err)
            self.assertIn('"completed": true', (folder / "out" / "report.json").read_text())


def add(name, case):
    setattr(BrokenOutput, name, lambda self: self.check(case))


for command, cases in [*CASES.items(), ("general", GENERAL)]:
    for number, one in enumerate(cases):
        add(f"test_{command}_{number}", one)

if __name__ == "__main__":
    if not os.path.exists("/dev/full"):
        print("skipped: there is no /dev/full here")
        sys.exit(77)
    unittest.main()
