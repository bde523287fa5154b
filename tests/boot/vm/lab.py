# SPDX-License-Identifier: Apache-2.0
"""What all of these tests share: where things lie, which machines there are, and what this one has to have."""
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
MIRROR = "http://deb.debian.org/debian"
SUITES = {"d12": "bookworm", "d13": "trixie"}
LOADERS = ("bios", "efi", "sdb")          # GRUB on a BIOS, GRUB on EFI, systemd-boot.
INITRAMFS = ("it", "dracut")              # initramfs-tools, dracut.
ROOT_UUID = "6e9b6b1e-5d0c-4c8f-9d55-0d9f3c0c7a01"
BOOT_UUID = "6e9b6b1e-5d0c-4c8f-9d55-0d9f3c0c7a02"
ESP_SERIAL = "4EAD2006"
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", "mmdebstrap": "mmdebstrap", "sfdisk": "fdisk",
          "mkfs.vfat": "dosfstools", "mke2fs": "e2fsprogs", "ssh": "openssh-client", "ssh-keygen": "openssh-client"}
FIRMWARE = pathlib.Path("/usr/share/OVMF")


class Variant:
    """A machine by name, "d12-efi-it" or "d13-bios-it-boot": release, boot loader, initramfs, and whether /boot is a partition."""

    def __init__(self, name):
        parts = name.split("-")
        known = (len(parts) in (3, 4) and parts[0] in SUITES and parts[1] in LOADERS and parts[2] in INITRAMFS
                 and parts[3:] in ([], ["boot"]))
        if not known:
            raise SystemExit(f"expected d12|d13 - bios|efi|sdb - it|dracut [- boot], found {name}")
        self.name, self.suite, self.loader, self.initramfs = name, SUITES[parts[0]], parts[1], parts[2]
        self.own_boot = len(parts) == 4

    @property
    def efi(self):
        return self.loader != "bios"


def missing():
    """Why nothing can be tried here; None where it can."""
    if os.geteuid() != 0:
        return "expected root, whom mmdebstrap and chroot need"
    for program, package in NEEDED.items():
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            return f"expected {program}, found none; next: apt install {package}"
    return None if FIRMWARE.is_dir() else f"expected {FIRMWARE}, found nothing; next: apt install ovmf"


def run(*words, **how):
    subprocess.run([str(word) for word in words], check=True, **how)
