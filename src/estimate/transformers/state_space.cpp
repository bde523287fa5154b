// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_mamba.py and modeling_falcon_mamba.py (MambaMixer.forward,
// causal_conv1d_fn, mamba_selective_scan, mamba_selective_state_update); PyTorch's
// native/Convolution.cpp (_conv_depthwise2d).
#include "estimate/transformers/state_space.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace headroom::estimate::transformers {
namespace {

// Steps of the scan that are recorded one by one; of longer sequences several stand for one, which
// takes the same memory but for the allocator's rounding.
constexpr std::uint64_t steps_max = 256;

// torch.split: views, whose gradients are joined once.
std::vector<Tensor> split_last(const Tape& tape, const Tensor& x,
                               const std::vector<std::uint64_t>& sizes) {
  std::vector<Tensor> parts;
  Tensor first = ops::part_of(tape, x, x.shape);
  for (const std::uint64_t size : sizes) {
    Tensor part = first;
    part.shape.back() = size;
    parts.push_back(part);
  }
  return parts;
}

// Of Falcon-Mamba: x over its root mean square, in fp32.
Tensor normed(Run& run, const Tensor& x) {
  Tape& tape = run.tape;
  const Tensor wide = ops::cast(tape, x, Element::fp32, "part.fp32");
  const Tensor variance =
      ops::mean_last(tape, ops::square(tape, wide, "part.squared"), "part.mean");
  return ops::cast(tape,
                   ops::mul(tape, wide, ops::rsqrt(tape, variance, "part.rsqrt"), "part.normed"),
                   x.element, "part.narrow");
}

struct ScanInput {
  Tensor hidden;  // [batch, inner, tokens]
  Tensor step;    // the same shape
  Tensor a;       // [inner, state], fp32
  Tensor b, c;    // [batch, tokens, state]
  Tensor gate;    // as hidden
};

// One state after the other; what each gives.
Tensor scan(Run& run, const Tensor& decay, const Tensor& inflow, const ScanInput& in,
            Tensor& last_state) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.hidden.shape[0], inner = in.hidden.shape[1];
  const std::uint64_t tokens = in.hidden.shape[2], state_size = in.c.shape[2];
  const std::uint64_t each = (tokens + steps_max - 1) / steps_max;
  Tensor state = tape.empty("state.zeros", {{batch, inner, state_size}, in.hidden.element});
  std::vector<Tensor> outputs;
  for (std::uint64_t done = 0; done < tokens; done += each) {
    const std::uint64_t count = std::min(each, tokens - done);
    const Shape shape = {batch, inner, count * state_size};
    const auto part = [&](const Tensor& x) { return ops::part_of(tape, x, shape); };
    state = ops::add(tape, ops::mul(tape, part(decay), Tape::view(state, shape), "state.decayed"),
                     part(inflow), "state");
    const Tensor narrow =
        run.autocast(ops::cast(tape, state, in.hidden.element, "state.narrow"), "state.input");
    const Tensor column =
        run.autocast(ops::part_of(tape, in.c, {batch, count * state_size, 1}), "c.input");
    outputs.push_back(ops::matmul(tape, narrow, column, {batch, inner, count}, "scan"));
  }
  last_state = state;
  return ops::join(tape, outputs, {batch, inner, tokens}, "scan.stacked");
}

Tensor selective_scan(Run& run, const StateSpaceLayer& layer, const ScanInput& in,
                      Tensor& last_state) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.hidden.shape[0], inner = in.hidden.shape[1];
  const std::uint64_t tokens = in.hidden.shape[2], state = in.c.shape[2];
  const Shape four = {batch, inner, tokens, state};
  const auto spread = [&](const Tensor& x, const Shape& shape) { return Tape::view(x, shape); };
  Tensor step = ops::add(tape, in.step, *layer.step->bias, "step.with_bias");
  step.element = in.step.element;
  // softplus, which autocast runs in fp32.
  step = ops::silu(tape, run.autocast_to_fp32(step, "step.fp32"), "step.softplus");
  const Shape columns = {batch, inner, tokens, 1};
  // Either operand is smaller than the product.
  const auto outer = [&](const Tensor& a, const Tensor& b, Name name) {
    const Meta left = a.meta(), right = b.meta(), whole{four, Element::fp32};
    Tensors saved;
    if (b.requires_grad()) saved.push_back(a);
    if (a.requires_grad()) saved.push_back(b);
    return tape.connect(tape.empty(name, whole), {a, b}, saved,
                        [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
                          Tensors grads(2);
                          for (const std::size_t i : {0U, 1U})
                            if (node.wants(i)) grads[i] = t.empty(name + ".grad", whole);
                          for (const std::size_t i : {0U, 1U}) {
                            const Meta& own = i == 0 ? left : right;
                            if (node.wants(i) && own.elements() != whole.elements())
                              grads[i] = t.empty(name + ".grad_sum", own);
                          }
                          return grads;
                        });
  };
  const Tensor decay =
      ops::exp(tape, outer(in.a, spread(step, columns), "decay.exponent"), "decay");
  const Tensor wide_b = ops::cast(tape, in.b, Element::fp32, "b.fp32");
  const Tensor weight = outer(spread(step, columns), wide_b, "inflow.weight");
  const Tensor inflow = outer(
      weight, spread(ops::cast(tape, in.hidden, Element::fp32, "hidden.fp32"), columns), "inflow");
  Tensor y = scan(run, decay, inflow, in, last_state);
  const Tensor skip = ops::cast(tape, layer.skip, Element::fp32, "skip.fp32");
  Tensor skipped = ops::mul(tape, in.hidden, Tape::view(skip, {1, inner, 1}), "skipped");
  y = ops::add(tape, y, skipped, "with_skip");
  skipped = {};
  return ops::mul(tape, y, ops::silu(tape, in.gate, "gate.activated"), "gated");
}

// What is kept of the tokens so far does not grow.
void remember(Run& run, const StateSpaceLayer& layer, const ScanInput& in, LayerCache& cache) {
  const std::uint64_t batch = in.hidden.shape[0], inner = in.hidden.shape[1];
  if (cache.keys.defined()) return;
  cache.keys = run.tape.empty(
      "conv_states", {{batch, inner, layer.shape.kernel}, in.hidden.element}, Component::kv_cache);
  cache.values = run.tape.empty(
      "recurrent_states", {{batch, inner, layer.shape.state}, Element::fp32}, Component::kv_cache);
}

}  // namespace

StateSpaceLayer make_state_space(Run& run, const Stack& stack) {
  StateSpaceLayer layer;
  const StateSpace& shape = layer.shape = *stack.state_space;
  const auto part = [&](Name name, const Shape& of) {
    return run.tape.parameter(name, {of, run.weights()}, Component::weights, run.full());
  };
  layer.a_log = part("A_log", {shape.inner, shape.state});
  layer.skip = part("D", {shape.inner});
  layer.conv.kernel = shape.kernel;
  layer.conv.weight = part("conv1d.weight", {shape.inner, 1, shape.kernel});
  if (shape.conv_bias) layer.conv.bias = part("conv1d.bias", {shape.inner});
  layer.in = make_linear(run, "in_proj", {2 * shape.inner, stack.hidden}, shape.bias);
  layer.parts = make_linear(run, "x_proj", {shape.step_rank + 2 * shape.state, shape.inner}, false);
  layer.step =
      make_plain_linear(run, "dt_proj", {shape.inner, shape.step_rank}, true, run.weights());
  layer.out = make_linear(run, "out_proj", {stack.hidden, shape.inner}, shape.bias);
  return layer;
}

Tensor apply(Run& run, const StateSpaceLayer& layer, const Tensor& x, LayerCache* cache) {
  Tape& tape = run.tape;
  const StateSpace& shape = layer.shape;
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1];
  const Shape channels = {batch, shape.inner, tokens}, rows = {batch, tokens, shape.inner};
  const Tensor both = apply(run, *layer.in, x);
  ScanInput in;
  in.a = ops::scale(
      tape, ops::exp(tape, ops::cast(tape, layer.a_log, Element::fp32, "A_log.fp32"), "A_log.exp"),
      "A");
  const std::vector<Tensor> halves = split_last(tape, both, {shape.inner, shape.inner});
  in.gate = Tape::view(halves[1], channels);
  in.hidden = convolve(run, layer.conv, Tape::view(halves[0], channels));
  // One expression, so that the copy of rows goes when Python's would.
  std::vector<Tensor> parts = split_last(
      tape,
      apply(run, *layer.parts, ops::copy(tape, Tape::view(in.hidden, rows), rows, "x_proj.rows")),
      {shape.step_rank, shape.state, shape.state});
  if (shape.norms_parts)
    for (Tensor& part : parts) part = normed(run, part);
  in.b = parts[1], in.c = parts[2];
  in.step = Tape::view(ops::linear(tape, run.autocast(parts[0], "dt_proj.input"),
                                   run.autocast_weight(layer.step->stored.front(), "dt_proj"),
                                   std::nullopt, "dt_proj"),
                       channels);
  if (cache != nullptr) remember(run, layer, in, *cache);
  Tensor last_state;
  const Tensor y = selective_scan(run, layer, in, last_state);
  const Tensor narrow = ops::cast(tape, y, x.element, "scan.narrow");
  return apply(run, *layer.out, ops::copy(tape, Tape::view(narrow, rows), rows, "out_proj.rows"));
}

}  // namespace headroom::estimate::transformers
