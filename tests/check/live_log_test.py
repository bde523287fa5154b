#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check --log - and --watch on logs that are being written: live_log_test.py BIN_DIR

The answer comes while the writer is still there if a cause is clear, at the end if not, and on ^C. journalctl,
systemctl, docker and podman are scripts in a folder of their own, first on PATH.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HEADROOM = str(pathlib.Path(sys.argv[1]) / "headroom")
FAILURE = "OSError: [Errno 28] No space left on device: '/data/checkpoint-100/model.safetensors'\n"
TALK = ["INFO starting\n", "step 1 loss 2.1\n", "step 2 loss 2.0\n"]
LONG = 60  # Seconds that no test may take.
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)
        print(f"not as expected: {what}", file=sys.stderr)


def start(*arguments, env=None, stdin=subprocess.PIPE):
    return subprocess.Popen([HEADROOM, "check", "--json", *arguments], stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=env)


def cause_of(process, what):
    try:
        out, err = process.communicate(timeout=LONG)
    except subprocess.TimeoutExpired:
        process.kill()
        expect(False, f"{what}: an answer within {LONG} s")
        return None
    expect(err == "", f"{what}: nothing on stderr, which is no terminal: {err!r}")
    try:
        return json.loads(out)["cause"]["id"]  # Fails on a second report.
    except (ValueError, KeyError, TypeError):
        expect(False, f"{what}: one report on stdout, not {out!r}")
        return None


def write_slowly(process, lines, pause=0.05):
    try:
        for line in lines:
            process.stdin.write(line)
            process.stdin.flush()
            time.sleep(pause)
    except BrokenPipeError:
        pass


def pipe_is_answered_while_it_is_open():
    process = start("--log", "-")
    write_slowly(process, TALK + [FAILURE])
    stays_open, process.stdin = process.stdin, None  # communicate() would close it.
    expect(cause_of(process, "open pipe") == "disk-full", "open pipe: disk-full")
    stays_open.close()


def pipe_without_a_clear_cause_is_answered_at_its_end():
    process = start("--log", "-")
    write_slowly(process, TALK)
    time.sleep(4)
    expect(process.poll() is None, "no cause: no answer while the pipe is open")
    process.stdin.close()
    process.stdin = None
    expect(cause_of(process, "ended pipe") != "disk-full", "ended pipe: no made-up cause")


def pipe_that_ends_is_answered_at_once():
    started = time.monotonic()
    process = start("--log", "-")
    write_slowly(process, [FAILURE], 0)
    process.stdin.close()
    process.stdin = None
    expect(cause_of(process, "short pipe") == "disk-full", "short pipe: disk-full")
    expect(time.monotonic() - started < 10, "short pipe: no waiting at its end")


def wait_until_caught(process, number):
    """Until the program has its own answer to the signal: on a busy machine that takes a while."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1], 16)
        if caught & 1 << number - 1:
            return
        time.sleep(0.02)


def interrupt_tells_what_is_known():
    process = start("--log", "-")
    write_slowly(process, TALK)
    wait_until_caught(process, signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    stays_open, process.stdin = process.stdin, None
    cause = cause_of(process, "interrupted")
    expect(cause in ("none", "insufficient-evidence"), f"interrupted: what is known, not {cause}")
    stays_open.close()


def make_programs(folder, unit=(), container=()):
    """Writes the programs that know these names; their logs go on until they are ended."""
    def script(name, text):
        path = pathlib.Path(folder) / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    log = f"printf '%s\\n' 'INFO starting'; sleep 0.5; cat <<'END'\n{FAILURE}END\n"
    known = lambda names: "|".join(names) or "''"
    script("systemctl", f'case "$*" in *--user*) echo not-found; exit 0;; esac\n'
                        f'for name; do :; done\ncase "$name" in {known(unit)}) echo loaded;; *) echo not-found;; esac\n')
    script("journalctl", f'echo "$*" >"{folder}/asked"\n{log}exec sleep {LONG}\n')
    script("docker", f'for name; do :; done\ncase "$name" in {known(container)}) ;; *) exit 1;; esac\n'
                     f'[ "$1" = inspect ] && exit 0\necho "docker $*" >"{folder}/asked"\n{log}exec sleep {LONG}\n')
    script("podman", "exit 125\n")
    return dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])


def watch(name, asked, **programs):
    with tempfile.TemporaryDirectory() as folder:
        env = make_programs(folder, **programs)
        cause = cause_of(start("--watch", name, env=env, stdin=subprocess.DEVNULL), f"--watch {name}")
        expect(cause == "disk-full", f"--watch {name}: disk-full, not {cause}")
        words = (pathlib.Path(folder) / "asked").read_text().split()
        for word in asked:
            expect(word in words, f"--watch {name}: {word} among {words}")


def watched_name_that_nobody_knows_is_a_mistake():
    with tempfile.TemporaryDirectory() as folder:
        env = make_programs(folder, unit=["a.service"], container=["b"])
        for name in ("c", "unit:b", "container:a.service", "unit:", "-f"):
            process = start("--watch=" + name, env=env, stdin=subprocess.DEVNULL)
            out, err = process.communicate(timeout=LONG)
            expect(process.returncode == 3 and out == "" and "expected" in err,
                   f"--watch {name!r}: exit 3 and a message, not {process.returncode} {err!r}")


def program_that_fails_is_told():
    with tempfile.TemporaryDirectory() as folder:
        env = make_programs(folder, container=["b"])
        path = pathlib.Path(folder) / "docker"
        path.write_text('#!/bin/sh\n[ "$1" = inspect ] && exit 0\necho "Cannot connect"; exit 1\n')
        process = start("--watch", "b", env=env, stdin=subprocess.DEVNULL)
        out, err = process.communicate(timeout=LONG)
        expect(process.returncode == 3 and out == "" and "docker logs" in err,
               f"program that fails: exit 3 and a message, not {process.returncode} {err!r} {out!r}")


def main():
    pipe_is_answered_while_it_is_open()
    pipe_without_a_clear_cause_is_answered_at_its_end()
    pipe_that_ends_is_answered_at_once()
    interrupt_tells_what_is_known()
    watch("ollama", ["-u", "ollama", "-f", "short-iso"], unit=["ollama"], container=["ollama"])
    watch("unit:ollama", ["-u", "ollama"], unit=["ollama"])
    watch("immich", ["docker", "logs", "-f", "immich"], container=["immich"])
    watch("container:ollama", ["docker", "logs", "ollama"], unit=["ollama"], container=["ollama"])
    watched_name_that_nobody_knows_is_a_mistake()
    program_that_fails_is_told()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
