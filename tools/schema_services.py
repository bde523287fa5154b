# SPDX-License-Identifier: Apache-2.0
"""What check_schemas.py runs of the commands that act on a service: a real one, of a process and a file."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/dev/bin"


def toy_service(scratch, name, answer):
    """A service that is a process and a file; what it answers is in the file."""
    folder = pathlib.Path(scratch, name)
    folder.mkdir()
    folder.joinpath("app.conf").write_text("good\n")
    folder.joinpath("new.conf").write_text(f"{answer}\n# new\n")
    folder.joinpath("service.toml").write_text(f"""
[service]
name = "{name}"
kind = "commands"
pidfile = "pid"
start = ["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid"]
stop = ["sh", "-c", "kill $(cat pid)"]
status = ["sh", "-c", "kill -0 $(cat pid)"]
[[change]]
file = "app.conf"
with = "new.conf"
[health]
command = ["true"]
[smoke]
command = ["cat", "app.conf"]
expect_text = "good"
repeat = 2
[watch]
seconds = 0.1
""")
    subprocess.run(["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid"], cwd=folder, check=True)
    return folder / "service.toml"


def deploy_commands(scratch, *wanted):
    """A service whose new configuration is good, one whose is not; what would be done; and what is refused."""
    home = ["/usr/bin/env", f"XDG_STATE_HOME={scratch}/state", PROGRAMS / "headroom", "deploy"]
    machine = pathlib.Path(scratch, "machine")
    subprocess.run([PROGRAMS / "fake_machine", ROOT / "tests/machines/apu-5600g.toml", machine], check=True)
    files = [toy_service(scratch, "good", "good"), toy_service(scratch, "bad", "bad")]
    try:
        for file in files:
            for words in (["--json"], ["--apply", "--json"]):
                if not wanted:
                    yield [*home, file, *words]
                else:
                    subprocess.run([*home, file, *words], capture_output=True, check=False)
        files[1].write_text(files[1].read_text() + "[expect]\ngpu = true\n")
        yield [*home, *(wanted or [files[1], "--root", machine]), "--json"]
    finally:
        for file in files:
            subprocess.run(["sh", "-c", "kill $(cat pid)"], cwd=file.parent, check=False)


def tune_commands(scratch):
    """A service with a setting that is faster; what would be done; what is refused; and what a GPU would be worth."""
    home = ["/usr/bin/env", f"XDG_STATE_HOME={scratch}/state", PROGRAMS / "headroom", "tune"]
    file = toy_service(scratch, "slow", "good")
    text = file.read_text().replace('["cat", "app.conf"]', '["sh", "-c", "sleep $(sed -n s/^nap=//p app.conf); cat app.conf"]')
    file.write_text(text.replace("repeat = 2", "repeat = 4\nconcurrency = 1") +
                    '[[tune]]\nname = "nap"\nas = "key"\nfile = "app.conf"\nvalues = [0.02, 0.2, "x"]\n')
    file.with_name("app.conf").write_text("good\nnap=0.2\n")
    worth = ["--items-per-day", "1000", "--faster", "2", "--gpu-price", "1", "--gpu-watts", "1"]
    try:
        yield [*home, file, "--json"]
        yield [*home, file, "--json", "--apply", *worth, "--cpu-watts", "9", "--electricity", "1"]
        yield [*home, file, "--json", "--apply", *worth]
    finally:
        subprocess.run(["sh", "-c", "kill $(cat pid)"], cwd=file.parent, check=False)
    yield [*home, file, "--json", "--apply"]


def deploy_status_commands(scratch):
    """`headroom deploy --status`, with nothing there and after two deployments."""
    yield ["/usr/bin/env", f"XDG_STATE_HOME={scratch}/none", PROGRAMS / "headroom", "deploy", "--status", "--json"]
    yield from deploy_commands(scratch, "--status")
