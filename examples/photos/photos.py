#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small photo service, built like those that people run: a master that starts a worker and starts it again when it
dies, and a model that is loaded by the first real request. What it does beside that, photos.conf says.

usage: photos.py PHOTOS.conf [FOLDER_OF_A_MACHINE]

Of the GPU it uses nothing. With a folder that mirrors a machine, it appears there as KFD would list it.
"""
import http.server
import json
import os
import pathlib
import socket
import socketserver
import sys
import threading
import time

CRITICAL = ("Memory critical error by agent node-0 (Agent handle: 0x7fc7f1d9a5e0) on address 0x7fc846a02000. "
            "Reason: Memory in use.")


def read_settings(path):
    settings = {"port": "3003", "device": "cpu", "work_ms": "40", "load_ms": "200", "model": "good",
                "limit_mib": "256"}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            key, value = line.split("=", 1)
            settings[key.strip()] = value.strip()
    return settings


def log(text):
    print(text, flush=True)


class Model:
    """Loaded by the first request that needs it."""

    def __init__(self, settings, machine):
        self.settings, self.machine = settings, machine
        self.lock = threading.Lock()
        self.loaded = False
        self.kept = []

    def load(self):
        with self.lock:
            if self.loaded:
                return
            log("INFO     Loading facial recognition model 'buffalo_l' to memory")
            time.sleep(int(self.settings["load_ms"]) / 1000)
            if self.settings["model"] == "crash":
                log(CRITICAL)
                os.abort()
            if self.settings["device"] == "gpu" and self.settings["model"] != "silently-cpu":
                self.take_gpu()
            self.loaded = True

    def take_gpu(self):
        if not self.machine:
            return
        folder = pathlib.Path(self.machine, "sys/class/kfd/kfd/proc", str(os.getpid()))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "vram_5001").write_text(f"{600 << 20}\n", encoding="ascii")
        (folder / "sdma_5001").write_text("250000\n", encoding="ascii")

    def answer(self):
        self.load()
        kind = self.settings["model"]
        if kind == "hang":
            time.sleep(3600)
        if kind == "leak":
            self.leak()
        work_ms = int(self.settings["work_ms"])
        time.sleep(work_ms / 1000 if kind != "slower" else 3 * work_ms / 1000)
        score = 0.98 if kind != "wrong" else 0.12
        return {"faces": [{"box": [12, 30, 96, 118], "score": score}], "model": "buffalo_l", "took_ms": work_ms}

    def leak(self):
        with self.lock:
            taken = sum(len(piece) for piece in self.kept) >> 20
            if taken >= int(self.settings["limit_mib"]):
                raise MemoryError(f"out of memory: {taken} MiB of {self.settings['limit_mib']} MiB")
            piece = bytearray(16 << 20)
            piece[::4096] = b"x" * len(piece[::4096])  # Every page is written, so that it counts.
            self.kept.append(piece)


class Handler(http.server.BaseHTTPRequestHandler):
    model = None

    def do_GET(self):
        self.reply({"status": "pong"} if self.path == "/ping" else self.model.answer())

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.reply(self.model.answer())

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def serve(listener, settings, machine):
    """A worker's whole life."""
    Handler.model = Model(settings, machine)
    server = Server(listener.getsockname(), Handler, bind_and_activate=False)
    server.socket = listener
    log("INFO     Application startup complete.")
    if settings["model"] == "leak":
        threading.Thread(target=leak_on, args=(Handler.model,), daemon=True).start()
    server.serve_forever()


def leak_on(model):
    """A cache that nobody empties goes on to grow when nobody asks any more."""
    while True:
        time.sleep(0.1)
        if model.loaded:
            try:
                model.leak()
            except MemoryError as problem:
                log(f"MemoryError: {problem}")
                os._exit(1)


def main():
    settings = read_settings(sys.argv[1])
    machine = sys.argv[2] if len(sys.argv) > 2 else ""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(settings["port"])))
    listener.listen(64)
    log(f"INFO     Listening at: http://127.0.0.1:{settings['port']} ({os.getpid()})")
    while True:
        worker = os.fork()
        if worker == 0:
            serve(listener, settings, machine)
            os._exit(0)
        log(f"INFO     Booting worker with pid: {worker}")
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        log(f"ERROR    Worker (pid:{worker}) was sent code {code if code >= 0 else 128 - code}!")
        time.sleep(0.5)


if __name__ == "__main__":
    main()
