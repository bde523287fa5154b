# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that boots through its own boot loader, and is spoken to over ssh."""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from lab import FIRMWARE, run

PR_SET_PDEATHSIG = 1
BOOT_LIMIT = 900  # Seconds. Emulated on a busy machine a boot takes minutes.


class Trouble(Exception):
    """The machine did not do what it was told."""


def accelerator():
    """KVM where a stock kernel runs under it. Under pvm (a guest that nests) it does not, and everything is emulated."""
    nested = pathlib.Path("/sys/module/kvm_pvm").exists()
    if os.access("/dev/kvm", os.R_OK | os.W_OK) and not nested:
        return ["-accel", "kvm", "-cpu", "host", "-smp", "2"]
    # One processor: Linux patches its own code (int3, then the new bytes), and with two, QEMU 7.2 ran a stale int3: a kernel panic.
    # An old one: "max" has vector units and page tables of five levels, and takes twice as long to boot.
    return ["-accel", "tcg,tb-size=1024", "-cpu", "Nehalem", "-smp", "1"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def dies_with_us():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """Its disk lies over `image`, and so do its EFI variables; both in `folder`. With `writes_image` it writes the image itself."""

    def __init__(self, variant, folder, image, key, *, ram=24, writes_image=False):
        self.variant, self.folder, self.key, self.ram = variant, folder, key, ram
        folder.mkdir(parents=True, exist_ok=True)
        self.disk, self.form = image, "raw"
        self.variables = folder / "variables.qcow2"
        self.serial = folder / "serial.log"
        self.process, self.port, self.boot = None, 0, ""
        if not writes_image:
            self.disk, self.form = folder / "disk.qcow2", "qcow2"
            self.disk.unlink(missing_ok=True)
            run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", image.resolve(), self.disk)
        if variant.efi:
            kept = pathlib.Path(str(image) + ".vars")
            if kept.exists():
                shutil.copy(kept, self.variables)
            else:
                run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", FIRMWARE / "OVMF_VARS_4M.fd", self.variables)
        self.serial.write_bytes(b"")

    def words(self):
        words = ["qemu-system-x86_64", *accelerator(), "-m", f"{self.ram}G",
                 # Its pages are taken when it touches them: it may have more RAM than is free here.
                 "-object", f"memory-backend-ram,id=ram,size={self.ram}G,reserve=off", "-machine", "memory-backend=ram",
                 "-display", "none", "-vga", "std",
                 "-drive", f"file={self.disk},format={self.form},if=virtio,cache=writeback,discard=unmap",
                 "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22",
                 "-device", "virtio-net-pci,netdev=net", "-device", "virtio-rng-pci",
                 "-device", "pci-testdev,addr=0x1c",  # Where the pretended GPU is.
                 "-chardev", f"file,id=serial,path={self.serial},append=on", "-serial", "chardev:serial",
                 "-monitor", f"unix:{self.folder}/monitor,server,nowait"]
        if self.variant.efi:
            words += ["-drive", f"if=pflash,format=raw,readonly=on,file={FIRMWARE}/OVMF_CODE_4M.fd",
                      "-drive", f"if=pflash,format=qcow2,file={self.variables}"]
        return words

    def start(self, *, kernel=None, append="", state=None):
        """`kernel`: kernel and initramfs to boot in place of the boot loader's. `state`: what save() kept, to go on from."""
        self.port = free_port()
        words = self.words() + (["-loadvm", state] if state else [])
        if kernel:
            words += ["-kernel", str(kernel[0]), "-initrd", str(kernel[1]), "-append", append]
        with open(self.folder / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                            preexec_fn=dies_with_us)

    def ssh_words(self):
        return ["ssh", "-q", "-i", str(self.key), "-p", str(self.port), "-o", "StrictHostKeyChecking=no",
                "-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=20", "-o", "LogLevel=ERROR", "root@127.0.0.1"]

    def ssh(self, command, limit=600, **how):
        """The command's exit code and what it printed, both streams. `limit` in seconds."""
        done = subprocess.run([*self.ssh_words(), command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
                              check=False, **({"stdin": subprocess.DEVNULL} | how))
        text = done.stdout.decode(errors="replace")
        with open(self.folder / "commands.log", "a", encoding="utf-8") as log:
            log.write(f"$ {command}\n{text}[exit {done.returncode}]\n\n")
        return done.returncode, text

    def must(self, command, limit=600):
        code, text = self.ssh(command, limit)
        if code != 0:
            raise Trouble(f"{command}: exit {code}\n{text[-2000:]}")
        return text

    def put(self, source, target, mode="644"):
        with open(source, "rb") as file:
            code, text = self.ssh(f"cat > {target} && chmod {mode} {target}", stdin=file)
        if code != 0:
            raise Trouble(f"{target}: {text}")

    def is_on(self):
        return self.process is not None and self.process.poll() is None

    def boot_id(self):
        try:
            code, text = self.ssh("cat /proc/sys/kernel/random/boot_id", 30)
        except subprocess.TimeoutExpired:
            return ""
        return text.strip() if code == 0 else ""

    def wait(self, limit=BOOT_LIMIT):
        """Until another boot than the last answers and has finished starting. The seconds it took."""
        begun = time.monotonic()
        while time.monotonic() - begun < limit:
            if not self.is_on():
                raise Trouble("qemu ended: " + (self.folder / "qemu.log").read_text(errors="replace")[-500:])
            boot = self.boot_id()
            if boot and boot != self.boot:
                self.boot = boot
                self.ssh("systemctl is-system-running --wait", limit)
                return time.monotonic() - begun
            time.sleep(1)
        raise Trouble(f"no answer in {limit} s; the serial console ends: "
                      + self.serial.read_text(errors="replace")[-1500:])

    def see_kernel_start(self, begin, limit=BOOT_LIMIT):
        """Until the boot loader has started a kernel; `begin`: where its words begin in the serial console's file."""
        begun = time.monotonic()
        while time.monotonic() - begun < limit:
            said = self.serial.read_bytes()[begin:]
            if any(word in said for word in (b"Loading initial ramdisk", b"EFI stub", b"Linux version")):
                time.sleep(3)
                return
            if b"Boot in 1 s" in said:  # systemd-boot, under which Linux 6.1 says nothing.
                time.sleep(15)
                return
            time.sleep(0.3)
        raise Trouble(f"no kernel was started in {limit} s")

    def reboot(self):
        self.ask_for("reboot")
        return self.wait()

    def ask_for(self, what):
        """systemctl WHAT, of which the answer may not come."""
        try:
            self.ssh(f"systemctl {what}", 60)
        except subprocess.TimeoutExpired:
            pass

    def cut_power(self):
        """Nothing that was not on the disk is there afterwards; what the host has in its cache is."""
        if self.is_on():
            self.process.kill()
            self.process.wait()

    def power_off(self, limit=300):
        self.ask_for("poweroff")
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.cut_power()

    def monitor(self, command, limit=300):
        """A command of qemu's monitor, and its answer."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(limit)
            line.connect(str(self.folder / "monitor"))
            answer = b""
            for prompts, words in ((1, b""), (2, command.encode() + b"\n")):
                line.sendall(words)
                while answer.count(b"(qemu)") < prompts:
                    answer += line.recv(65536)
            return answer.decode(errors="replace")

    def save(self, name):
        """The running machine with its memory, for start(state=name)."""
        answer = self.monitor(f"savevm {name}")
        if "Error" in answer:
            raise Trouble(answer)

    def go_back(self, name):
        """To what save() kept, in place of a boot."""
        self.cut_power()
        self.boot = ""
        self.start(state=name)
        self.wait(300)
        # The clock of the machine goes on from when it was saved.
        self.must(f"date -s @{int(time.time())}")
