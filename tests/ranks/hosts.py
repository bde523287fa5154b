# SPDX-License-Identifier: Apache-2.0
"""Two machines that are none: network, host name and /etc/hosts of their own, joined by a cable (veth). Processes in them see
each other over the network alone, as far as PyTorch and MPI are concerned."""
import pathlib
import shutil
import subprocess
import time

NAMES = ("one", "two")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
SETUP = """
hostname {name}
mount --bind {hosts} /etc/hosts
ip link set lo up
ip link set dev {link} name wire
ip address add {address}/24 dev wire
ip link set wire up
"""
AGENT = """#!/bin/sh
host=$1; shift
case $host in {cases} *) exit 1;; esac
exec nsenter -t $pid -n -u -m -- sh -c "$*"
"""


class Host:
    """One of them; `pid` holds its namespaces."""

    def __init__(self, name, address):
        self.name, self.address = name, address
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--propagation", "private", "sleep", "infinity"])
        self.pid = self.holder.pid

    def words(self, folder, *command):
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-m", f"--wd={folder}", "--", *map(str, command)]

    def cut_off(self):
        subprocess.run(self.words("/", "ip", "link", "set", "wire", "down"), check=True)


class Hosts:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.hosts = [Host(name, address) for name, address in zip(NAMES, ADDRESSES)]
        try:
            self.join()
        except Exception:
            self.close()
            raise

    def join(self):
        file = self.folder / "hosts"
        file.write_text("127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in self.hosts))
        own = pathlib.Path("/proc/self/ns/net").readlink()
        deadline = time.monotonic() + 10
        while any(pathlib.Path(f"/proc/{host.pid}/ns/net").readlink() == own for host in self.hosts):
            if time.monotonic() > deadline:
                raise OSError("no namespace of its own")
            time.sleep(0.01)
        one, two = self.hosts
        subprocess.run(["ip", "link", "add", "hr-one", "netns", str(one.pid), "type", "veth", "peer", "name", "hr-two", "netns",
                        str(two.pid)], check=True, capture_output=True)
        for host in self.hosts:
            script = SETUP.format(name=host.name, hosts=file, address=host.address, link=f"hr-{host.name}")
            subprocess.run(host.words("/", "sh", "-ec", script), check=True, capture_output=True)

    def agent(self):
        """What mpirun may use in the place of ssh."""
        path = self.folder / "agent"
        path.write_text(AGENT.format(cases=" ".join(f"{host.address}) pid={host.pid};;" for host in self.hosts)))
        path.chmod(0o755)
        return path

    def close(self):
        for host in self.hosts:
            host.holder.kill()
            host.holder.wait()


def missing():
    """Why there can be no such machines here, or nothing."""
    for program in ("unshare", "nsenter", "ip"):
        if not shutil.which(program):
            return f"{program} is not there"
    tried = subprocess.run(["unshare", "--net", "--uts", "--mount", "ip", "link", "add", "hr-try", "type", "veth", "peer", "name",
                            "hr-tried"], capture_output=True, text=True)
    return f"no machines of network namespaces: {tried.stderr.strip()}" if tried.returncode else None
