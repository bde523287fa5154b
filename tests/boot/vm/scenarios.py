# SPDX-License-Identifier: Apache-2.0
"""What is played on each machine. A scenario begins with the machine as it was saved when it had been set up, and expects; what it
returns is said beside its name."""
import json
import subprocess
import time

from machine import Trouble
from state_of import differences, state_of

SIZE = "16GiB"   # Of 24 GiB, of which the kernel lets a GPU have half.
PAGES = 4194304  # SIZE in pages of 4 KiB.
APPLY = f"headroom fix ttm-cap --size {SIZE} --apply"
# Debian 12's Linux 6.1 knows TTM's limit, but not this APU: the cap is not what is wrong there, and is changed all the same.
CAUSE = {"bookworm": "kernel-too-old", "trixie": "ttm-cap"}
UNIT_HAS_ENDED = ('test -z "$(systemctl list-jobs --no-legend)" && '
                  'case $(systemctl show -p ActiveState --value headroom-confirm) in inactive|failed) ;; *) false ;; esac')
READY = "ready"  # The state that every scenario begins from.


def expect(true, what):
    if not true:
        raise Trouble(what)


def expect_same(before, machine, when):
    wrong = differences(before, state_of(machine))
    expect(not wrong, f"{when}, not as before: " + "; ".join(wrong[:12]))


def pages_limit(machine):
    return int(machine.must("cat /sys/module/ttm/parameters/pages_limit"))


def expect_default(limit, machine, when):
    """The kernel's own limit again: half of its RAM, of which it finds some pages more or fewer at each boot."""
    now = pages_limit(machine)
    expect(abs(now - limit) < limit // 100, f"{when}: expected about {limit} pages, found {now}")


def check(machine):
    """What check found, and the limits that it read."""
    code, text = machine.ssh("headroom check --json 2>/dev/null")
    expect(code in (0, 1), f"check: exit {code}: {text[-500:]}")
    return json.loads(text)


def last_change(machine, limit=900):
    """What became of the last change in the history, once the unit that confirms it has ended."""
    begun, state = time.monotonic(), "unknown"
    while time.monotonic() - begun < limit:
        if machine.ssh(UNIT_HAS_ENDED)[0] == 0:
            changes = json.loads(machine.must("headroom history --json"))["changes"]
            state = changes[0]["state"] if changes else "none"
            if state not in ("awaiting-reboot", "confirming", "undoing"):
                return state
        time.sleep(3)
    raise Trouble(f"the last change is still {state} after {limit} s")


def round_trip(machine):
    """check, fix, reboot, confirmed by the unit, check again; undo, reboot, the bytes as before."""
    before, limit = state_of(machine), pages_limit(machine)
    expect(limit != PAGES, "the machine has the new limit already")
    found, cause = check(machine)["cause"], CAUSE[machine.variant.suite]
    expect(found and found["id"] == cause, f"check: expected {cause}, found {found and found['id']}")
    machine.must(APPLY)
    took = machine.reboot()
    expect(pages_limit(machine) == PAGES, f"after the reboot: expected {PAGES} pages, found {pages_limit(machine)}")
    expect(last_change(machine) == "confirmed", f"expected the unit to confirm, found {last_change(machine)}")
    machine.must("headroom undo")
    expect_same(before, machine, "after undo")
    machine.reboot()
    expect_default(limit, machine, "after undo and a reboot")
    expect_same(before, machine, "after undo and a reboot")
    return f"booted in {took:.0f} s"


def trial_hangs(machine):
    """The kernel of the trial never comes up, and somebody switches the machine off and on: the old one boots, all is undone."""
    before, limit = state_of(machine), pages_limit(machine)
    machine.must(APPLY)
    begin = machine.serial.stat().st_size
    machine.ask_for("reboot")
    machine.see_kernel_start(begin)
    machine.cut_power()
    machine.start()
    machine.wait()
    expect_default(limit, machine, "after the trial that hung")
    state = last_change(machine)
    expect(state == "undone", f"expected the unit to undo the change, found {state}")
    expect_same(before, machine, "after the trial that hung")


def power_cut(machine):
    """The power goes at three moments of --apply: the machine boots, and undo brings every byte back."""
    begun = time.monotonic()
    machine.must(APPLY)
    whole = time.monotonic() - begun
    told = []
    for part in (0.25, 0.5, 0.8):
        machine.go_back(READY)
        before = state_of(machine)
        with subprocess.Popen([*machine.ssh_words(), APPLY], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as applying:
            time.sleep(part * whole)
            machine.cut_power()
            applying.wait()
        machine.start()
        machine.wait()
        state = last_change(machine)
        told.append(state)
        if state not in ("none", "undone"):
            machine.must("headroom undo")
        expect_same(before, machine, f"after a cut at {part:.0%} ({state})")
    return "left: " + ", ".join(told)


def full_boot(machine):
    """No room on /boot: the change fails, and nothing is left of it."""
    before = state_of(machine)
    machine.ssh("dd if=/dev/zero of=/boot/full bs=64k; dd if=/dev/zero of=/boot/full2 bs=512; sync")
    code, text = machine.ssh(APPLY)
    machine.must("rm -f /boot/full /boot/full2")
    wrong = differences(before, state_of(machine))
    if code == 0:  # There was room: nothing has to be written there.
        machine.must("headroom undo")
        expect_same(before, machine, "after undo")
        return "needed no room there"
    expect(code == 1, f"expected exit code 1, found {code}: {text[-800:]}")
    expect(not wrong, "not as before: " + "; ".join(wrong[:12]))
    return None


def read_only_boot(machine):
    """/boot cannot be written to: refused before anything is changed, and it says so."""
    before = state_of(machine)
    machine.must("mount -o remount,ro /boot")
    code, text = machine.ssh(APPLY)
    machine.must("mount -o remount,rw /boot")
    expect(code != 0, "expected a refusal")
    expect("read-only" in text.lower(), f"expected the reason, found: {text[-500:]}")
    expect_same(before, machine, "after the refusal")


def kernel_upgrade(machine):
    """A kernel is installed between the change and its reboot: both boot with the new limit, and undo takes it from both."""
    limit = pages_limit(machine)
    machine.must(APPLY)
    machine.must("dpkg -i /opt/kernel.deb", 1800)
    machine.reboot()
    expect(last_change(machine) == "confirmed", f"expected the unit to confirm, found {last_change(machine)}")
    expect(pages_limit(machine) == PAGES, f"after the reboot: {pages_limit(machine)} pages")
    first = machine.must("uname -r").strip()
    machine.reboot()
    second = machine.must("uname -r").strip()
    expect(pages_limit(machine) == PAGES, f"{second}: {pages_limit(machine)} pages")
    machine.must("headroom undo")
    machine.reboot()
    expect_default(limit, machine, "after undo and a reboot")
    return f"{first}, then {second}"


ALL = {one.__name__: one for one in (round_trip, trial_hangs, power_cut, full_boot, read_only_boot, kernel_upgrade)}
