// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/mlp.h"

#include <algorithm>
#include <utility>

#include "estimate/transformers/liger.h"

namespace headroom::estimate::transformers {
namespace {

// NewGELUActivation: 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
Tensor gelu_new(Run& run, const Tensor& x) {
  Tape& tape = run.tape;
  const Scope scope(tape, "gelu_new");
  const Tensor half = ops::scale(tape, x, "half");
  // torch.pow is on autocast's list of operations that run in fp32, and what follows stays so wide.
  Tensor inner = ops::scale(tape, ops::cube(tape, run.autocast_to_fp32(x, "cubed.input"), "cubed"),
                            "cubed.scaled");
  inner = ops::add(tape, x, inner, "sum");
  inner = ops::scale(tape, inner, "sum.scaled");
  inner = ops::tanh(tape, inner, "tanh");
  inner = ops::scale(tape, inner, "plus_one");
  return ops::mul(tape, half, inner, "output");
}

}  // namespace

Tensor activate(Run& run, Activation activation, const Tensor& x) {
  Tape& tape = run.tape;
  switch (activation) {
    case Activation::silu:
      return ops::silu(tape, x, "activated");
    case Activation::gelu:
    case Activation::gelu_tanh:
      return ops::gelu(tape, x, "activated");
    case Activation::gelu_new:
      return gelu_new(run, x);
    case Activation::quick_gelu:
      return ops::mul(tape, x, ops::sigmoid(tape, ops::scale(tape, x, "scaled"), "sigmoid"),
                      "activated");
    case Activation::relu:
      return ops::relu(tape, x, "activated");
    case Activation::relu2:  // torch.square is torch.pow, which autocast runs in fp32.
      return ops::square(
          tape, run.autocast_to_fp32(ops::relu(tape, x, "positive"), "positive.fp32"), "activated");
  }
  return x;
}

Mlp make_mlp(Run& run, const Stack& stack, const MlpShape& shape) {
  const std::uint64_t inner = shape.intermediate;
  const ModuleNames& names = stack.names;
  const auto named = [&run](const std::string& name) { return run.tape.intern(name); };
  Mlp mlp;
  mlp.shape = shape;
  mlp.dropout = stack.dropout.activation;
  if (shape.gated && shape.fused_gate_up) {
    mlp.gate_up = make_linear(run, named(names.gate_up), {2 * inner, stack.hidden}, shape.bias);
  } else {
    if (shape.gated)
      mlp.gate = make_linear(run, named(names.gate), {inner, stack.hidden}, shape.bias);
    mlp.up = make_linear(run, named(names.up), {inner, stack.hidden}, shape.bias);
  }
  mlp.down = make_linear(run, named(names.down), {stack.hidden, inner}, shape.bias);
  return mlp;
}

namespace {

// PEFT's adapters and bitsandbytes' kernels are of single matrices: experts with them are planned
// one by one. Classes that transformers 5 knows alone have no such matrices.
bool are_grouped(const Job& job, Version version, const Experts& shape) {
  const bool told = shape.routing != Routing::softmax && shape.routing != Routing::kept_softmax;
  if (version < grouped_experts && !told) return false;
  if (!plain_type(job.method.base)) return false;
  const bool adapts = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  if (told || !adapts) return true;
  const std::vector<Target>& targets = job.method.targets;
  return std::all_of(targets.begin(), targets.end(),
                     [](Target target) { return target <= Target::o || !is_in_layers(target); });
}

}  // namespace

std::uint64_t single_experts(const Job& job, const Architecture& model) {
  const Version version = parse_version(job.engine.transformers);
  std::uint64_t count = 0;
  for (const Stack& stack : model.stacks) {
    if (!stack.experts || are_grouped(job, version, *stack.experts)) continue;
    for (std::uint64_t i = 0; i < stack.layers; ++i)
      if (stack.experts->in_layer(i)) count += stack.experts->count;
  }
  return count;
}

ExpertLayer make_experts(Run& run, const Stack& stack) {
  ExpertLayer layer;
  layer.shape = *stack.experts;
  // Routers stay plain where experts are quantised.
  layer.router =
      make_plain_linear(run, run.tape.intern(stack.names.router), {layer.shape.count, stack.hidden},
                        layer.shape.bias, run.weights());
  MlpShape shape = stack.mlp;
  shape.intermediate = layer.shape.intermediate;
  layer.expert = shape;
  layer.name = run.tape.intern(stack.names.experts);
  if (are_grouped(run.job, run.version, layer.shape)) {
    make_grouped(run, stack, layer);
  } else {
    for (std::uint64_t i = 0; i < layer.shape.count; ++i) {
      const Scope scope(run.tape, layer.name, i);
      layer.each.push_back(make_mlp(run, stack, shape));
    }
  }
  if (layer.shape.shared_intermediate > 0) {
    const Scope scope(run.tape, run.tape.intern(stack.names.shared_expert));
    shape.intermediate = layer.shape.shared_intermediate;
    shape.fused_gate_up = layer.shape.shared_fused;
    layer.shared = make_mlp(run, stack, shape);
    if (layer.shape.shared_gate)
      layer.shared_gate =
          make_plain_linear(run, "shared_expert_gate", {1, stack.hidden}, false, run.weights());
  }
  return layer;
}

Tensor apply(Run& run, const Mlp& mlp, const Tensor& x, Tensor* inner) {
  Tape& tape = run.tape;
  const auto between = [&](const Tensor& y) { return run.dropout(y, mlp.dropout, "dropped"); };
  if (mlp.gate_up && run.liger.glu) {
    const Tensor both = apply(run, *mlp.gate_up, x);  // Its halves have names until the end.
    Tensor product = liger_glu_of_halves(tape, both, "product");
    return apply(run, *mlp.down, std::exchange(product, Tensor{}));
  }
  if (mlp.gate && run.liger.glu) {
    Tensor product = liger_glu(tape, apply(run, *mlp.gate, x), apply(run, *mlp.up, x), "product");
    return apply(run, *mlp.down, std::exchange(product, Tensor{}));
  }
  if (mlp.gate_up) {
    const Tensor both = apply(run, *mlp.gate_up, x);
    const Tensor gate = ops::narrow_last(tape, both, mlp.shape.intermediate);
    const Tensor up = ops::narrow_last(tape, both, mlp.shape.intermediate);
    // A statement of its own: the activated half goes before the last product.
    Tensor product = ops::mul(tape, up, activate(run, mlp.shape.activation, gate), "product");
    return apply(run, *mlp.down, between(std::exchange(product, Tensor{})));
  }
  if (!mlp.gate) {
    Tensor activated = between(activate(run, mlp.shape.activation, apply(run, *mlp.up, x)));
    if (inner != nullptr && mlp.shape.names_inner) *inner = activated;
    return apply(run, *mlp.down, std::exchange(activated, Tensor{}));
  }
  Tensor product;
  if (mlp.shape.scaled) {
    {
      const Tensor up = apply(run, *mlp.up, x);
      const Tensor gate = ops::scale(tape, apply(run, *mlp.gate, x), "gate.scaled");
      product = ops::mul(tape, up, activate(run, mlp.shape.activation, gate), "product");
    }
    return ops::scale(tape, apply(run, *mlp.down, product), "scaled");
  }
  {
    const Tensor activated = activate(run, mlp.shape.activation, apply(run, *mlp.gate, x));
    product = ops::mul(tape, activated, apply(run, *mlp.up, x), "product");
  }
  return apply(run, *mlp.down, between(std::exchange(product, Tensor{})));
}

Tensor apply(Run& run, const ExpertLayer& layer, const Tensor& x) {
  if (layer.gate_up) return apply_grouped(run, layer, x);
  Tape& tape = run.tape;
  const std::uint64_t width = x.shape.back();
  const std::uint64_t tokens = x.elements() / width;
  const std::uint64_t count = layer.shape.count;
  const std::uint64_t chosen = std::min(layer.shape.per_token, count);
  const Tensor rows = Tape::view(x, {tokens, width});
  const Tensor router = apply(run, layer.router, rows);
  const Tensor probabilities = ops::softmax(tape, router, Element::fp32, "router.probabilities");
  Tensor weights = ops::take(tape, probabilities, {tokens, chosen}, "router.top");
  const Tensor experts_of = tape.empty("router.experts", {{tokens, chosen}, Element::int64});
  weights = ops::cast(tape, weights, x.element, "router.weights");
  Tensor sum = tape.empty("experts.sum", {{tokens, width}, x.element});
  const Tensor mask = tape.empty("experts.mask", {{count, chosen, tokens}, Element::int64});
  // Spread evenly; what is left over goes to the first ones.
  const std::uint64_t pairs = tokens * chosen;
  Tensor mine,
      out;  // Python's loop variables: the last expert's live until the next one's are made.
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t own = pairs / count + (i < pairs % count ? 1 : 0);
    if (own == 0) continue;
    const Scope scope(tape, layer.name, i);
    const Tensor where = tape.empty("where", {{2, own}, Element::int64});
    mine = ops::take(tape, rows, {own, width}, "input");
    const Tensor share = ops::take(tape, weights, {own, 1}, "weights");
    out = ops::mul(tape, apply(run, layer.each[i], mine), share, "weighted");
    // index_add_'s derivative asks for the rows' shape, and so keeps them.
    sum = ops::add_rows_in_place(tape, sum, ops::cast(tape, out, x.element, "narrow"),
                                 run.version < grouped_experts);
  }
  if (layer.shared) {
    Tensor shared;
    if (layer.shared_gate) {
      const Tensor gate =
          ops::sigmoid(tape, apply(run, *layer.shared_gate, rows), "shared_expert.gate");
      shared = ops::mul(tape, gate, apply(run, *layer.shared, rows), "shared_expert");
    } else {
      shared = apply(run, *layer.shared, rows);
    }
    sum = ops::add(tape, sum, shared, "experts.with_shared");
  }
  return Tape::view(sum, x.shape);
}

}  // namespace headroom::estimate::transformers
