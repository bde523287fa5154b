# SPDX-License-Identifier: Apache-2.0
"""What torch.compile would wrap in a graph is compiled without one, whoever asks for it, as PyTorch captures on its own allocator
only. Where PyTorch is not as expected, one line says so and the script goes on."""
import contextlib
import io
import types

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402
from torch._dynamo.backends import cudagraphs  # noqa: E402
from torch._inductor import compile_fx, config  # noqa: E402

from headroom_inject import compiled_graphs, messages  # noqa: E402

assert headroom_inject.is_installed()


@contextlib.contextmanager
def heard():
    """A list that is given, at the end, the lines that headroom said."""
    messages._said.clear()
    said, lines = io.StringIO(), []
    with contextlib.redirect_stderr(said):
        yield lines
    lines += [line for line in said.getvalue().splitlines() if line.startswith("headroom: ")]


def a_graph():
    class Double(torch.nn.Module):
        def forward(self, x):
            return (x * 2,)

    return torch.fx.symbolic_trace(Double())


def asked_for(annotation=None, **more):
    """What PyTorch tells its inner compiler, for the forward and the backward pass: whether graphs are wanted."""
    found = []

    def inner_compile(graph, *_, cudagraphs=None, **__):
        wanted = config.triton.cudagraphs if cudagraphs is None else bool(cudagraphs)
        found.append((wanted, config.triton.cudagraphs, config.triton.cudagraph_trees))

        def run(*inputs):
            return graph(*inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], list) else graph(*inputs)

        run._boxed_call = True
        return run

    graph = a_graph()
    if annotation is not None:
        graph.meta["cudagraph_annotation"] = annotation
    x = torch.ones(4, requires_grad=True)
    compile_fx.compile_fx(graph, [x], inner_compile=inner_compile, **more)(x)[0].sum().backward()
    assert x.grad.tolist() == [2.0] * 4, x.grad
    assert len(found) == 2, found
    return found


NONE = [(False, False, True)] * 2  # Nor is anything else of PyTorch's settings another one.

with heard() as lines:
    assert asked_for() == NONE
assert lines == [], lines

with heard() as lines:
    for mode in "reduce-overhead", "max-autotune":
        options = torch._inductor.list_mode_options(mode)
        assert options["triton.cudagraphs"], options
        assert asked_for(config_patches=options) == NONE
    assert asked_for(config_patches={"triton.cudagraphs": True}) == NONE
    with config.patch({"triton.cudagraphs": True}):  # As a script sets it for everything.
        assert [wanted for wanted, *_ in asked_for()] == [False, False]
assert len(lines) == 1 and "runs without graphs here" in lines[0], lines

if hasattr(compile_fx, "create_compiler_config_extra"):
    with heard() as lines:
        assert asked_for(types.SimpleNamespace(fwd=True, bwd=None)) == NONE
    assert len(lines) == 1, lines

# The backend that captures and does nothing else. (It is known by the name of a module that a script may have imported itself.)
with heard() as lines:
    graph = a_graph()
    made = torch._dynamo.lookup_backend("cudagraphs")(graph, [torch.ones(2, device="cuda")])
assert made is graph and len(lines) == 1, (made, lines)

# Another PyTorch, in which things have other names.
for other in (types.SimpleNamespace(__name__="torch._inductor.compile_fx"),
              types.SimpleNamespace(__name__="torch._inductor.compile_fx", compile_fx=lambda model, inputs: model, config=config),
              types.SimpleNamespace(__name__="torch._inductor.compile_fx", compile_fx=compile_fx.compile_fx, config=types.SimpleNamespace()),
              types.SimpleNamespace(__name__="torch._dynamo.backends.cudagraphs")):
    before = dict(vars(other))
    with heard() as lines:
        headroom_inject._run_without_captured_graphs(other)
    assert len(lines) == 1 and "run without --allocator" in lines[0], lines
    assert vars(other) == before, "half of it was changed"
print("torch.compile runs without graphs")
