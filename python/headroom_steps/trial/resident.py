# SPDX-License-Identifier: Apache-2.0
"""What a process holds of the machine's memory, by the kernel's count (proc(5)): the peak on a processor, where frameworks count nothing."""
import resource


def field(name):
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) << 10
    return 0


def available():
    """What the machine can still give, or a process's own limit where that is less; None where it is not known."""
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = [int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")]
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return min(sizes + ([soft] if soft != resource.RLIM_INFINITY else []), default=None)


def go_first():
    """Where memory runs out all the same, the kernel is to end this process and not what else runs here."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


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
