# SPDX-License-Identifier: Apache-2.0
"""What torch.compile would wrap in a graph stays the function that it is, as PyTorch captures on its own allocator only."""
import contextlib
import io

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402
from torch._inductor import compile_fx  # noqa: E402


def compiled(inputs):
    return inputs


assert headroom_inject.is_installed()
said = io.StringIO()
with contextlib.redirect_stderr(said):
    # By position and by name, as PyTorch's releases call it for a whole function and for the parts of one.
    for wrapped in (compile_fx.cudagraphify(compiled, static_input_idxs=(), device_index=0, stack_traces=[], is_backward=False, is_inference=True),
                    compile_fx.cudagraphify(compiled, (), device_index=0, stack_traces=[], is_backward=True, is_inference=False)):
        assert wrapped is compiled, wrapped
assert said.getvalue().count("runs without graphs here") == 1, said.getvalue()
assert not torch._inductor.config.triton.cudagraph_trees
assert "triton.cudagraphs" in torch._inductor.list_mode_options("reduce-overhead")  # What asks for them is still named so.
print("torch.compile runs without graphs")
