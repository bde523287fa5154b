#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom fix on machines that really boot, each through its own boot loader.

    boot_test.py FOLDER PACKAGES [--variant NAME]... [--scenario NAME]...

FOLDER keeps the images, which are made once. PACKAGES is where headroom's lie (build/packages). All variants and all scenarios without a choice. The table that
it ends with says what passed and how long it took; exit code 1 if something failed, 77 where machines cannot be made here.
"""
import argparse
import pathlib
import subprocess
import sys
import time
import traceback

import scenarios
from images import image_of
from lab import HERE, INITRAMFS, LOADERS, SUITES, Variant, missing
from machine import Machine, accelerator

PACKAGES = ("libheadroom-allocator1_*.deb", "headroom_*.deb")
SET_UP = ("mkdir -p /usr/local/sbin && dpkg -i /opt/headroom-*.deb && systemctl daemon-reload && "
          "systemctl enable -q --now pretend-apu && sync")
VARIANTS = [f"{release}-{loader}-{initramfs}" + ("-boot" if loader == "efi" and initramfs == "it" else "")
            for release in SUITES for loader in LOADERS for initramfs in INITRAMFS]


def key_in(folder):
    """The public half of the key by which root is reached; made if it is not there."""
    key = folder / "key"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "headroom", "-f", str(key)], check=True)
    return key.with_suffix(".pub").read_text()


def fits(scenario, variant):
    """Whether a scenario says something of this machine: /boot is made read-only where it is a partition."""
    return variant.own_boot if scenario == "read_only_boot" else True


def set_up(variant, folder, packages):
    machine = Machine(variant, folder / "run" / variant.name, image_of(variant, folder, key_in(folder)), folder / "key")
    machine.start()
    took = machine.wait()
    for index, package in enumerate(packages):
        machine.put(package, f"/opt/headroom-{index}.deb")
    machine.put(HERE / "pretend_apu", "/usr/local/sbin/pretend_apu", "755")
    machine.put(HERE / "pretend-apu.service", "/etc/systemd/system/pretend-apu.service")
    machine.must(SET_UP)
    machine.save(scenarios.READY)
    print(f"{variant.name}: set up; its first boot took {took:.0f} s", flush=True)
    return machine


def play(machine, name):
    """Whether it passed, what it says, and the seconds that it took."""
    begun = time.monotonic()
    try:
        machine.go_back(scenarios.READY)
        said = scenarios.ALL[name](machine) or ""
        return True, said, time.monotonic() - begun
    except Exception as error:  # One machine's trouble is not the others'.
        print(f"{machine.variant.name} {name}: {traceback.format_exc()}", flush=True)
        return False, str(error).splitlines()[0], time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--variant", action="append")
    parser.add_argument("--scenario", action="append", choices=scenarios.ALL)
    asked = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return 77
    packages = [next(iter(sorted(asked.packages.glob(name))), None) for name in PACKAGES]
    if None in packages:
        parser.error(f"expected {' and '.join(PACKAGES)} in {asked.packages}; next: ./dev package")
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for variant in map(Variant, asked.variant or VARIANTS):
        machine = None
        try:
            machine = set_up(variant, asked.folder.resolve(), packages)
            for name in asked.scenario or scenarios.ALL:
                if fits(name, variant):
                    rows.append((variant.name, name, *play(machine, name)))
        except Exception as error:
            print(f"{variant.name}: {traceback.format_exc()}", flush=True)
            rows.append((variant.name, "set up", False, str(error).splitlines()[0], 0))
        finally:
            if machine is not None:
                machine.cut_power()
    print(f"\n{'machine':<20} {'scenario':<16} {'':<7} {'s':>5}")
    for variant, name, passed, said, took in rows:
        print(f"{variant:<20} {name:<16} {'passed' if passed else 'FAILED':<7} {took:5.0f}  {said}")
    print(f"\n{sum(1 for row in rows if row[2])} of {len(rows)} passed; {' '.join(accelerator()[:2])}")
    return 0 if rows and all(row[2] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
