# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of one method, listens to them, and ends all of them: when they are done, when one dies, and when none moves any more.

A rank says where it is in lines of JSON on its standard output. Its standard error is this process's, where headroom reads along.
"""
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time

from headroom_steps.protocol import PREFIX, failed, say

PR_SET_PDEATHSIG = 1
LAST_WORDS_S = 5  # When one rank has died, the others may say why.


def die_with_parent():
    """In a rank: it ends when its parent does, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Listener:
    """One rank as its parent sees it."""

    def __init__(self, number, device, process):
        self.number, self.device, self.process = number, device, process
        self.at, self.rest, self.result, self.is_open = "starting", b"", None, True
        self.code = None  # As a process; None: it did not end by itself.

    def name(self):
        return f"rank {self.number} ({self.device})"

    def hear(self):
        """Whether it said something that moves it on."""
        piece = os.read(self.process.stdout.fileno(), 65536)
        self.is_open = bool(piece)
        lines = (self.rest + piece).split(b"\n")
        self.rest = lines.pop()[-65536:]
        told = [json.loads(line[len(PREFIX):]) for line in lines if line.startswith(PREFIX.encode())]
        for one in told:
            self.at = one.get("at", self.at)
            self.result = one.get("result", self.result)
        return bool(told)


class Ranks:
    def __init__(self, options, method, devices):
        self.options, self.method, self.devices = options, method, devices
        self.listeners = []

    def start(self, folder):
        program = os.path.dirname(os.path.abspath(__file__))
        for number, device in enumerate(self.devices):
            words = [sys.executable, "-B", program, "rank", self.options.framework, device, self.method, "--backend", self.options.backend,
                     "--rank", str(number), "--world", str(len(self.devices)), "--store", os.path.join(folder, "store")]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.listeners.append(Listener(number, device, process))

    def run(self):
        """What the step says. Ends this process as a rank was ended by a signal or a fault, so that headroom finds the cause."""
        with tempfile.TemporaryDirectory(prefix="headroom-ranks-") as folder:
            try:
                self.start(folder)
                is_hung = self.listen()
            finally:
                for one in self.listeners:
                    one.code = one.process.poll()
                    one.process.kill()
                for one in self.listeners:
                    one.process.wait()
        if is_hung:
            waiting = ", ".join(f"{one.name()} waits at: {one.at}" for one in self.listeners if one.is_open)
            return failed(f"nothing moved for {self.options.seconds:g} s; {waiting}", kind="stuck")
        wrong = [one.result for one in self.listeners if one.result and one.result["ok"] is False]
        if wrong:
            return wrong[0]
        self.end_as_the_dead()
        return self.listeners[0].result

    def listen(self):
        """Whether nothing moved for too long. Returns when all have ended, or one has without a result."""
        selector = selectors.DefaultSelector()
        for one in self.listeners:
            selector.register(one.process.stdout, selectors.EVENT_READ, one)
        last, pause = time.monotonic(), self.options.seconds
        while any(one.is_open for one in self.listeners):
            for key, _ in selector.select(0.2):
                one = key.data
                if one.hear():
                    last = time.monotonic()
                    say(together={"at": f"rank {one.number}: {one.at}"})
                if not one.is_open:
                    selector.unregister(one.process.stdout)
            if any(not one.is_open and one.result is None for one in self.listeners):
                pause = LAST_WORDS_S
            if time.monotonic() - last > pause:
                return pause == self.options.seconds
        return False

    def end_as_the_dead(self):
        dead = [one for one in self.listeners if one.result is None]
        for one in sorted(dead, key=lambda one: one.code is None):
            print(f"{one.name()} ended at: {one.at}", file=sys.stderr, flush=True)
            if one.code is not None and one.code < 0:
                if one.code != -signal.SIGKILL:
                    signal.signal(-one.code, signal.SIG_DFL)
                os.kill(os.getpid(), -one.code)
            sys.exit(one.code or 1)
