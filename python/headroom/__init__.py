# SPDX-License-Identifier: Apache-2.0
"""headroom from Python: what `headroom --json` answers, as dictionaries. Nothing but the standard library is imported.

    import headroom
    print(headroom.check()["verdict"])

Each function runs the program `headroom` once; the keys of its answer are those of docs/schema/. headroom.allocator puts
headroom's memory allocator into this process's PyTorch, headroom.trainer watches a Hugging Face Trainer.
"""
from headroom._answers import Job, check, explain, plan, version
from headroom._program import Answer, HeadroomError, ProgramMissing, program

__all__ = ["Answer", "HeadroomError", "Job", "ProgramMissing", "check", "explain", "plan", "program", "version"]
