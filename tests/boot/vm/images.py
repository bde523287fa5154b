# SPDX-License-Identifier: Apache-2.0
"""Disk images of Debian machines: a tree by mmdebstrap, what a variant has beside it, partitions, and one first boot in which the
distribution's own tools install the boot loader. Made once, and kept."""
import pathlib
import shutil
import subprocess

from lab import BOOT_UUID, ESP_SERIAL, MIRROR, ROOT_UUID, run
from machine import Machine

SYSTEM = ("systemd-sysv,dbus,udev,kmod,sudo,openssh-server,iproute2,linux-image-amd64,initramfs-tools,zstd,procps,efibootmgr,"
          "dosfstools,e2fsprogs,python3-minimal,netbase,cpio,acl")
LOADER_PACKAGES = {"bios": ["grub-pc"], "efi": ["grub-efi-amd64"], "sdb": ["systemd-boot"]}
# With the same drivers, to be installed in the middle of a change.
SECOND_KERNEL = ("cd /opt && apt-get download -qq $(apt-cache depends linux-image-rt-amd64 | sed -n 's/.*Depends: //p' | "
                 "grep ^linux-image) && mv linux-image-*.deb kernel.deb")
# Emulated, a disk or a serial console may take minutes to be found, in the initramfs as well.
PATIENT = "systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900"
CONSOLE = f"console=tty0 console=ttyS0,115200 mitigations=off {PATIENT}"
WAITS = "x-systemd.device-timeout=900"
SIZE, BIOS, BOOT = 6144, 1, 400  # MiB: the disk, GRUB's own partition, /boot.


def esp_size(variant):
    """MiB. systemd-boot keeps kernels there."""
    return 500 if variant.loader == "sdb" else 100


def base_tree(folder, suite, key):
    """A Debian without a boot loader that root reaches by ssh with this key."""
    tree = folder / "base" / suite
    if tree.is_dir():
        return tree
    part = tree.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    run("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=directory",
        "--aptopt=Acquire::Check-Valid-Until \"false\"", f"--include={SYSTEM}", suite, part, MIRROR)
    (part / "etc/systemd/network/10-any.network").write_text("[Match]\nName=en* eth*\n[Network]\nDHCP=yes\n")
    (part / "etc/hostname").write_text("machine\n")
    (part / "etc/hosts").write_text("127.0.0.1 localhost machine\n")
    with open(part / "etc/ssh/sshd_config", "a", encoding="utf-8") as config:
        config.write("UseDNS no\n")
    keys = part / "root/.ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    keys.chmod(0o700)
    (keys / "authorized_keys").write_text(key)
    run("chroot", part, "systemctl", "enable", "-q", "systemd-networkd", "ssh", "serial-getty@ttyS0")
    run("chroot", part, "systemd-machine-id-setup", stderr=subprocess.DEVNULL)
    part.rename(tree)
    return tree


def add_packages(variant, tree):
    packages = LOADER_PACKAGES[variant.loader] + (["dracut"] if variant.initramfs == "dracut" else [])
    lines = [f"UUID={ROOT_UUID} / ext4 errors=remount-ro 0 1"]
    lines += [f"UUID={BOOT_UUID} /boot ext4 {WAITS} 0 2"] if variant.own_boot else []
    lines += [f"UUID={ESP_SERIAL[:4]}-{ESP_SERIAL[4:]} /boot/efi vfat umask=0077,{WAITS} 0 1"] if variant.efi else []
    (tree / "etc/fstab").write_text("\n".join(lines) + "\n")
    (tree / "boot/efi").mkdir(exist_ok=True)
    if variant.loader == "sdb":
        (tree / "etc/kernel").mkdir(exist_ok=True)
        (tree / "etc/kernel/cmdline").write_text(f"root=UUID={ROOT_UUID} ro quiet {CONSOLE}\n")
    resolver = tree / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    shutil.copy("/etc/resolv.conf", resolver)
    run("mount", "-t", "proc", "proc", tree / "proc")
    try:
        inside = ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "chroot", tree]
        run(*inside, "debconf-set-selections", input=b"grub-pc grub-pc/install_devices_empty boolean true\n")
        run(*inside, "apt-get", "update", "-qq")
        run(*inside, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages, stdout=subprocess.DEVNULL)
        run(*inside, "sh", "-c", SECOND_KERNEL)
        run(*inside, "apt-get", "clean")
    finally:
        run("umount", tree / "proc")
    resolver.write_text("nameserver 10.0.2.3\n")
    grub = tree / "etc/default/grub"
    if grub.exists():
        text = grub.read_text().replace("GRUB_TIMEOUT=5", "GRUB_TIMEOUT=1")
        text = text.replace('GRUB_CMDLINE_LINUX=""', f'GRUB_CMDLINE_LINUX="{CONSOLE}"')
        grub.write_text(text + 'GRUB_TERMINAL="console serial"\n')


def write_disk(variant, tree, raw):
    """GPT: GRUB's own partition, the EFI system partition, /boot, root."""
    esp = esp_size(variant)
    with open(raw, "wb") as disk:
        disk.truncate(SIZE << 20)
    table = (f"label: gpt\nsize={BIOS}MiB, type=21686148-6449-6E6F-744E-656564454649\nsize={esp}MiB, type=uefi\n"
             f"size={BOOT}MiB, type=linux\ntype=linux\n")
    run("sfdisk", "-q", raw, input=table.encode())
    boot_at, root_at = 1 + BIOS + esp, 1 + BIOS + esp + BOOT
    run("mkfs.vfat", "--offset", (1 + BIOS) * 2048, "-i", ESP_SERIAL, "-n", "ESP", "-F", "32", "-s", "1", raw, esp * 1024,
        stdout=subprocess.DEVNULL)
    if variant.own_boot:
        boot = tree.with_name(tree.name + ".boot")
        (tree / "boot").rename(boot)
        (tree / "boot").mkdir()
        run("mke2fs", "-q", "-F", "-t", "ext4", "-U", BOOT_UUID, "-d", boot, "-E", f"offset={boot_at << 20}", raw, f"{BOOT}M")
        shutil.rmtree(boot)
    run("mke2fs", "-q", "-F", "-t", "ext4", "-U", ROOT_UUID, "-d", tree, "-E", f"offset={root_at << 20}", raw,
        f"{SIZE - root_at - 1}M")


def install_loader(variant, machine):
    machine.must("for kernel in /lib/modules/*; do dracut -q --force /boot/initrd.img-${kernel##*/} ${kernel##*/}; done"
                 if variant.initramfs == "dracut" else "true", 900)
    if variant.loader == "bios":
        machine.must("grub-install /dev/vda && update-grub")
    elif variant.loader == "efi":
        machine.must("grub-install --target=x86_64-efi --efi-directory=/boot/efi && update-grub")
    else:
        machine.must("bootctl install --esp-path=/boot/efi && for kernel in /lib/modules/*; do kernel=${kernel##*/}; "
                     "kernel-install add $kernel /boot/vmlinuz-$kernel /boot/initrd.img-$kernel; done && "
                     "printf 'timeout 1\\nconsole-mode keep\\n' >> /boot/efi/loader/loader.conf", 900)
    machine.must("sync")


def image_of(variant, folder, key):
    """The disk of a machine that boots by its own boot loader; made if it is not there, which takes ten minutes emulated."""
    raw = folder / "images" / f"{variant.name}.raw"
    if raw.exists():
        return raw
    base = base_tree(folder, variant.suite, key)
    raw.parent.mkdir(parents=True, exist_ok=True)
    tree, part = folder / f"tree-{variant.name}", raw.with_suffix(".part")
    shutil.rmtree(tree, ignore_errors=True)
    run("cp", "-a", "--reflink=auto", base, tree)
    add_packages(variant, tree)
    kernel = sorted((tree / "boot").glob("vmlinuz-*"))[-1]
    kept = folder / f"kernel-{variant.suite}"
    kept.mkdir(exist_ok=True)
    shutil.copy(kernel, kept / "vmlinuz")
    shutil.copy(base / "boot" / kernel.name.replace("vmlinuz", "initrd.img"), kept / "initrd")
    write_disk(variant, tree, part)
    shutil.rmtree(tree)
    first = Machine(variant, folder / "first-boot" / variant.name, part, folder / "key", writes_image=True)
    try:
        first.start(kernel=(kept / "vmlinuz", kept / "initrd"), append=f"root=UUID={ROOT_UUID} rw console=ttyS0 quiet {PATIENT}")
        first.wait()
        install_loader(variant, first)
        first.power_off()
    finally:
        first.cut_power()
    if variant.efi:
        shutil.copy(first.variables, pathlib.Path(str(raw) + ".vars"))
    part.rename(raw)
    return raw
