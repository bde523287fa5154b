# SPDX-License-Identifier: Apache-2.0
"""Runs programs of this folder with headroom's allocator under the real PyTorch of `./dev venv`, on a GPU made of this machine's
memory. A test that imports this is called with SOURCE_FOLDER LIBHEADROOM_TORCH STAND_INS and unittest's own arguments."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

source, library, stand_ins = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
programs = pathlib.Path(__file__).resolve().parent / "programs"
python = source / "build" / "venv" / "bin" / "python"
ALL = os.environ.get("HEADROOM_TEST_ALL") == "1"


class OnFakeGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-fake-gpu-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words, timeout=600, **variables):
        """With a GPU of 512 MiB, unless the variables say otherwise."""
        environment = {
            **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "FAKE_GPU_COUNT": "1", "TEST_FOLDER": str(self.folder),
            "HEADROOM_SPLIT": "loops",
            "PYTHONPATH": f"{programs}:{source / 'python'}", "HEADROOM_TORCH_LIBRARY": str(library),
            "LD_PRELOAD": f"{stand_ins / 'libcudart.so.13'}:{stand_ins / 'libcuda.so.1'}",
            "HEADROOM_ALLOCATOR_SELF_TESTS": str(source / "absent.json"), **variables,
        }
        if words[0] != "-m":
            words = (str(programs / words[0]), *words[1:])
        return subprocess.run([python, *words], timeout=timeout, env=environment, capture_output=True, text=True)

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout, end="", flush=True)

    def lines(self, done):
        return [line for line in done.stderr.splitlines() if line.startswith("headroom: ")]

    def run_two_processes(self, program, *words):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        return self.run_program("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port",
                                port, str(programs / program), *words, timeout=200, FAKE_GPU_COUNT="2")


def main():
    if not python.exists():
        print("there is no build/venv; ./dev venv makes it")
        sys.exit(77)
    unittest.main()
