// SPDX-License-Identifier: Apache-2.0
// All experts of a mixture as one grouped product. Sources: transformers' integrations/moe.py
// (grouped_mm_experts_forward) and the routers in modeling_*.py of each family; PyTorch's
// native/cuda/Indexing.cu (index_put_with_sort_kernel) and GroupedBlas.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include "estimate/one_gradient.h"
#include "estimate/transformers/mlp.h"

namespace headroom::estimate::transformers {
namespace {

// Rows [n, …] of x by index. The gradient is written where it came from, by sorting the index:
// six numbers of 8 bytes for each row while it runs.
Tensor gather_rows(Tape& tape, const Tensor& x, const Shape& shape, const Tensor& index,
                   Name name) {
  constexpr std::uint64_t sorted = 6;
  const Meta from = x.meta();
  const Meta scratch{{sorted * shape[0]}, Element::int64};
  return tape.connect(tape.empty(name, {shape, x.element}), {x}, {index},
                      [=](Tape& t, const Tensor&, const Node&) -> Tensors {
                        Tensor grad = t.empty(name + ".grad", from);
                        const Tensor places = t.empty(name + ".places", scratch);
                        return {grad};
                      });
}

// [rows, in] by the matrices of all experts → [rows, out].
Tensor grouped_product(Run& run, const Tensor& given, const Tensor& weight, std::uint64_t out,
                       Name name) {
  Tape& tape = run.tape;
  const Tensor x = ops::cast(tape, given, weight.element, name + ".input");
  const Meta input = x.meta();
  const Meta matrix = weight.meta();
  Tensors saved;
  if (weight.requires_grad()) saved.push_back(x);
  if (x.requires_grad()) saved.push_back(weight);
  const Tensor y = tape.empty(name, {{input.shape[0], out}, x.element});
  // Halves go through a kernel of groups, fp32 through one product after the other.
  const bool one_by_one = x.element == Element::fp32;
  if (one_by_one) tape.multiply();
  return tape.connect(y, {x, weight}, saved,
                      [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = t.empty(name + ".input_grad", input);
                        if (node.wants(1)) grads[1] = t.empty(name + ".weight_grad", matrix);
                        if (one_by_one) t.multiply();
                        return grads;
                      });
}

// chunk(2, -1): views whose gradients are joined once.
std::array<Tensor, 2> halves(const Tape& tape, const Tensor& both) {
  const Meta whole = both.meta();
  Meta half = whole;
  half.shape.back() /= 2;
  Tensor first = both;
  first.shape = half.shape;
  first.node = nullptr;
  first = tape.connect(first, {both}, {}, [=](Tape& t, const Tensor&, const Node&) -> Tensors {
    const Tensor other = t.empty("chunk.other_grad", half);
    return {t.empty("chunk.grad", whole)};
  });
  return {first, first};
}

// torch.clamp: its derivative makes a mask of bools for each bound.
Tensor clamp(Tape& tape, const Tensor& x, Name name) {
  const Meta meta = x.meta();
  return tape.connect(tape.empty(name, meta), {x}, {x},
                      [=](Tape& t, const Tensor&, const Node&) -> Tensors {
                        const Tensor mask = t.empty(name + ".mask", {meta.shape, Element::uint8});
                        return {t.empty(name + ".grad", meta)};
                      });
}

// GptOssExperts._apply_gate: every second number is the gate's.
Tensor clamped_gate(Run& run, const Tensor& both) {
  Tape& tape = run.tape;
  const std::uint64_t half = both.shape.back() / 2;
  Tensor gate = ops::narrow_last(tape, both, half);
  Tensor up = ops::narrow_last(tape, both, half);
  gate = clamp(tape, gate, "gate.clamped");
  up = clamp(tape, up, "up.clamped");
  // One expression, so that what it makes in between goes when Python's would.
  const Tensor glu = ops::mul(
      tape, gate, ops::sigmoid(tape, ops::scale(tape, gate, "gate.scaled"), "gate.sigmoid"), "glu");
  return ops::mul(tape, ops::scale(tape, up, "up.plus_one"), glu, "product");
}

Tensor gate_of(Run& run, const ExpertLayer& layer, const Tensor& both) {
  if (layer.shape.clamped) return clamped_gate(run, both);
  const auto [gate, up] = halves(run.tape, both);
  return ops::mul(run.tape, activate(run, layer.expert.activation, gate), up, "product");
}

// The sum over a token's choices: its gradient is copied for each of them.
Tensor sum_choices(Tape& tape, const Tensor& x, std::uint64_t tokens) {
  const Meta each = x.meta();
  return tape.connect(tape.empty("experts.sum", {{tokens, each.shape.back()}, x.element}), {x}, {},
                      one_gradient("experts.sum", each));
}

// What a router gives: shares [tokens, chosen], and the numbers of the experts.
struct Routed {
  Tensor logits, shares, experts;
};

// Values [tokens, chosen] of x [tokens, experts], by an index that the derivative keeps.
Tensor choose(Tape& tape, const Tensor& x, const Tensor& experts, Name name) {
  return tape.connect(tape.empty(name, {experts.shape, x.element}), {x}, {experts},
                      one_gradient(name, x.meta()));
}

// The product itself in fp32, but what autocast makes of it.
Tensor wide_logits(Run& run, const ExpertLayer& layer, const Tensor& rows) {
  Tape& tape = run.tape;
  const Tensor input = ops::cast(tape, rows, Element::fp32, "router.input_fp32");
  const Tensor& weight = layer.router.stored.front();
  const Tensor wide = ops::cast(tape, weight, Element::fp32, "router.weight_fp32");
  const Tensor cast = wide.storage.get() == weight.storage.get()
                          ? run.autocast_weight(weight, "router")
                          : run.autocast(wide, "router.weight");
  return ops::linear(tape, run.autocast(input, "router.input"), cast, std::nullopt, "router");
}

Routed by_sparse_mixer(Run& run, const Tensor& logits, const Tensor& experts) {
  Tape& tape = run.tape;
  Routed routed{logits, {}, experts};
  const Shape one = {logits.shape[0], 1};
  Tensor shares[2];
  Tensor masked = logits;
  for (Tensor& share : shares) {
    masked = ops::scale(tape, masked, "router.masked");
    const Tensor gates = ops::softmax(tape, masked, masked.element, "router.gates");
    const Tensor index = tape.empty("router.index", {one, Element::int64});
    share = choose(tape, gates, index, "router.share");
  }
  routed.shares = ops::concat_last(tape, shares[0], shares[1], "router.shares");
  return routed;
}

Routed route(Run& run, const ExpertLayer& layer, const Tensor& rows) {
  Tape& tape = run.tape;
  const Routing routing = layer.shape.routing;
  const Shape chosen = {rows.shape[0], std::min(layer.shape.per_token, layer.shape.count)};
  const auto index = [&] { return tape.empty("router.experts", {chosen, Element::int64}); };
  if (routing == Routing::wide_softmax || routing == Routing::wide_sigmoid) {
    const Tensor logits = wide_logits(run, layer, rows);
    const bool sigmoid = routing == Routing::wide_sigmoid;
    const Tensor scores = sigmoid ? ops::sigmoid(tape, logits, "router.scores")
                                  : ops::softmax(tape, logits, Element::fp32, "router.scores");
    Tensor choice, masked;
    if (layer.corrections) choice = ops::add(tape, scores, *layer.corrections, "router.choice");
    if (sigmoid) masked = tape.empty("router.choice_masked", choice);
    const Tensor experts = index();
    Tensor shares = choose(tape, scores, experts, "router.top");
    shares = ops::scale(tape, shares, "router.shares");
    return {logits, shares, experts};
  }
  const Tensor logits = apply(run, layer.router, rows);
  if (routing == Routing::softmax_of_best || routing == Routing::wide_softmax_of_best) {
    const bool wide = routing == Routing::wide_softmax_of_best;
    const Tensor given = wide ? ops::cast(tape, logits, Element::fp32, "router.fp32") : logits;
    const Tensor experts = index();
    const Tensor best = choose(tape, given, experts, "router.top");
    const Element kept = run.autocasts() ? Element::fp32 : best.element;
    const Tensor shares = ops::softmax(tape, best, kept, "router.shares");
    return {given, wide ? ops::cast(tape, shares, rows.element, "router.narrow") : shares, experts};
  }
  if (routing == Routing::sparse_mixer) return by_sparse_mixer(run, logits, index());
  const Tensor all = ops::softmax(tape, logits, Element::fp32, "router.probabilities");
  const Tensor experts = index();
  Tensor shares = choose(tape, all, experts, "router.top");
  if (routing == Routing::softmax)
    shares = ops::cast(tape, shares, logits.element, "router.weights");
  return {logits, shares, experts};
}

// Of a token's choices: sorted by expert, through the experts, and back in the tokens' order.
Tensor run_experts(Run& run, const ExpertLayer& layer, const Tensor& rows, const Routed& routed) {
  Tape& tape = run.tape;
  const Scope scope(tape, layer.name);
  const std::uint64_t tokens = rows.shape[0], width = rows.shape[1];
  const std::uint64_t pairs = routed.shares.elements();
  const Meta numbers{{pairs}, Element::int64};
  const std::uint64_t inner = layer.expert.intermediate;
  const Tensor sorted = tape.empty("sorted", numbers);
  const Tensor order = tape.empty("order", numbers);
  const Tensor selected =
      gather_rows(tape, rows, {pairs, width}, tape.empty("tokens", numbers), "input");
  const Tensor shares =
      gather_rows(tape, Tape::view(routed.shares, {pairs, 1}), {pairs, 1}, order, "shares");
  const Tensor counted = tape.empty("sorted.int32", {{pairs}, Element::int32});
  Tensor bias;
  if (layer.gate_up_bias)
    bias = gather_rows(tape, *layer.gate_up_bias, {pairs, 2 * inner}, sorted, "gate_up.bias");
  Tensor out = grouped_product(run, selected, *layer.gate_up, 2 * inner, "gate_up");
  if (bias.defined()) out = ops::add_in_place(tape, out, bias);
  out = gate_of(run, layer, out);
  if (layer.down_bias)
    bias = gather_rows(tape, *layer.down_bias, {pairs, width}, sorted, "down.bias");
  out = grouped_product(run, out, *layer.down, width, "down");
  if (bias.defined()) out = ops::add_in_place(tape, out, bias);
  Tensor weighted = ops::mul(tape, out, shares, "weighted");
  const Tensor back = tape.empty("order.back", numbers);
  weighted = gather_rows(tape, weighted, {pairs, width}, back, "weighted.in_order");
  const Tensor sum = sum_choices(tape, weighted, tokens);
  return ops::cast(tape, sum, rows.element, "output");
}

}  // namespace

void make_grouped(Run& run, const Stack& stack, ExpertLayer& layer) {
  const std::uint64_t count = layer.shape.count, inner = layer.expert.intermediate;
  const Scope scope(run.tape, layer.name);
  const auto part = [&](Name name, const Shape& shape) {
    return run.tape.parameter(name, {shape, run.weights()}, Component::weights, run.full());
  };
  layer.gate_up = part("gate_up_proj", {count, 2 * inner, stack.hidden});
  if (layer.shape.bias) layer.gate_up_bias = part("gate_up_proj_bias", {count, 2 * inner});
  layer.down = part("down_proj", {count, stack.hidden, inner});
  if (layer.shape.bias) layer.down_bias = part("down_proj_bias", {count, stack.hidden});
  if (layer.shape.routing == Routing::wide_sigmoid)
    layer.corrections =
        run.tape.empty("e_score_correction_bias", {{count}, run.weights()}, Component::other);
}

Tensor apply_grouped(Run& run, const ExpertLayer& layer, const Tensor& x) {
  Tape& tape = run.tape;
  const Tensor rows = Tape::view(x, {x.elements() / x.shape.back(), x.shape.back()});
  if (layer.shared_gate) {  // Qwen2-MoE's comes first.
    Tensor shared = apply(run, *layer.shared, rows);
    const Routed routed = route(run, layer, rows);
    Tensor sum = run_experts(run, layer, rows, routed);
    const Tensor gate =
        ops::sigmoid(tape, apply(run, *layer.shared_gate, rows), "shared_expert.gate");
    shared = ops::mul(tape, gate, shared, "shared_expert");
    sum = ops::add(tape, sum, shared, "experts.with_shared");
    return Tape::view(sum, x.shape);
  }
  const Routed routed = route(run, layer, rows);
  Tensor sum = Tape::view(run_experts(run, layer, rows, routed), x.shape);
  if (layer.shared) sum = ops::add(tape, sum, apply(run, *layer.shared, x), "experts.with_shared");
  return sum;
}

}  // namespace headroom::estimate::transformers
