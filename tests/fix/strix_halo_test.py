#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The story of the Strix Halo on its recorded machines: the limit is proposed, applied, found after the reboot, confirmed
and taken back.

    strix_halo_test.py BIN_DIR SHARED_DIR      exit 0: as told; 77: the recorded machines are not there

The boot files and programs are those of a fake Ubuntu; /proc and /sys are the recorded ones, before and after.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

GIB = 1 << 30


def run(bin_dir, *words, expect=0):
    done = subprocess.run([bin_dir / words[0], *words[1:]], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == expect, f"{words}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}"
    return done.stdout


def put_on(machine, snapshot):
    """/proc and /sys of a recorded machine in place of those that are there; the boot is another one."""
    for name in ("proc", "sys", "dev"):
        shutil.rmtree(machine / name, ignore_errors=True)
        shutil.copytree(snapshot / name, machine / name, symlinks=True)
    shutil.copy(snapshot / "etc/os-release", machine / "etc/os-release")
    random = machine / "proc/sys/kernel/random"
    random.mkdir(parents=True, exist_ok=True)
    (random / "boot_id").write_text(hashlib.sha256(snapshot.name.encode()).hexdigest()[:32] + "\n")


def bytes_of(machine):
    """Everything that a change could touch."""
    return {path.relative_to(machine): path.read_bytes()
            for folder in ("etc", "boot", "usr") for path in sorted((machine / folder).rglob("*"))
            if path.is_file() and not path.is_symlink()}


def ladder(bin_dir, root):
    answer = json.loads(subprocess.run([bin_dir / "headroom", "check", "--json", "--root", root], capture_output=True,
                                       text=True, timeout=60, check=False).stdout)
    return {rung["rung"]: rung["limit_bytes"] for gpu in answer["gpus"] for rung in gpu["ladder"]}


def main():
    bin_dir, snapshots = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]) / "snapshots"
    before, after = snapshots / "strix-halo-before-ttm", snapshots / "strix-halo-after-ttm"
    if not before.is_dir():
        print(f"skipped: no recorded machines in {snapshots}")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        machine = pathlib.Path(scratch, "machine")
        run(bin_dir, "fake_distribution", "ubuntu-24.04", machine)
        defaults = machine / "etc/default/grub"
        defaults.write_text(defaults.read_text().replace("amdgpu.gttsize=114688", "amdgpu.gttsize=122880"))
        put_on(machine, before)
        old = bytes_of(machine)

        fix = ["headroom", "fix", "ttm-cap", "--size", "120GiB", "--root", machine]
        plan = json.loads(run(bin_dir, *fix, "--json"))
        assert dict((p["name"], p["value"]) for p in plan["forecast"]["parameters"])["ttm.pages_limit"] == "31457280"
        assert any("5.08 GiB" in warning for warning in plan["warnings"]), plan["warnings"]
        real = ladder(bin_dir, after)
        predicted = {rung["rung"]: rung["limit_bytes"] for rung in plan["forecast"]["rungs"]}
        assert predicted["pool"] == predicted["ttm"] == 120 * GIB, predicted
        for rung, limit in predicted.items():
            assert real[rung] == limit, f"{rung}: predicted {limit}, recorded after the reboot {real[rung]}"
        assert bytes_of(machine) == old, "a dry run changed something"

        run(bin_dir, *fix, "--apply")
        assert bytes_of(machine) != old
        put_on(machine, after)
        assert "Confirmed" in run(bin_dir, "headroom", "confirm", "--root", machine)
        assert "ttm.pages_limit=31457280" in defaults.read_text() and "gttsize" not in defaults.read_text()
        assert not (machine / "etc/systemd/system/headroom-confirm.service").exists()
        # A person who types it after the unit did it is told so, and whether it holds still.
        assert "Confirmed already" in run(bin_dir, "headroom", "confirm", "--root", machine)
        put_on(machine, before)
        assert "no longer as predicted" in run(bin_dir, "headroom", "confirm", "--root", machine, expect=1)
        put_on(machine, after)
        run(bin_dir, "headroom", "undo", "--root", machine)
        put_on(machine, before)
        assert bytes_of(machine) == old, "undo left something behind"
    return 0


if __name__ == "__main__":
    sys.exit(main())
