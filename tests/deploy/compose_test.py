#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom deploy of a service in a compose file: with a stand-in for the engine that runs real processes, or, with
`podman`, with the machine's own Podman, which is skipped (77) where it can run no container.

usage: compose_test.py BIN_FOLDER [podman]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import deploy_test

WITH = 'file = "photos.conf"\nwith = "new.conf"       # run.sh puts one of candidates/ there'
IMAGE = "localhost/headroom-test:1"


class Compose(deploy_test.Photos):
    """The photo service as a service of a compose file."""

    def __init__(self, engine, binaries, candidate, compose=None, **changes):
        super().__init__(binaries, candidate, **changes)
        self.engine = engine
        path = self.folder / "SERVICE.toml"
        text = re.sub(r'kind = "commands"\n(.+\n)*', 'kind = "compose"\nfile = "compose.yaml"\nservice = "ml"\n',
                      path.read_text(encoding="utf-8"), count=1)
        path.write_text(text, encoding="utf-8")
        lines = (f"name: {engine.project}\nservices:\n  ml:\n    image: {IMAGE}\n    network_mode: host\n"
                 f'    command: ["python3", "{self.folder}/photos.py", "{self.folder}/photos.conf"]\n'
                 f"    working_dir: {self.folder}\n    restart: always\n    environment:\n      SECRET: hushhush\n"
                 f"    volumes:\n      - /usr:/usr:ro\n      - {self.folder}:{self.folder}\n")
        for old, new in compose or []:
            assert old in lines, old
            lines = lines.replace(old, new)
        self.compose = self.folder / "compose.yaml"
        self.compose.write_text(lines, encoding="utf-8")
        self.environment.update(engine.environment)

    def call(self, *words):
        return subprocess.run([*words], env=self.environment, cwd=self.folder, capture_output=True, text=True,
                              timeout=deploy_test.LONG_S, check=False)

    def service(self, what):
        if what == "start":
            return self.call("podman", "compose", "-f", str(self.compose), "-p", self.engine.project, "up", "-d",
                             "--no-deps", "ml").returncode
        ids = self.containers()
        if what == "status":
            shown = self.call("podman", "inspect", "--type", "container", *ids)
            return 0 if '"running"' in shown.stdout else 1
        return self.call("podman", *self.engine.remove, *ids).returncode if ids else 0

    def containers(self):
        return self.call("podman", "ps", "--all", "--quiet", "--no-trunc", "--filter",
                         "label=com.docker.compose.service=ml").stdout.split()

    def environment_of_service(self):
        """Of its first process, whose words name the file that it reads."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder / "photos.conf").encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                    return (folder / "environ").read_text(encoding="utf-8", errors="replace").split("\0")
            except OSError:
                continue
        return []


class StandIn:
    """`podman` is engine_stand_in.py, and no other engine can be found."""
    project = "photos"
    remove = ("stop", "-t", "0")

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="headroom-engine-")
        top = pathlib.Path(self.scratch.name)
        source = pathlib.Path(__file__).resolve().parent / "engine_stand_in.py"
        (top / "bin").mkdir()
        (top / "containers").mkdir()
        (top / "bin/podman").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{source}" "$@"\n', encoding="utf-8")
        (top / "bin/podman").chmod(0o755)
        # An engine that is installed, and whose other half does not run.
        (top / "bin/docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n",
                                        encoding="utf-8")
        (top / "bin/docker").chmod(0o755)
        self.environment = {"PATH": f"{top}/bin:/usr/bin:/bin", "HEADROOM_TEST_ENGINE": f"{top}/containers"}

    def end(self):
        self.scratch.cleanup()


class Podman:
    """The machine's own, with an image of nothing but folders: what runs in it is the system's /usr."""
    remove = ("rm", "--force", "--time", "0")

    def __init__(self):
        if not shutil.which("podman"):
            self.skip("podman is not here")
        self.project = f"headroom-test-{os.getpid()}"
        self.environment = {}
        with tempfile.TemporaryDirectory(prefix="headroom-image-") as top:
            for name in ("usr", "tmp", "proc", "sys", "dev", "etc", "run"):
                os.mkdir(f"{top}/{name}")
            for name in ("bin", "lib", "lib64"):
                os.symlink(f"usr/{name}", f"{top}/{name}")
            subprocess.run(["tar", "-cf", f"{top}.tar", "-C", top, "."], check=True)
            made = self.call("import", f"{top}.tar", IMAGE)
            os.unlink(f"{top}.tar")
        if made.returncode != 0:
            self.skip(f"podman imports no image: {made.stderr.strip()[-200:]}")
        tried = self.call("run", "--rm", "--network=host", "--volume=/usr:/usr:ro", IMAGE, "true")
        if tried.returncode != 0:
            self.end()
            self.skip(f"podman runs no container: {tried.stderr.strip()[-200:]}")
        if self.call("compose", "version").returncode != 0:
            self.end()
            self.skip("podman compose is not here: apt install podman-compose")

    def call(self, *words):
        return subprocess.run(["podman", *words], capture_output=True, text=True, timeout=120, check=False)

    def skip(self, why):
        print(f"skipped: {why}")
        sys.exit(77)

    def end(self):
        self.call("pod", "rm", "--force", f"pod_{self.project}")
        self.call("rmi", "--force", IMAGE)


def check_candidates(check, engine, binaries):
    for candidate, cause in (("crash", "crash-loop"), ("wrong", "wrong-answer"), ("hang", "hang"),
                             ("leak", "memory-growth")):
        with Compose(engine, binaries, candidate) as photos:
            before = photos.conf()
            deploy_test.check_rolled_back(check, f"compose, {candidate}", photos, before, photos.deploy("--apply"),
                                          cause)
    with Compose(engine, binaries, "good") as photos:
        code, report, errors = photos.deploy("--apply")
        check.equal("compose, good: exit code", code, 0)
        check.equal("compose, good: outcome", report and report["outcome"], "committed")
        check.true("compose, good: its answer", code == 0 and photos.predict()["took_ms"] == 10, errors)


def check_file(check, engine, binaries):
    """Settings of the compose file itself, which the engine has to take, there and back."""
    shown = ("faster = 1.5", "faster = 0")
    good = (WITH, 'file = "compose.yaml"\nset = { environment = { SHOWN = "1" } }')
    with Compose(engine, binaries, "good", edits=[good, shown]) as photos:
        code, _, errors = photos.deploy("--apply")
        check.true("a setting of the file: it is committed", code == 0, errors)
        check.true("a setting of the file: the service has it", "SHOWN=1" in photos.environment_of_service(), "")
    falls = (WITH, 'file = "compose.yaml"\nset = { command = ["sh", "-c", "echo it falls; exit 7"] }')
    with Compose(engine, binaries, "good", edits=[falls, shown]) as photos:
        before = photos.compose.read_text(encoding="utf-8")
        code, report, errors = photos.deploy("--apply")
        text = json.dumps(report)
        check.equal("a main process that falls: exit code", code, 1)
        check.equal("a main process that falls: cause", report and report["cause"]["id"], "unhealthy")
        check.true("a main process that falls: its code is told",
                   "main process of container" in text and "ended with code 7" in text, text)
        check.equal("a main process that falls: the file is as before", photos.compose.read_text(encoding="utf-8"),
                    before)
        check.equal("a main process that falls: it serves again", photos.predict()["took_ms"], deploy_test.SLOW_MS)
    unknown = (WITH, 'file = "compose.yaml"\nset = { image = "localhost/missing:1" }')
    with Compose(engine, binaries, "good", edits=[unknown, shown]) as photos:
        code, report, errors = photos.deploy("--apply")
        text = json.dumps(report) + errors
        check.equal("an image that is not there: exit code", code, 1)
        check.true("an image that is not there: it says so", "missing" in text and "rror" in text, text)
        check.true("no secret of the environment is repeated", "hushhush" not in text, text)
        check.equal("an image that is not there: it serves again", photos.predict()["took_ms"], deploy_test.SLOW_MS)


def check_memory_limit(check, engine, binaries):
    """The limit of the container ends a worker: the kernel does that, and counts it in the control group."""
    small = [("    restart: always", "    restart: always\n    mem_limit: 128m")]
    with Compose(engine, binaries, "leak", compose=small, edits=[('memory = "256MiB"', "")]) as photos:
        before = photos.conf()
        deploy_test.check_rolled_back(check, "a limit of the container", photos, before, photos.deploy("--apply"),
                                      "memory-growth")


def check_bases(check, engine, binaries):
    """A base that the service extends has its devices: one that is not here keeps the container from starting."""
    extends = [("    restart: always", "    restart: always\n    extends:\n      file: base.yaml\n      service: gpu")]
    with Compose(engine, binaries, "good", compose=extends) as photos:
        (photos.folder / "base.yaml").write_text(
            "services:\n  gpu:\n    devices:\n      - /dev/headroom-missing:/dev/dri\n", encoding="utf-8")
        code, report, errors = photos.deploy()
        check.equal("a device of a base: exit code", code, 1)
        check.equal("a device of a base: cause", report and report["cause"]["id"], "device-missing")
        check.true("a device of a base: it is named", "/dev/headroom-missing" in json.dumps(report), errors)


def check_refusals(check, engine, binaries):
    with Compose(engine, binaries, "good", compose=[("    restart: always", "    restart: always\n    scale: 2")]) as two:
        code, _, errors = two.deploy("--apply")
        check.equal("two containers: exit code", code, 3)
        check.true("two containers: both are named", "photos_ml_1" in errors and "photos_ml_2" in errors, errors)
    with Compose(engine, binaries, "good") as photos:
        photos.environment["PATH"] = str(photos.top)
        code, _, errors = photos.deploy("--apply")
        check.equal("no engine: exit code", code, 3)
        check.true("no engine: each is named", "docker: not installed" in errors and "podman: not installed" in errors,
                   errors)
        photos.environment.update(engine.environment)


def main():
    binaries = os.path.abspath(sys.argv[1])
    is_real = sys.argv[2:] == ["podman"]
    engine, check = Podman() if is_real else StandIn(), deploy_test.Checks()
    try:
        check_candidates(check, engine, binaries)
        check_file(check, engine, binaries)
        if is_real:
            check_memory_limit(check, engine, binaries)
        else:
            check_bases(check, engine, binaries)
            check_refusals(check, engine, binaries)
    finally:
        engine.end()
    for one in check.wrong:
        print(one)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
