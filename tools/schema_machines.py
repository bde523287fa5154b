# SPDX-License-Identifier: Apache-2.0
"""Command lines of what watches machines, for check_schemas.py: `programs` is the folder of programs, `machines` are files of
tests/machines."""
import pathlib
import subprocess


def accept_commands(scratch, programs, machines):
    """`headroom accept` of this machine, without PyTorch."""
    yield ["/usr/bin/env", f"HOME={scratch}", f"PATH={scratch}", programs / "headroom", "accept", f"{scratch}/out", "--json"]


def fleet_commands(scratch, programs, machines):
    """`headroom report` of test machines, and of files that are none."""
    answers = pathlib.Path(scratch, "answers")
    answers.mkdir()
    for machine in machines:
        folder = pathlib.Path(scratch, machine.stem)
        subprocess.run([programs / "fake_machine", machine, folder], check=True)
        done = subprocess.run([programs / "headroom", "check", "--json", "--root", folder], capture_output=True, check=False)
        (answers / f"{machine.stem}.json").write_bytes(done.stdout)
    (answers / "broken.json").write_text("{")
    yield ["headroom", "report", "--json", answers]


def live_commands(scratch, programs, machines):
    """`headroom top` of test machines, and of this one."""
    yield ["headroom", "top", "--json"]
    for machine in machines:
        folder = pathlib.Path(scratch, machine.stem)
        subprocess.run([programs / "fake_machine", machine, folder], check=True)
        yield ["headroom", "top", "--json", "--root", folder]
