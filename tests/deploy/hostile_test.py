#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom deploy on services that behave worse than those of deploy_test.py: they die before they were looked at,
answer differently each time, or lose the files that their deployment was made of.

usage: hostile_test.py BIN_FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys

from deploy_test import LONG_S, Checks, Photos, check_rolled_back, wait_for_stage

DIES = """import http.server, os, threading

threading.Timer({after_s}, os._exit, [0]).start()


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/ping":
            {how}
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET


http.server.ThreadingHTTPServer(("127.0.0.1", {port}), Answers).serve_forever()
"""

# A long watch, whatever the machine is busy with meanwhile: how fast the candidate is does not count.
LONG_WATCH = [("seconds = 3", "seconds = 600"), ("faster = 1.5\n", "")]


def replace_candidate(photos, how, after_s):
    """The candidate becomes another program, without a worker."""
    text = DIES.format(how=how, after_s=after_s, port=photos.port)
    (photos.folder / "dies.py").write_text(text, encoding="utf-8")
    script = photos.folder / "service.sh"
    text = script.read_text(encoding="utf-8")
    start = 'setsid python3 "$here/photos.py"'
    assert start in text
    choice = 'if grep -q crash photos.conf; then program=dies.py; else program=photos.py; fi\n    '
    script.write_text(text.replace(start, choice + 'setsid python3 "$here/$program"'), encoding="utf-8")


def dies_at_once(check, binaries):
    """The service itself, and not a worker of it, dies of the first request, before it was ever looked at."""
    for how in ("os._exit(3)", "os._exit(0)"):
        with Photos(binaries, "crash") as photos:
            before = photos.conf()
            replace_candidate(photos, how, LONG_S)
            check_rolled_back(check, how, photos, before, photos.deploy("--apply"), "crash-loop")


def leaves_before_the_end(check, binaries):
    """It ends well, unasked, shortly before the watch is over: nobody keeps a service that is gone."""
    edits = [('expect_json = { "/faces/0/score" = 0.98 }\nsame_answers = true\nignore = ["/took_ms"]\n', ""),
             ("faster = 1.5\n", "")]
    with Photos(binaries, "crash", edits=edits) as photos:
        before = photos.conf()
        replace_candidate(photos, "pass", 2.5)
        check_rolled_back(check, "it leaves", photos, before, photos.deploy("--apply"), "crash-loop")


def answers_that_vary(check, binaries):
    """With them nothing can be compared, and after a roll-back nothing could be proved."""
    with Photos(binaries, "good") as photos:
        before = photos.conf()
        photos.service("stop")
        program = photos.folder / "photos.py"
        text = program.read_text(encoding="utf-8")
        assert '"took_ms":' in text
        program.write_text(text.replace('"took_ms":', '"at": str(time.time_ns()), "took_ms":'), encoding="utf-8")
        photos.service("start")
        photos.wait_for_ping()
        code, report, errors = photos.deploy("--apply")
        check.equal("answers that vary: exit code", code, 1)
        check.equal("answers that vary: cause", report and (report["cause"] or {}).get("id"), "baseline-broken")
        check.true("answers that vary: the way", report and "smoke.ignore" in str(report["cause"]), errors)
        check.equal("answers that vary: the file", photos.conf(), before)


def the_files_go(check, binaries):
    """headroom is killed. When the next call proves the old configuration, the file of the request is gone, and
    SERVICE.toml is none any more."""
    with Photos(binaries, "good", edits=LONG_WATCH) as photos:
        before = photos.conf()
        one = subprocess.Popen(photos.command("--apply"), env=photos.environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        wait_for_stage(photos, "watching")
        one.kill()
        one.wait()
        (photos.folder / "photo.json").unlink()
        (photos.folder / "SERVICE.toml").write_text("[service", encoding="utf-8")
        code, report, errors = photos.deploy()
        check.equal("the files go: exit code", code, 1)
        check.equal("the files go: restored", report and report["restored"], True)
        check.true("the files go: the file", photos.conf() == before, errors)


def somebody_edits(check, binaries):
    """What somebody changed meanwhile is not overwritten, and what is left to do is said in sentences."""
    with Photos(binaries, "good", edits=LONG_WATCH) as photos:
        one = subprocess.Popen(photos.command("--apply", "--json"), env=photos.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        wait_for_stage(photos, "watching")
        edited = photos.conf() + "# by hand\n"
        (photos.folder / "photos.conf").write_text(edited, encoding="utf-8")
        one.terminate()
        report = json.loads(one.communicate(timeout=LONG_S)[0])
        check.equal("somebody edits: restored", report["restored"], False)
        check.equal("somebody edits: the file", photos.conf(), edited)
        check.true("somebody edits: what is left", report["left"] and "\n" not in "".join(report["left"]), report["left"])
        text = pathlib.Path(report["postmortem"]).read_text(encoding="utf-8")
        check.true("somebody edits: a sentence is no command", "`undo that edit" not in text, text)


def main():
    check = Checks()
    binaries = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    for test in (dies_at_once, leaves_before_the_end, answers_that_vary, the_files_go, somebody_edits):
        if not wanted or test.__name__ in wanted:
            test(check, binaries)
    for one in check.wrong:
        print(one)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
