# SPDX-License-Identifier: Apache-2.0
"""What training loops do beside steps, and around them, is as without headroom: before an out of memory, and after one."""
import gc
import threading
import weakref

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import split_cases  # noqa: E402
from headroom_inject.this_thread import here  # noqa: E402
from loop_cases import ROWS, WIDTH, Net, numbers  # noqa: E402


def make(kind=Net, **more):
    torch.manual_seed(0)
    return kind(**more).to("cuda").train()


def split(model):
    """From here on its calls are made by rows."""
    with failing.at_allocation(3) as has_failed:
        model(numbers(1, ROWS, WIDTH))
    assert has_failed()


def gradients(model, loss):
    loss.backward()
    found = [one.grad.clone() for one in model.parameters()]
    model.zero_grad()
    return found


def is_same(found, expected):
    return all((one - other).norm() <= 1e-5 * other.norm() for one, other in zip(found, expected, strict=True))


def nothing_is_kept_alive_by_a_call():
    model = make()
    x = numbers(1, ROWS, WIDTH)
    seen = weakref.ref(x)
    out = model(x)
    del x
    assert len(here.calls) == 1 and seen() is not None
    del out
    assert seen() is None and len(here.calls) == 0


def a_graph_may_be_kept_and_used_twice():
    model = make(dropout=0.1)
    x = numbers(1, ROWS, WIDTH)
    expected = None
    for by_rows in False, True:
        if by_rows:
            split(model)
        torch.manual_seed(4)
        loss = model(x).square().mean()
        loss.backward(retain_graph=True)
        found = gradients(model, loss)
        assert expected is None or is_same(found, expected)
        expected = found
        try:
            loss.backward()
            raise AssertionError("a graph was used a third time")
        except RuntimeError as error:
            assert "second time" in str(error), error


def gradients_are_asked_for_by_name():
    model = make(dropout=0.1)
    x = numbers(1, ROWS, WIDTH).requires_grad_()
    expected = None
    for by_rows in False, True:
        if by_rows:
            split(model)
        torch.manual_seed(4)
        found = torch.autograd.grad(model(x).square().mean(), [x, *model.parameters()])
        assert expected is None or is_same(found, expected)
        expected = found
        assert all(one.grad is None for one in model.parameters())


def second_derivatives_are_right_or_refused():
    model = make()
    x = numbers(1, ROWS, WIDTH).requires_grad_()
    slope, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    slope.square().sum().backward()
    split(model)
    try:
        torch.autograd.grad(model(x).sum(), x, create_graph=True)
        raise AssertionError("there were second derivatives")
    except RuntimeError as error:
        assert "second derivatives" in str(error), error


def evaluation_and_generation_are_left_alone():
    model = split_cases.gpt2().to("cuda").train()
    tokens = torch.arange(ROWS * 4, device="cuda").reshape(ROWS, 4)
    with failing.at_allocation(20):
        model(input_ids=tokens)
    before = len(here.calls)
    with torch.no_grad():
        made = model.generate(tokens, max_new_tokens=2, do_sample=False, pad_token_id=0)
        assert made.shape == (ROWS, 6)
    model.eval()
    assert type(model(input_ids=tokens).logits.grad_fn).__name__ != "_RowsBackward" and len(here.calls) == before


def a_changed_input_is_noticed():
    model = make()
    split(model)
    x = numbers(1, ROWS, WIDTH)
    out = model(x.requires_grad_())
    with torch.no_grad():
        x.add_(1)
    try:
        out.sum().backward()
        raise AssertionError("the gradients are those of another input")
    except RuntimeError as error:
        assert "inplace" in str(error), error


def a_changed_parameter_is_noticed():
    model = make()
    split(model)
    out = model(numbers(1, ROWS, WIDTH))
    with torch.no_grad():
        next(model.parameters()).add_(1)
    try:
        out.sum().backward()
        raise AssertionError("the gradients are those of other parameters")
    except RuntimeError as error:
        assert "inplace" in str(error), error


def threads_do_not_disturb_each_other():
    expected, found = {}, {}

    def work(number, into):
        model = Net()
        model.load_state_dict(states[number])
        with on_cpu.OnCpu():
            model.to("cuda").train()
            for _ in range(5):
                into[number] = gradients(model, model(numbers(number, ROWS, WIDTH)).square().mean())

    states = [Net().state_dict() for _ in range(3)]
    for number in range(3):
        work(number, expected)
    threads = [threading.Thread(target=work, args=(number, found)) for number in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(is_same(found[number], expected[number]) for number in range(3))


def a_script_may_catch_the_error_and_go_on():
    """An error in its loss, which nothing can redo: the next call is made by rows."""
    model = make().layers
    expected = gradients(model, model(numbers(1, ROWS, WIDTH)).square().mean())
    out = model(numbers(1, ROWS, WIDTH))
    try:
        with failing.at_allocation(1):
            out.square()
        raise AssertionError("the loss went through")
    except torch.OutOfMemoryError:
        del out
    out = model(numbers(1, ROWS, WIDTH))
    assert type(out.grad_fn).__name__ == "_RowsBackward"
    assert is_same(gradients(model, out.square().mean()), expected)


on_cpu.install()
for check in (nothing_is_kept_alive_by_a_call, a_graph_may_be_kept_and_used_twice, gradients_are_asked_for_by_name,
              second_derivatives_are_right_or_refused, evaluation_and_generation_are_left_alone, a_changed_input_is_noticed,
              a_changed_parameter_is_noticed, threads_do_not_disturb_each_other, a_script_may_catch_the_error_and_go_on):
    check()
    gc.collect()
    print(check.__name__)
