#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The distribution's own initramfs tools against our reader: real_initramfs_test.py BIN_DIR TOOL

TOOL is "initramfs-tools" or "dracut". It runs in a scratch root made of this system's programs, mounted read-only,
and of a /boot, /etc and /lib/modules of its own; nothing of this system is written. Exit 77: the tool or the right to
make such a root is missing here.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
VERSION = "6.99.0-headroom"
CONF = "/etc/modprobe.d/ttm.conf"
FIRST = "# the limit\noptions ttm pages_limit=27648000\n"
EARLY = "kernel/firmware/acpi/headroom.aml"
SECOND = "options ttm pages_limit=31457280 page_pool_size=31457280\n"
ETC = ["alternatives", "dracut.conf", "dracut.conf.d", "group", "initramfs-tools", "ld.so.cache", "ld.so.conf",
       "ld.so.conf.d", "nsswitch.conf", "passwd", "udev"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def run(*words, **how):
    return subprocess.run(words, capture_output=True, text=True, **how)


# Inside the namespace: mounts, and the command in the root.

def mount(source, target, read_only=True):
    done = run("mount", "--rbind", str(source), str(target))
    if done.returncode:
        sys.exit(f"mount {source}: {done.stderr}")
    # A user who is root only in the namespace may not change this system's files in any case.
    if read_only and run("mount", "-o", "remount,bind,ro", str(target)).returncode and "HEADROOM_IS_ROOT" in os.environ:
        sys.exit(f"mount {source}: cannot be made read-only")


def mirror(source, target, own=()):
    """Everything in `source` but the names in `own` appears in `target`."""
    for entry in sorted(source.iterdir()):
        place = target / entry.name
        if entry.name in own:
            continue
        if entry.is_symlink():
            if not place.is_symlink():
                place.symlink_to(os.readlink(entry))
        elif entry.is_dir():
            place.mkdir(exist_ok=True)
            mount(entry, place)
        elif entry.is_file():
            place.touch()
            mount(entry, place)


def inside(root, command):
    run("mount", "--make-rprivate", "/")
    mirror(pathlib.Path("/usr"), root / "usr", own=("lib", "local"))
    mirror(pathlib.Path("/usr/lib"), root / "usr/lib", own=("modules",))
    for name in ("dev", "proc", "sys"):
        mount("/" + name, root / name, read_only=False)
    run("mount", "-t", "tmpfs", "none", str(root / "run"))  # dracut leaves the machine's files out without it.
    os.chroot(root)
    os.chdir("/")
    clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "TMPDIR": "/var/tmp"}
    os.execvpe(command[0], command, clean)


# Outside: what is done with it.

class ScratchRoot:
    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        (self.path / ".headroom-scratch-root").touch()
        modules = f"usr/lib/modules/{VERSION}"
        for name in ("boot", "dev", "proc", "sys", "run", "tmp", "root", "etc/modprobe.d", "etc/kernel", "usr/lib",
                     "var/tmp", "var/lib/initramfs-tools", "var/lib/dracut", modules):
            (self.path / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if pathlib.Path("/", name).is_symlink():
                (self.path / name).symlink_to(os.readlink("/" + name))
        for name in ETC:
            source = pathlib.Path("/etc", name)
            if source.is_dir():
                shutil.copytree(source, self.path / "etc" / name, symlinks=True)
            elif source.exists():
                shutil.copy(source, self.path / "etc" / name)
        self.write("/etc/fstab", "")
        self.write("/etc/os-release", 'ID=debian\nPRETTY_NAME="Scratch"\n')
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            self.write(f"/{modules}/{name}", "")
        self.write(f"/boot/vmlinuz-{VERSION}", "")
        self.write(f"/boot/config-{VERSION}", "CONFIG_RD_ZSTD=y\nCONFIG_RD_GZIP=y\nCONFIG_RD_LZ4=y\nCONFIG_RD_XZ=y\n"
                                              "CONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\nCONFIG_ACPI_TABLE_UPGRADE=y\n")
        self.write("early/" + EARLY, "not a real table\n")
        # A part in front that is not compressed, as microcode is.
        self.write("/etc/acpi/" + EARLY.rsplit("/", maxsplit=1)[1], "not a real table\n")
        with open(self.path / "etc/acpi/early.cpio", "wb") as archive:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=self.path / "early", stdout=archive,
                           input=(EARLY + "\n").encode(), check=True)
        hook = self.path / "etc/initramfs-tools/hooks/headroom-early"
        hook.parent.mkdir(parents=True, exist_ok=True)
        hook.write_text("#!/bin/sh\n[ \"$1\" = prereqs ] && exit 0\n. /usr/share/initramfs-tools/hook-functions\n"
                        "prepend_earlyinitramfs /etc/acpi/early.cpio\n")
        hook.chmod(0o755)
        run("depmod", "-b", str(self.path), VERSION)

    def write(self, path, text):
        file = self.path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def execute(self, *command):
        rooted = os.geteuid() == 0
        environment = {**os.environ, **({"HEADROOM_IS_ROOT": "1"} if rooted else {})}
        return run("unshare", *([] if rooted else ["--map-root-user", "--map-auto"]), "--mount", sys.executable, __file__,
                   "--inside", str(self.path), *command, env=environment, timeout=500)


class Test:
    def __init__(self, bin_dir, root):
        self.reader = str(pathlib.Path(bin_dir) / "initramfs_reader")
        self.root = root
        self.failures = 0

    def ask(self, verb, image, *more):
        return run(self.reader, verb, str(self.root.path), image, *more)

    def expect(self, holds, what):
        print(("ok:     " if holds else "failed: ") + what)
        self.failures += not holds

    def make(self, command):
        done = self.root.execute(*command)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")

    def is_held(self, how, image, make):
        """Makes the image with the file in place; our reader must find it."""
        self.root.write(CONF, FIRST)
        self.make(make)
        names = self.ask("list", image)
        listed = names.stdout.splitlines()
        self.expect(names.returncode == 0 and CONF[1:] in listed,
                    f"{how}: {len(listed)} names, {CONF} among them {names.stderr}")
        self.expect(EARLY in listed, f"{how}: the names of the part in front too")
        held = self.ask("read", image, CONF)
        self.expect((held.returncode, held.stdout) == (0, FIRST), f"{how}: the file's bytes are found")
        self.expect(self.ask("read", image, "/etc/modprobe.d/other.conf").returncode == 1,
                    f"{how}: another file is not")

    def change_is_seen(self, how, image, make, remake):
        """Makes the image, changes the file, makes the image again; our reader must see each."""
        self.is_held(how, image, make)
        self.expect(self.ask("expect", image, CONF).returncode == 0, f"{how}: the image is as the machine")
        self.root.write(CONF, SECOND)
        stale = self.ask("expect", image, CONF)
        self.expect(stale.returncode == 1 and "an older copy" in stale.stderr, f"{how}: the old copy is seen")
        self.make(remake)
        self.expect(self.ask("expect", image, CONF).returncode == 0, f"{how}: made again, it is right")
        (self.root.path / image.lstrip("/")).unlink()

    def initramfs_tools(self):
        image = f"/boot/initrd.img-{VERSION}"
        make = ("mkinitramfs", "-c", "zstd" if shutil.which("zstd") else "gzip", "-o", image, VERSION)
        if shutil.which("update-initramfs"):
            self.change_is_seen("update-initramfs", image, ("update-initramfs", "-c", "-k", VERSION),
                                ("update-initramfs", "-u", "-k", VERSION))
        else:
            print("skipped: update-initramfs is not installed, only what it runs")
        self.change_is_seen("mkinitramfs", image, make, make)
        if shutil.which("lz4"):
            self.is_held("mkinitramfs, lz4", image, ("mkinitramfs", "-c", "lz4", "-o", image, VERSION))

    def dracut(self):
        image = f"/boot/initramfs-{VERSION}.img"
        self.root.write("/etc/dracut.conf.d/headroom.conf", 'acpi_override="yes"\nacpi_table_dir="/etc/acpi"\n')

        def make(mode, *more):
            return ("dracut", "--force", mode, "--no-hostonly-cmdline", "--no-hostonly-default-device",
                    "--modules", "base kernel-modules", *more, image, VERSION)

        own = make("--hostonly", "--zstd" if shutil.which("zstd") else "--gzip")
        self.change_is_seen("dracut", image, own, own)
        if shutil.which("lz4"):
            self.is_held("dracut, lz4", image, make("--hostonly", "--lz4"))
        # An image for any machine leaves this machine's settings out, and dracut does not say so.
        self.make(make("--no-hostonly", "--gzip"))
        left_out = self.ask("expect", image, CONF)
        self.expect(left_out.returncode == 1 and "does not hold it" in left_out.stderr,
                    "dracut --no-hostonly: that it leaves the file out is seen")


def main():
    if sys.argv[1] == "--inside":
        inside(pathlib.Path(sys.argv[2]), sys.argv[3:])
    bin_dir, tool = sys.argv[1:3]
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    program = {"initramfs-tools": "mkinitramfs", "dracut": "dracut"}[tool]
    if not shutil.which(program):
        skip(f"{program} is not installed (Debian: apt install {program.replace('mkinitramfs', 'initramfs-tools')}-core)")
    if not pathlib.Path("/bin").is_symlink():
        skip("/bin is not a link to /usr/bin")
    with tempfile.TemporaryDirectory(prefix="headroom-initramfs-") as folder:
        root = ScratchRoot(folder)
        tried = root.execute("true")
        if tried.returncode:
            skip(f"no scratch root can be made here; it needs root, or newuidmap and /etc/subuid: {tried.stderr.strip()}")
        test = Test(bin_dir, root)
        getattr(test, tool.replace("-", "_"))()
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
