#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long scrapes of headroom serve take while it looks, and whether it grows.

    serve_scrapes.py FOLDER_OF_PROGRAMS MACHINE [SCRAPES]      MACHINE: as for headroom check --root
"""
import http.client
import pathlib
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

READERS = 4


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def scrape(port):
    begin = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    assert answer.status == 200
    return (time.perf_counter() - begin) * 1e3, size


def main():
    programs, machine, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    server = subprocess.Popen([programs / "headroom", "serve", "--listen", "127.0.0.1:0", "--interval", "1", "--root", machine],
                              stderr=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)/", server.stderr.readline())[1])
    pages = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]  # Live pages beside the scrapes.
    for page in pages:
        page.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(2)
    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(scrape, [port] * 100))
        before = resident_kib(server.pid)
        begin = time.monotonic()
        found = list(pool.map(scrape, [port] * count))
        seconds = time.monotonic() - begin
    times = sorted(ms for ms, _ in found)
    print(f"{count} scrapes of {found[0][1]} bytes by {READERS} readers in {seconds:.1f} s: median {times[count // 2]:.2f} ms, "
          f"p99 {times[count * 99 // 100]:.2f} ms, longest {times[-1]:.2f} ms")
    time.sleep(30)  # Thirty looks more.
    print(f"resident: {before} KiB after 100 scrapes, {resident_kib(server.pid)} KiB after these and 30 s more")
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main()
