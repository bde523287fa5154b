#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom tune against an exhaustive search, on the photo service of examples/photos.

    tune_photos.py BINARIES [--requests N] [--rounds N] [--tunings N] [--cores N] [--small]

Every combination of examples/photos/SERVICE.toml's [[tune]] is started, warmed up, asked N times with four requests under
way, and stopped, --rounds times; then the same service is tuned, --tunings times. Neither knows of the other. At the end the
three best of the exhaustive search and all that tune found are measured five times in turns. Exit code 1 if one of the latter
is more than 10 % slower than the best of the former, or took more than a tenth of the measurements (requests that are timed).
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[1]
AT_ONCE = 4


class Photos:
    def __init__(self, folder, cores):
        self.folder = pathlib.Path(folder, "photos")
        shutil.copytree(SOURCE / "examples/photos", self.folder)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.rest = f"port = {self.port}\n" + (f"cores = {cores}\n" if cores else "")
        self.environment = dict(os.environ, XDG_STATE_HOME=str(pathlib.Path(folder, "state")))

    def configure(self, settings):
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (self.folder / "photos.conf").write_text(lines + self.rest, encoding="utf-8")

    def call(self, what):
        subprocess.run([self.folder / "service.sh", what], check=False, stdout=subprocess.DEVNULL)

    def start(self):
        self.call("start")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=5).read()
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("the photo service did not start")

    def ask(self, _):
        began = time.monotonic()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/predict", b"{}", timeout=30).read()
        return (time.monotonic() - began) * 1000

    def measure(self, settings, requests):
        """What an item takes, as docs/tune.md says."""
        self.configure(settings)
        self.start()
        warm_up = AT_ONCE + 2 * (settings["workers"] - 1)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            times = list(pool.map(self.ask, range(warm_up + requests)))
        self.call("stop")
        return statistics.mean(times[warm_up:]) / AT_ONCE


def tune(photos, binaries, names):
    photos.configure({name: 1 for name in names})
    photos.start()
    done = subprocess.run([f"{binaries}/headroom", "tune", photos.folder / "SERVICE.toml", "--apply", "--json"],
                          env=photos.environment, capture_output=True, text=True, check=False)
    photos.call("stop")
    if not done.stdout:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binaries")
    options.add_argument("--requests", type=int, default=40)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--tunings", type=int, default=1)
    options.add_argument("--cores", type=int, default=0)
    options.add_argument("--small", action="store_true", help="48 combinations in place of 144")
    chosen = options.parse_args()
    values = {"workers": [1, 2, 3, 4, 6, 8], "threads": [1, 2, 3, 4, 6, 8], "batch": [1, 2, 4, 8]}
    if chosen.small:
        values = {"workers": [1, 2, 4, 8], "threads": [1, 2, 4, 8], "batch": [1, 2, 4]}
    points = [dict(zip(values, point)) for point in itertools.product(*values.values())]
    with tempfile.TemporaryDirectory() as folder:
        photos = Photos(folder, chosen.cores)
        began, every = time.monotonic(), {}
        for point in points * chosen.rounds:
            every.setdefault(tuple(point.values()), []).append(photos.measure(point, chosen.requests))
        took = time.monotonic() - began
        mean = {point: statistics.mean(times) for point, times in every.items()}
        order = sorted(mean, key=mean.get)
        print(f"exhaustive: {len(points)} settings, {len(points) * chosen.rounds} starts, "
              f"{len(points) * chosen.rounds * chosen.requests} requests timed, {took:.0f} s; "
              f"{sum(mean[point] <= 1.1 * mean[order[0]] for point in order)} settings are within 10 % of the best")
        for point in [*order[:5], order[-1]]:
            print(f"  {mean[point]:7.2f} ms  {dict(zip(values, point))}", flush=True)

        text = (photos.folder / "SERVICE.toml").read_text(encoding="utf-8")
        text = re.sub(r"repeat = \d+", f"repeat = {chosen.requests}", text.replace(":3003/", f":{photos.port}/"))
        if chosen.small:
            text = text.replace("[1, 2, 3, 4, 6, 8]", "[1, 2, 4, 8]").replace("[1, 2, 4, 8]\nrole = \"batch\"",
                                                                           "[1, 2, 4]\nrole = \"batch\"")
        (photos.folder / "SERVICE.toml").write_text(text, encoding="utf-8")
        found, share = [], 0
        for _ in range(chosen.tunings):
            began = time.monotonic()
            report = tune(photos, chosen.binaries, values)
            found.append(tuple(int(report["best"][name]) for name in values))
            share = max(share, report["measurements"] / (len(points) * chosen.requests))
            print(f"headroom tune: {report['outcome']}, {report['starts']} starts, {report['requests']} requests, "
                  f"{report['measurements']} timed ({share:.1%}), {time.monotonic() - began:.0f} s with the deployment")
            print(f"  {report['best_ms']:7.2f} ms  {report['best']} (before: {report['baseline_ms']:.2f} ms); number "
                  f"{order.index(found[-1]) + 1} of {len(order)} in the exhaustive list", flush=True)

        # Both searches saw the machine at different times, so those that they found are measured once more, in turns.
        duel = {point: [] for point in [*order[:3], *found]}
        for _ in range(5):
            for point, times in duel.items():
                times.append(photos.measure(dict(zip(values, point)), chosen.requests))
        medians = {point: statistics.median(times) for point, times in duel.items()}
        best = min(medians[point] for point in order[:3])
        worst = max(medians[point] / best for point in found)
        print("in turns, medians of 5: exhaustive " + ", ".join(f"{medians[point]:.2f}" for point in order[:3]) + " ms; tune " +
              ", ".join(f"{medians[point]:.2f} ({medians[point] / best - 1:+.1%})" for point in found))
    return 0 if worst <= 1.1 and share <= 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
