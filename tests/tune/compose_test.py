#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom tune of a service in a compose file: its settings are variables and options of its command. The engine is the
stand-in of tests/deploy, which runs real processes.

usage: compose_test.py BIN_FOLDER
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deploy"))
import compose_test  # noqa: E402
import deploy_test  # noqa: E402

TUNE = ('[[tune]]\nname = "PHOTOS_WORKERS"\nvalues = [1, 4]\nrole = "workers"\n\n'
        '[[tune]]\nname = "--lock-ms"\nas = "option"\nvalues = [2, 30]\n\n')


def tune(photos, binaries, *words):
    done = subprocess.run([f"{binaries}/headroom", "tune", str(photos.folder / "SERVICE.toml"), "--json", *words],
                          env=photos.environment, capture_output=True, text=True, timeout=deploy_test.LONG_S, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


def main():
    check = deploy_test.Checks()
    binaries = os.path.abspath(sys.argv[1])
    engine = compose_test.StandIn()
    with_option = [("photos.conf\"]", "photos.conf\", \"--lock-ms\", \"2\"]"),
                   ("SECRET: hushhush", "SECRET: hushhush\n      PHOTOS_WORKERS: 1\n      PHOTOS_THREADS: 1\n      PHOTOS_CORES: 4")]
    try:
        with compose_test.Compose(engine, binaries, "good", compose=with_option,
                                  edits=[("seconds = 3", "seconds = 0.3")]) as photos:
            path = photos.folder / "SERVICE.toml"
            text = path.read_text(encoding="utf-8")
            text = text[:text.index("# What headroom tune")] + TUNE + text[text.index("[health]"):]
            path.write_text(re.sub(r"\[\[change\]\]\n(.+\n)*", "", text), encoding="utf-8")
            before = photos.compose.read_text(encoding="utf-8")
            code, report, errors = tune(photos, binaries)
            check.equal("dry: exit code", code, 0)
            check.equal("dry: now", report and [one["now"] for one in report["settings"]], ["1", "2"])
            check.equal("dry: the file", photos.compose.read_text(encoding="utf-8"), before)
            code, report, errors = tune(photos, binaries, "--apply")
            check.equal("compose: exit code", code, 0)
            if report is None:
                check.true("compose", False, errors)
            else:
                check.equal("compose: outcome", report["outcome"], "deployed")
                check.equal("compose: best", report["best"], {"--lock-ms": "2", "PHOTOS_WORKERS": "4"})
                check.equal("compose: one value changed", photos.compose.read_text(encoding="utf-8"),
                            before.replace("PHOTOS_WORKERS: 1", "PHOTOS_WORKERS: \"4\""))
                check.true("compose: the service has it", "PHOTOS_WORKERS=4" in photos.environment_of_service(),
                           photos.environment_of_service())
                check.equal("compose: the service", photos.service("status"), 0)
                options = [one for one in report["tried"] if one["settings"]["--lock-ms"] == "30"]
                check.true("compose: options were tried", options, report["tried"])
    finally:
        engine.end()
    for one in check.wrong:
        print(one)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
