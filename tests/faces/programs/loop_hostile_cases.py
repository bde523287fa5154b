# SPDX-License-Identifier: Apache-2.0
"""Ordinary training loops in which a model's call is more than a function of its parameters and its arguments. By rows they would train
something else; so each is either refused or the same. A case is a function that makes everything anew and returns the
tensors that are trained and a function that gives a step's loss."""
import types

import numpy
import torch
from torch import nn
from torch.nn import functional

from loop_cases import ROWS, WIDTH, Net, numbers

DEVICE = "cuda"


class Changing(Net):
    """A net with a mode, things to keep, and a way of computing of the case's own."""

    def __init__(self, call, **kept):
        super().__init__()
        self.head = nn.Linear(WIDTH, WIDTH)
        self.call = call
        for name, value in kept.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.call(self, x)


def made(call, **kept):
    return Changing(call, **kept).to(DEVICE).train()


def squares(model, x):
    return (model(x) - 1).square().mean()


def batch(number):
    return numbers(number, ROWS, WIDTH)


def on_batch(model, *more):
    return [*model.parameters(), *more], lambda number: squares(model, batch(number))


def other_weights():
    model = Net().to(DEVICE).train()

    def loss(number):
        weights = dict(model.named_parameters())
        found = torch.autograd.grad(torch.func.functional_call(model, weights, (batch(number)[:2],)).square().mean(), list(weights.values()))
        fast = {name: one - 0.5 * grad for (name, one), grad in zip(weights.items(), found)}
        return (torch.func.functional_call(model, fast, (batch(number),)) - 1).square().mean()

    return list(model.parameters()), loss


def weights_of_another():
    model, other = Net().to(DEVICE).train(), Net().to(DEVICE)
    return list(other.parameters()), lambda number: (torch.func.functional_call(
        model, dict(other.named_parameters()), (batch(number),)) - 1).square().mean()


def modules_in_a_list():
    others = [nn.Linear(WIDTH, WIDTH).to(DEVICE)]
    return on_batch(made(lambda net, x: net.others[0](net.layers(x)), others=others), *others[0].parameters())


def a_prompt_made_before():
    makes = nn.Linear(3, WIDTH).to(DEVICE)
    model = made(lambda net, x: net.layers(x + net.prompt), prompt=None)

    def loss(number):
        model.prompt = makes(torch.ones(1, 3).to(DEVICE))
        return squares(model, batch(number))

    return [*model.parameters(), *makes.parameters()], loss


def two_tasks():
    model = made(lambda net, x: net.head(net.layers(x)) if net.task == "b" else net.layers(x), task="a")

    def loss(number):
        model.task = "a"
        first = squares(model, batch(number))
        model.task = "b"
        return first + squares(model, batch(number))

    return list(model.parameters()), loss


def a_task_elsewhere():
    task = {"now": "a"}
    model = made(lambda net, x: net.head(net.layers(x)) if task["now"] == "b" else net.layers(x))

    def loss(number):
        task["now"] = "a"
        first = squares(model, batch(number))
        task["now"] = "b"
        return first + squares(model, batch(number))

    return list(model.parameters()), loss


def a_hook_over_the_batch():
    def call(net, x):
        found = net.layers(x)
        if found.requires_grad:
            found.register_hook(lambda grad: grad / grad.norm())
        return net.head(found)
    return on_batch(made(call))


class Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad / grad.norm()


def a_backward_over_the_batch():
    return on_batch(made(lambda net, x: net.head(Normed.apply(net.layers(x)))))


def a_running_mean():
    def call(net, x):
        found = net.layers(x)
        with torch.no_grad():
            net.mean.mul_(0.9).add_(found.mean(dim=0), alpha=0.1)
        return found
    model = made(call, mean=torch.zeros(WIDTH, device=DEVICE))
    return list(model.parameters()), lambda number: (model(batch(number)) - model.mean.clone()).square().mean()


def a_running_mean_made_anew():
    def call(net, x):
        found = net.layers(x)
        net.kept.mean = 0.9 * net.kept.mean + 0.1 * found.detach().mean(dim=0)
        return found
    model = made(call, kept=types.SimpleNamespace(mean=torch.zeros(WIDTH, device=DEVICE)))
    return list(model.parameters()), lambda number: (model(batch(number)) - model.kept.mean).square().mean()


def _with_penalty(put, take):
    def call(net, x):
        found = net.layers(x)
        put(net, found.square().mean())
        return net.head(found)
    model = made(call, kept=types.SimpleNamespace(penalty=0.0, several=[]))
    return list(model.parameters()), lambda number: squares(model, batch(number)) + 3 * take(model)


def a_penalty_in_a_namespace():
    return _with_penalty(lambda net, one: setattr(net.kept, "penalty", one), lambda net: net.kept.penalty)


def _taken(several):
    found = sum(several)
    several.clear()
    return found


def a_penalty_in_a_list_within():
    return _with_penalty(lambda net, one: net.kept.several.append(one), lambda net: _taken(net.kept.several))


def a_penalty_elsewhere():
    several = []
    return _with_penalty(lambda _, one: several.append(one), lambda _: _taken(several))


def a_number_elsewhere():
    several = []
    return _with_penalty(lambda _, one: several.append(one.item()), lambda _: _taken(several))


def numbers_of_a_generator_of_its_own():
    def call(net, x):
        found = net.layers(x)
        return net.head(found) if net.draws.random() < 0.5 else found
    return on_batch(made(call, draws=numpy.random.default_rng(3)))


def a_generator_elsewhere():
    draws = numpy.random.default_rng(3)
    return on_batch(made(lambda net, x: net.head(net.layers(x)) * (1 + draws.random())))


def evaluated_before_backward():
    model = nn.Sequential(Net(), nn.Dropout(0.5), nn.Linear(WIDTH, WIDTH)).to(DEVICE)

    def loss(number):
        model.train()
        found = squares(model, batch(number))
        model.eval()
        return found

    return list(model.parameters()), loss


def an_input_written_by_the_model():
    return on_batch(made(lambda net, x: net.layers(x.sub_(0.5).mul_(2))))


def an_input_written_by_its_first_layer():
    return on_batch(nn.Sequential(nn.ReLU(inplace=True), Net()).to(DEVICE).train())


def one_buffer_for_all_batches():
    model, buffer = made(lambda net, x: net.layers(x.float() / 64)), torch.zeros(ROWS, WIDTH, dtype=torch.int32, device=DEVICE)

    def loss(number):
        buffer.copy_((batch(number) * 64).to(torch.int32))
        found = model(buffer)
        buffer.copy_((batch(number + 1) * 64).to(torch.int32))
        return (found - 1).square().mean()

    return list(model.parameters()), loss


def an_entry_put_into_the_batch():
    def call(net, x):
        x["penalty"] = net.layers(x["x"]).square().mean()
        return net.head(net.layers(x["x"]))
    model, given = made(call), {}

    def loss(number):
        given["x"] = batch(number)
        given["penalty"] = None
        return squares(model, given) + given["penalty"]

    return list(model.parameters()), loss


def a_layer_switched_off_between():
    model = made(lambda net, x: net.head(net.layers(x)))

    def loss(number):
        model.layers[2] = nn.GELU()
        found = squares(model, batch(number))
        model.layers[2] = nn.Tanh()
        return found

    return list(model.parameters()), loss


def a_gradient_scaled_by_calls():
    """A penalty whose weight grows with each call, kept in a closure."""
    calls = [0]

    def call(net, x):
        calls[0] += 1
        return net.layers(x) * (1 + 0.1 * calls[0])

    return on_batch(made(call))


def a_queue_of_features():
    """As in contrastive learning: what was found last is compared with what is found now."""
    def call(net, x):
        found = functional.normalize(net.layers(x), dim=1)
        known = torch.cat([*net.queue, found.detach()[:1]])
        net.queue.append(found.detach())
        del net.queue[:-2]
        return found @ known[0]
    return on_batch(made(call, queue=[]))


CASES = {one.__name__: one for one in (
    other_weights, weights_of_another, modules_in_a_list, a_prompt_made_before, two_tasks, a_task_elsewhere, a_hook_over_the_batch,
    a_backward_over_the_batch, a_running_mean, a_running_mean_made_anew, a_penalty_in_a_namespace, a_penalty_in_a_list_within,
    a_penalty_elsewhere, a_number_elsewhere, numbers_of_a_generator_of_its_own, a_generator_elsewhere, evaluated_before_backward,
    an_input_written_by_the_model, an_input_written_by_its_first_layer, one_buffer_for_all_batches, an_entry_put_into_the_batch,
    a_layer_switched_off_between, a_gradient_scaled_by_calls, a_queue_of_features)}
