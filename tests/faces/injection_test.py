#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `headroom run --allocator` puts into Python leaves every program as it is: the ways in, with a module that plays
PyTorch or ONNX Runtime.

    injection_test.py FOLDER_OF_HEADROOMS_PYTHON
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

SITE = pathlib.Path(sys.argv.pop(1)).resolve() / "site"

# What headroom looks at before it loads its library, and nothing else of PyTorch.
TORCH = """
    __version__ = "2.15.0"
    class _C:
        _cuda_customAllocator = None
    class cuda:
        @staticmethod
        def is_initialized():
            return {in_use}
"""


class Injection(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headroom-injection-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.library = str(self.folder / "libheadroom_torch.so")

    def module(self, name, text):
        path = self.folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def python(self, *words, injected=True, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HEADROOM"))}
        environment["PYTHONPATH"] = f"{SITE}:{self.folder}" if injected else str(self.folder)
        environment["HEADROOM_TORCH_LIBRARY"] = self.library
        environment.update(more)
        done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, timeout=60)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def test_a_program_without_pytorch_notices_nothing(self):
        with_it = self.python("-c", "import sys; print(sorted(set(sys.modules)))")
        self.assertEqual((with_it.returncode, with_it.stderr), (0, ""))
        self.assertNotIn("ctypes", with_it.stdout)

    def test_the_sitecustomize_that_it_hides_still_runs(self):
        self.module("sitecustomize", "import builtins\nbuiltins.hidden_ran = __name__\nmark = 3\n")
        done = self.python("-c", "import sitecustomize; print(hidden_ran, sitecustomize.mark)")
        self.assertEqual(done.stdout, "sitecustomize 3\n")
        self.assertEqual(done.stderr, "")

    def test_a_hidden_sitecustomize_that_fails_fails_as_it_did(self):
        self.module("sitecustomize", "import no_such_module\n")
        alone = self.python("-c", "print('ran')", injected=False)
        done = self.python("-c", "print('ran')")
        self.assertEqual((done.stdout, done.returncode), (alone.stdout, alone.returncode))
        self.assertEqual(done.stderr, alone.stderr)

    def test_a_library_that_is_not_there_leaves_pytorch_as_it_is_with_one_line(self):
        self.module("torch", TORCH.format(in_use=False))
        done = self.python("-c", "import torch; print(torch.__version__)")
        self.assertEqual(done.stdout, "2.15.0\n")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("torch runs as it is", done.stderr)
        self.assertIn(self.library, done.stderr)

    def test_onnx_runtime_without_its_library_is_left_as_it_is_with_one_line(self):
        self.module("onnxruntime/__init__", "from onnxruntime.capi import onnxruntime_inference_collection as sessions\n")
        self.module("onnxruntime/capi/__init__", "")
        self.module("onnxruntime/capi/onnxruntime_inference_collection", """
            mark = 5
            class C:
                get_available_providers = staticmethod(lambda: ["ROCMExecutionProvider"])
        """)
        absent = str(self.folder / "libheadroom_onnx.so")
        done = self.python("-c", "import onnxruntime; print(onnxruntime.sessions.mark)", HEADROOM_ONNX_LIBRARY=absent)
        self.assertEqual(done.stdout, "5\n")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("onnxruntime runs as it is", done.stderr)
        self.assertIn(absent, done.stderr)

    def test_a_file_that_is_no_library_is_said_too(self):
        pathlib.Path(self.library).write_text("no library")
        self.module("torch", TORCH.format(in_use=False))
        done = self.python("-c", "import torch")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (0, 1), done.stderr)

    def test_a_gpu_that_is_in_use_already_keeps_its_allocator(self):
        self.module("torch", TORCH.format(in_use=True))
        done = self.python("-c", "import torch")
        self.assertIn("found the GPU in use already", done.stderr)

    def test_another_backend_that_was_asked_for_stays(self):
        self.module("torch", TORCH.format(in_use=False))
        done = self.python("-c", "import torch", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
        self.assertIn("asks for another allocator", done.stderr)

    def test_a_pytorch_for_the_processor_alone_is_left_alone(self):
        self.module("torch", "__version__ = '2.15.0+cpu'\nclass _C: pass\n")
        done = self.python("-c", "import torch; print('ran')")
        self.assertEqual(done.stdout, "ran\n")
        self.assertIn("built without a GPU's code", done.stderr)

    def test_an_import_that_fails_fails_as_it_did_and_the_next_one_is_followed(self):
        self.module("torch", "import builtins\nif not hasattr(builtins, 'again'):\n    builtins.again = 1\n"
                    "    raise ImportError('first')\n" + textwrap.dedent(TORCH.format(in_use=True)))
        done = self.python("-c", "try:\n  import torch\nexcept ImportError as e:\n  print(e)\nimport torch\n")
        self.assertEqual(done.stdout, "first\n")
        self.assertIn("in use already", done.stderr)

    def test_children_have_it_too(self):
        self.module("torch", TORCH.format(in_use=True))
        self.module("job", """
            import multiprocessing
            def work():
                import torch
            if __name__ == "__main__":
                child = multiprocessing.get_context("spawn").Process(target=work)
                child.start()
                child.join()
        """)
        done = self.python(str(self.folder / "job.py"))
        self.assertIn("in use already", done.stderr)

    def test_a_closed_standard_error_keeps_nothing_from_running(self):
        self.module("torch", TORCH.format(in_use=True))
        done = self.python("-c", "import sys; sys.stderr.close(); import torch; print('ran')")
        self.assertEqual(done.stdout, "ran\n")

    def test_isolated_python_runs_without_it(self):
        for flag in ("-I", "-E", "-S"):
            done = self.python(flag, "-c", "print('ran')")
            self.assertEqual((done.stdout, done.returncode), ("ran\n", 0))

    def test_its_modules_are_not_on_the_path(self):
        done = self.python("-c", "import sys; print([p for p in sys.path if 'headroom_inject' in p])")
        self.assertEqual(done.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
