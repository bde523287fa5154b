# SPDX-License-Identifier: Apache-2.0
"""What a process holds of the machine's memory, by the kernel's count (proc(5)): the peak on a processor, where frameworks count nothing."""


def field(name):
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) << 10
    return 0


class Resident:
    """Counts what came since it was made."""

    source = "the process's resident memory"

    def __init__(self):
        self.begin = field("VmRSS")
        self.restart()

    @staticmethod
    def restart():
        """Forgets the highest value so far, where the kernel lets us."""
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
        except OSError:
            pass

    def peak(self):
        return max(0, field("VmHWM") - self.begin)

    def live(self):
        return max(0, field("VmRSS") - self.begin)
