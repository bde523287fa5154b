# SPDX-License-Identifier: Apache-2.0
"""The command lines of check_schemas.py whose output docs/schema/try.schema.json describes."""
import json
import pathlib

CONFIG = {"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 8}


def try_commands(scratch):
    """`headroom try` of programs in the place of a Python: one that ends at once, and one that finishes (tests/proof/try_test.py has the real)."""
    pathlib.Path(scratch, "config.json").write_text(json.dumps(CONFIG))
    job = pathlib.Path(scratch, "job.toml")
    job.write_text('[model]\nconfig = "config.json"\n')
    ends = pathlib.Path(scratch, "ends")
    ends.write_text("#!/bin/sh\nexit 1\n")
    finishes = pathlib.Path(scratch, "finishes")
    lines = ['{"frameworks": ["torch"]}', '{"begin": "import"}', '{"step": "import", "ok": true}', '{"devices": [], "version": "9"}']
    for step in ("devices", "correctness", "training"):
        lines.append(json.dumps({"begin": step}))
        if step == "training":
            lines += [json.dumps({"progress": {"steps": done, "seconds": 1, "loss": 2.0, "peak_bytes": 1, "peak_by": "it"}}) for done in (1, 2)]
        lines.append(json.dumps({"step": step, "ok": True}))
    finishes.write_text("#!/bin/sh\ncat <<'END'\n" + "".join(f"headroom-step: {line}\n" for line in lines) + "END\n")
    for program in (ends, finishes):
        program.chmod(0o755)
    yield ["headroom", "try", job, "--python", ends, "--python", finishes, "--steps", "2", "--json"]
