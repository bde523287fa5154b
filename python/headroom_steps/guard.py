# SPDX-License-Identifier: Apache-2.0
"""In a container, whose processes are no children of who started it: they end when standard input does, which headroom holds open.

The first process stays here and the steps go on in a child, so that no framework that hangs can keep it from looking. When the first process
of a container ends, the kernel ends all the others (pid_namespaces(7)).
"""
import os
import select
import signal
import sys

PAUSE_S = 0.2


def is_ended(descriptor):
    if not select.select([descriptor], [], [], PAUSE_S)[0]:
        return False
    try:
        return os.read(descriptor, 4096) == b""
    except BlockingIOError:
        return False


def guard():
    """Returns in the child; its parent ends with the code that a shell would give."""
    child = os.fork()
    if child == 0:
        return
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
        try:
            if is_ended(sys.__stdin__.fileno()):
                os.kill(child, signal.SIGKILL)
                os._exit(128 + signal.SIGKILL)
        except (OSError, ValueError, AttributeError):  # There never was a standard input.
            os.kill(child, signal.SIGKILL)
            os._exit(128 + signal.SIGKILL)
