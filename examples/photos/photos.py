#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small photo service, built like those that people run: a master that starts a worker and starts it again when it
dies, and a model that is loaded by the first real request. What it does beside that, photos.conf says.

usage: photos.py PHOTOS.conf [FOLDER_OF_A_MACHINE] [--NAME VALUE …]

Of the GPU it uses nothing. With a folder that mirrors a machine, it appears there as KFD would list it.

With "threads" it serves as many requests at once as its settings allow: each of "workers" processes has that many
threads, and each thread computes up to "batch" requests that wait, in one call. What a request costs is waited for rather
than computed, so that the times are the same on a busy machine; what has to be shared is really shared:

  lock_ms    for each request, what only one thread of a worker does at a time
  call_ms    for each call, and item_ms for each request in it, on one of the cores, of which there are as many as the
             machine has, or "cores"
  crowd      how much slower each call is for every other one that is under way, as cores share their memory
  switch     how much slower it is for every thread there is beyond the cores
  model_mib  what each worker holds

A variable PHOTOS_NAME of the environment, or an option --NAME, stands for the setting of that name, whatever the file says.
"""
import http.server
import json
import multiprocessing
import os
import pathlib
import queue
import socket
import socketserver
import sys
import threading
import time

CRITICAL = ("Memory critical error by agent node-0 (Agent handle: 0x7fc7f1d9a5e0) on address 0x7fc846a02000. "
            "Reason: Memory in use.")


def read_settings(path):
    settings = {"port": "3003", "device": "cpu", "work_ms": "40", "load_ms": "200", "model": "good",
                "limit_mib": "256", "workers": "1", "threads": "0", "batch": "1", "cores": str(os.cpu_count()),
                "lock_ms": "2", "call_ms": "8", "item_ms": "12", "crowd": "0.06", "switch": "0.02", "model_mib": "16"}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            key, value = line.split("=", 1)
            settings[key.strip()] = value.strip()
    return {key: os.environ.get(f"PHOTOS_{key.upper()}", value) for key, value in settings.items()}


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
            if int(self.settings["threads"]):
                self.kept.append(filled(int(self.settings["model_mib"])))
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
            self.kept.append(filled(16))


def filled(mib):
    """Memory of which every page is written, so that it counts."""
    piece = bytearray(mib << 20)
    piece[::4096] = b"x" * len(piece[::4096])
    return piece


class Cores:
    """What all workers share: so many calls at once, and those under way slow each other down."""

    def __init__(self, settings):
        number = int(settings["cores"])
        beyond = max(0, int(settings["workers"]) * int(settings["threads"]) - number)
        self.free = multiprocessing.Semaphore(number)
        self.busy = multiprocessing.Value("i", 0)
        self.crowd = float(settings["crowd"])
        self.slower = 1 + beyond * float(settings["switch"])

    def compute(self, ms):
        with self.free:
            with self.busy.get_lock():
                self.busy.value += 1
                others = self.busy.value - 1
            time.sleep(ms * self.slower * (1 + others * self.crowd) / 1000)
            with self.busy.get_lock():
                self.busy.value -= 1


class Batches:
    """A model behind a queue, from which each thread takes what waits, up to a batch."""

    def __init__(self, model, cores):
        self.model, self.cores, self.settings = model, cores, model.settings
        self.waiting = queue.Queue()
        self.lock = threading.Lock()
        for _ in range(int(self.settings["threads"])):
            threading.Thread(target=self.work, daemon=True).start()

    def answer(self):
        done = queue.Queue()
        self.waiting.put(done)
        return done.get()

    def take(self):
        batch = [self.waiting.get()]
        while len(batch) < int(self.settings["batch"]):
            try:
                batch.append(self.waiting.get(timeout=0.002))
            except queue.Empty:
                break
        return batch

    def work(self):
        while True:
            batch = self.take()
            self.model.load()
            for _ in batch:
                with self.lock:
                    time.sleep(float(self.settings["lock_ms"]) / 1000)
            self.cores.compute(float(self.settings["call_ms"]) + len(batch) * float(self.settings["item_ms"]))
            for done in batch:
                done.put({"faces": [{"box": [12, 30, 96, 118], "score": 0.98}], "model": "buffalo_l", "took_ms": 0})


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
    slots = None

    def get_request(self):
        """Takes a connection only when there is a thread for it: the next worker may have one."""
        if self.slots:
            self.slots.acquire()
        return super().get_request()

    def shutdown_request(self, request):
        super().shutdown_request(request)
        if self.slots:
            self.slots.release()


def serve(listener, settings, machine, cores):
    """A worker's whole life."""
    Handler.model = Model(settings, machine)
    if int(settings["threads"]):
        Handler.model = Batches(Handler.model, cores)
        Server.slots = threading.Semaphore(int(settings["threads"]) * int(settings["batch"]))
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
    words = sys.argv[2:]
    machine = words.pop(0) if words and not words[0].startswith("--") else ""
    settings.update({name[2:].replace("-", "_"): value for name, value in zip(words[::2], words[1::2])})
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(settings["port"])))
    listener.listen(64)
    log(f"INFO     Listening at: http://127.0.0.1:{settings['port']} ({os.getpid()})")
    cores = Cores(settings)

    def boot():
        worker = os.fork()
        if worker == 0:
            serve(listener, settings, machine, cores)
            os._exit(0)
        log(f"INFO     Booting worker with pid: {worker}")

    for _ in range(int(settings["workers"])):
        boot()
    while True:
        worker, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        log(f"ERROR    Worker (pid:{worker}) was sent code {code if code >= 0 else 128 - code}!")
        time.sleep(0.5)
        boot()


if __name__ == "__main__":
    main()
