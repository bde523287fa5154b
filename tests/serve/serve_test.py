#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom serve on real sockets: what it answers, to whom, and that nobody keeps the others waiting.

    serve_test.py FOLDER_OF_PROGRAMS

`promtool` looks over the metrics where it is installed.
"""
import contextlib
import http.client
import json
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"
TOKEN = "token-of-the-tests-0123"


class Server:
    """headroom serve of a test machine, on a port that was free."""

    def __init__(self, folder, *options):
        self.run = subprocess.Popen([PROGRAMS / "headroom", "serve", "--listen", "127.0.0.1:0", "--interval", "1",
                                     "--root", folder, *options], stderr=subprocess.PIPE, text=True)
        line = self.run.stderr.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])
        self.wait_for_a_look()

    def get(self, path, method="GET", headers=None, timeout=10):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)) as connection:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

    def ticks(self):
        """Processor time so far, in hundredths of a second."""
        return sum(map(int, pathlib.Path(f"/proc/{self.run.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))

    def wait_for_a_look(self):
        headers = {"Authorization": "Bearer " + TOKEN}
        for _ in range(100):
            if self.get("/live.json", headers=headers)[0] == 200:
                return
            time.sleep(0.05)
        raise AssertionError("no look in 5 s")

    def end(self, number=signal.SIGTERM):
        if self.run.poll() is None:
            self.run.send_signal(number)
        self.run.wait(timeout=20)
        self.run.stderr.close()
        return self.run.returncode


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.machine = pathlib.Path(cls.scratch.name, "machine")
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "kfd-leak.toml", cls.machine], check=True)
        cls.server = Server(cls.machine)

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        cls.scratch.cleanup()

    def test_metrics_are_what_prometheus_expects(self):
        status, headers, text = self.server.get("/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        names = re.findall(r"^# TYPE (\S+) ", text, re.M)
        self.assertEqual(len(names), len(set(names)), "a family comes twice")
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) headroom_\w+ .+|headroom_\w+(\{.*\})? [0-9.e+-]+)$")
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_page_needs_nothing_from_elsewhere(self):
        status, headers, text = self.server.get("/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotRegex(text, r"(src|href)=\"(?!/|data:,)")

    def test_events_come_again_and_again(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as reader:
            reader.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while text.count(b"data: {") < 3:
                text += reader.recv(65536)
        event = re.search(rb"data: (\{.*\})\n", text)[1]
        self.assertEqual(json.loads(event)["schema"], "headroom.live/1")

    def test_health(self):
        status, _, text = self.server.get("/healthz")
        self.assertEqual((status, text.split(":")[0]), (200, "limited"))

    def test_nothing_but_reading(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            self.assertIn(self.server.get("/metrics", method)[0], (400, 405, 501), method)
        self.assertEqual(self.server.get("/metrics", "HEAD")[2], "")
        self.assertEqual(self.server.get("/../../etc/passwd")[0], 404)

    def test_another_sites_name_is_refused(self):
        self.assertEqual(self.server.get("/live.json", headers={"Host": "evil.example"})[0], 403)

    def test_garbage_and_silence_keep_nobody_waiting(self):
        silent = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(50)]
        half = socket.create_connection(("127.0.0.1", self.server.port))
        half.sendall(b"GET /metr")
        for garbage in (b"\0" * 4096, b"GET " + b"a" * 100000, b"GET / HTTP/9.9\r\n\r\n",
                        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 65536):
            with socket.create_connection(("127.0.0.1", self.server.port)) as bad:
                try:
                    bad.sendall(garbage)
                except OSError:
                    pass
        self.assertEqual(self.server.get("/metrics", timeout=5)[0], 200)
        for one in [*silent, half]:
            one.close()
        self.assertIsNone(self.server.run.poll())

    def test_a_reader_who_never_reads_is_let_go(self):
        lazy = socket.create_connection(("127.0.0.1", self.server.port))
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        gone = socket.create_connection(("127.0.0.1", self.server.port))
        gone.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # Ends by a reset.
        gone.close()
        time.sleep(2.5)  # Two events go to both.
        self.assertEqual(self.server.get("/metrics", timeout=5)[0], 200)
        lazy.close()

    def test_pages_that_stay_open_have_a_limit(self):
        readers = []
        for _ in range(70):
            reader = socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
            reader.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            readers.append(reader)
        answers = [reader.recv(12) for reader in readers]
        self.assertIn(b"HTTP/1.1 503", answers)
        self.assertGreaterEqual(answers.count(b"HTTP/1.1 200"), 60)
        for reader in readers:
            reader.close()
        time.sleep(0.2)
        self.assertEqual(self.server.get("/metrics")[0], 200)


class Ways(unittest.TestCase):
    """One server each."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.machine = pathlib.Path(self.scratch.name, "machine")
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "apu-5600g.toml", self.machine], check=True)

    def serve(self, *words):
        return subprocess.run([PROGRAMS / "headroom", "serve", *words], capture_output=True, text=True, timeout=30)

    def test_token(self):
        file = pathlib.Path(self.scratch.name, "token")
        file.write_text(TOKEN + "\n")
        server = Server(self.machine, "--token-file", file)
        self.addCleanup(server.end)
        self.assertEqual(server.get("/metrics")[0], 401)
        self.assertEqual(server.get("/metrics", headers={"Authorization": "Bearer nonsense-nonsense"})[0], 401)
        self.assertEqual(server.get("/metrics", headers={"Authorization": "Bearer " + TOKEN})[0], 200)
        status, headers, _ = server.get("/?token=" + TOKEN)
        self.assertEqual((status, headers["Location"]), (303, "/"))
        cookie = headers["Set-Cookie"].split(";")[0]
        self.assertEqual(server.get("/", headers={"Cookie": cookie})[0], 200)

    def test_others_need_a_token(self):
        done = self.serve("--listen", "0.0.0.0:0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--token-file", done.stderr)

    def test_a_port_that_is_taken(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            done = self.serve("--listen", f"127.0.0.1:{other.getsockname()[1]}")
        self.assertEqual(done.returncode, 3)
        self.assertIn("found another program there", done.stderr)

    def test_text_file_is_whole_at_every_moment(self):
        file = pathlib.Path(self.scratch.name, "headroom.prom")
        done = self.serve("--once", "--textfile", file, "--root", self.machine)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertTrue(file.read_text().endswith("\n"))
        self.assertEqual([path.name for path in file.parent.iterdir() if path.name.startswith("headroom")], [file.name])
        self.assertEqual(self.serve("--once", "--textfile", "/dev/full", "--root", self.machine).returncode, 2)

    def test_a_signal_ends_it_although_somebody_reads(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Server(self.machine)
            reader = socket.create_connection(("127.0.0.1", server.port))
            reader.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reader.recv(100)
            self.assertEqual(server.end(number), 0)
            reader.close()

    def test_a_machine_on_which_no_job_runs_is_not_healthy(self):
        folder = pathlib.Path(self.scratch.name, "broken")
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "driver-not-loaded.toml", folder], check=True)
        server = Server(folder)
        self.addCleanup(server.end)
        status, _, text = server.get("/healthz")
        self.assertEqual((status, text.split(":")[0]), (503, "broken"))

    def test_a_machine_that_goes_away(self):
        server = Server(self.machine)
        self.addCleanup(server.end)
        shutil.rmtree(self.machine)
        for _ in range(100):
            status, _, text = server.get("/healthz")
            if text.startswith("unknown"):
                break
            time.sleep(0.05)
        self.assertEqual(status, 503)
        text = server.get("/metrics")[2]
        self.assertRegex(text, r"\nheadroom_look_failures_total [1-9]")
        self.assertRegex(text, r"\nheadroom_look_timestamp_seconds [1-9]")
        self.assertIn('headroom_verdict{verdict="unknown"} 1', text)
        self.assertIn("error", json.loads(server.get("/live.json")[2]))
        subprocess.run([PROGRAMS / "fake_machine", MACHINES / "apu-5600g.toml", self.machine], check=True)
        for _ in range(100):
            if not server.get("/healthz")[2].startswith("unknown"):
                return
            time.sleep(0.05)
        self.fail("a folder that is there again is not found again")

    def test_out_of_descriptors_it_waits_quietly(self):
        server = Server(self.machine)
        resource.prlimit(server.run.pid, resource.RLIMIT_NOFILE, (40, 40))
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
        before = server.ticks()
        time.sleep(2)
        self.assertLess(server.ticks() - before, 60, "it tries to accept without a rest")
        for one in crowd:
            one.close()
        time.sleep(1.5)
        self.assertEqual(server.get("/metrics", timeout=10)[0], 200)
        server.run.terminate()
        self.assertLess(server.run.stderr.read().count("\n"), 5, "it says the same again and again")
        server.end()

    def test_an_interval_that_is_no_number(self):
        for interval in ("nan", "0", "inf", "-1", "5s"):
            done = self.serve("--once", "--interval", interval)
            self.assertEqual(done.returncode, 2, interval)


if __name__ == "__main__":
    unittest.main()
