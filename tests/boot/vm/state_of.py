# SPDX-License-Identifier: Apache-2.0
"""What of a machine has to be as before: every file of /boot and /etc, and the EFI variables that choose what boots."""
from machine import Trouble

# One line for each: kind, mode, owner, group, where a link leads, the hash of a file's bytes, path.
LIST = r"""
find /boot /etc -mindepth 1 -printf '%y %m %U %G %l\t%p\n' | sort -t "$(printf '\t')" -k 2
echo ==
find /boot /etc -type f -print0 | xargs -0 sha256sum
for variable in LoaderEntryOneShot LoaderEntryDefault BootOrder BootNext; do
  for file in /sys/firmware/efi/efivars/$variable-*; do [ ! -e "$file" ] || sha256sum "$file"; done
done
"""


def state_of(machine):
    """Path → what it is. Times are left out: a file that is written again with the same bytes is as before."""
    code, text = machine.ssh(LIST, 900)
    if code != 0 or "\n==\n" not in text:
        raise Trouble(text[-1000:])
    listing, sums = text.split("\n==\n", 1)
    hashes = {path: digest for digest, path in (line.split(None, 1) for line in sums.splitlines())}
    state = {path: "variable " + digest for path, digest in hashes.items() if path.startswith("/sys/")}
    for line in listing.strip().splitlines():
        what, path = line.split("\t", 1)
        state[path] = f"{what} {hashes.get(path, '')}"
    return state


def differences(before, after):
    """One line for each path that is not as before."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            word = "new" if path not in before else "gone" if path not in after else "changed"
            lines.append(f"{word}: {path}")
    return lines
