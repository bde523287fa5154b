// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "estimate/llama_cpp/network_parts.h"

namespace headroom::estimate::llama {
namespace {

// The activation of `gate` times `up`.
TensorId gated(Parts& p, TensorId gate, TensorId up) {
  if (p.context.build.fused_glu) return p.same(Op::glu, gate, {gate, up});
  const TensorId active = p.same(Op::unary, gate, {gate});
  return p.same(Op::mul, active, {active, up});
}

// Gate and up lie in one product, a half each.
TensorId gated_halves(Parts& p, TensorId both) {
  const Sizes ne = p.ne(both);
  const Sizes half = {ne[0] / 2, ne[1], ne[2], ne[3]};
  if (p.context.build.fused_glu) return p.graph.add(Op::glu, f32, half, {both});
  const Sizes nb = p.graph.at(both).nb;
  const auto part = [&] {
    return p.graph.add(Op::convert, f32, half, {p.graph.add_view(both, half, nb)});
  };
  const TensorId gate = part();
  const TensorId up = part();
  const TensorId active = p.same(Op::unary, gate, {gate});
  return p.same(Op::mul, active, {active, up});
}

TensorId dense(Parts& p, std::uint64_t layer, TensorId input, const std::string& suffix) {
  const auto named = [&](const std::string& part, const char* kind) {
    return p.weight(layer, "ffn_" + part + suffix + kind);
  };
  const auto up_weight = named("up", ".weight");
  const auto down_weight = named("down", ".weight");
  if (!up_weight || !down_weight) return input;
  TensorId up = p.add_bias(p.mul_mat(*up_weight, input), named("up", ".bias"));
  TensorId active = up;
  if (const auto gate_weight = named("gate", ".weight")) {
    const TensorId gate = p.add_bias(p.mul_mat(*gate_weight, input), named("gate", ".bias"));
    active = gated(p, gate, up);
  } else if (p.ne(up)[0] == 2 * p.ne(*down_weight)[0]) {
    active = gated_halves(p, up);
  } else {
    active = p.same(Op::unary, up, {up});
  }
  return p.add_bias(p.mul_mat(*down_weight, active), named("down", ".bias"));
}

// Backends that fuse as ggml-cuda does; Vulkan's own fusions are not followed.
bool fuses(const Parts& p) {
  return p.context.build.keeps_fused &&
         (p.options.devices.empty() || !p.options.devices.front().starts_with("Vulkan"));
}

// ggml-cuda/topk-moe.cu: counts of experts that a kernel was made for.
bool fuses_choice(const Parts& p) {
  const std::uint64_t count = p.model.experts;
  const bool known = (std::has_single_bit(count) && count <= 512) || count == 288 || count == 576;
  return fuses(p) && known && !p.model.family.softmax_of_chosen;
}

struct Choice {
  TensorId chosen;
  TensorId weights;
};

Choice choose(Parts& p, std::uint64_t layer, TensorId input) {
  const Family& family = p.model.family;
  const std::uint64_t tokens = p.ne(input)[1];
  const std::uint64_t used = p.model.experts_used;
  const TensorId logits = p.add_bias(p.mul_mat(*p.weight(layer, "ffn_gate_inp.weight"), input),
                                     p.weight(layer, "ffn_gate_inp.bias"));
  p.graph.expand(logits);
  const std::size_t first = p.graph.nodes().size();
  TensorId shares = logits;
  if (!family.softmax_of_chosen)
    shares = p.same(family.sigmoid_gate ? Op::unary : Op::soft_max, logits, {logits});
  const TensorId judged = p.add_bias(shares, p.weight(layer, "exp_probs_b.bias"));
  const TensorId order = p.graph.add(Op::argsort, i32, p.ne(judged), {judged});
  const TensorId chosen = p.graph.add_view(order, {used, tokens, 1, 1}, p.graph.at(order).nb);
  TensorId weights = p.get_rows(p.shaped(shares, {1, p.model.experts, tokens, 1}), chosen);
  const Sizes flat = {used, tokens, 1, 1};
  const Sizes tall = {1, used, tokens, 1};
  if (family.softmax_of_chosen) {
    weights = p.shaped(weights, flat);
    weights = p.shaped(p.same(Op::soft_max, weights, {weights}), tall);
  }
  if (family.weights_normed) {
    weights = p.shaped(weights, flat);
    TensorId sum = p.graph.add(Op::sum_rows, f32, {1, tokens, 1, 1}, {weights});
    if (p.context.build.value_first) sum = p.same(Op::clamp, sum, {sum});
    weights = p.shaped(p.same(Op::div, weights, {weights, sum}), tall);
  }
  if (p.model.expert_scale != 0 && p.model.expert_scale != 1)
    weights = p.same(Op::scale, weights, {weights});
  p.graph.expand(weights);
  if (fuses_choice(p)) {
    const auto& nodes = p.graph.nodes();
    Kept kept{{}, nodes.back(), true};
    for (std::size_t i = first; i < nodes.size(); ++i) {
      kept.tensors.push_back(nodes[i]);
      for (const TensorId source : p.graph.at(nodes[i]).sources) kept.tensors.push_back(source);
    }
    p.graph.keep(std::move(kept));
  }
  return {chosen, weights};
}

TensorId experts(Parts& p, std::uint64_t layer, TensorId input) {
  const Sizes in = p.ne(input);
  const Choice choice = choose(p, layer, input);
  const TensorId rows = p.shaped(input, {in[0], 1, in[1], 1});
  const auto product = [&](const std::string& name, TensorId of) {
    const TensorId made = p.mul_mat_id(*p.weight(layer, name + ".weight"), of, choice.chosen);
    const auto bias = p.weight(layer, name + ".bias");
    return bias ? p.same(Op::add_id, made, {made, *bias, choice.chosen}) : made;
  };
  TensorId active = 0;
  if (p.model.find(layer, "ffn_gate_up_exps.weight") != nullptr) {
    active = gated_halves(p, product("ffn_gate_up_exps", rows));
  } else {
    const TensorId up = product("ffn_up_exps", rows);
    active = p.model.find(layer, "ffn_gate_exps.weight") != nullptr
                 ? gated(p, product("ffn_gate_exps", rows), up)
                 : p.same(Op::unary, up, {up});
  }
  const TensorId unweighted = product("ffn_down_exps", active);
  const TensorId all = p.same(Op::mul, unweighted, {unweighted, choice.weights});
  p.graph.expand(all);
  const Tensor held = p.graph.at(all);
  std::vector<TensorId> each;
  for (std::uint64_t i = 0; i < p.model.experts_used; ++i) {
    each.push_back(
        p.graph.add_view(all, {held.ne[0], in[1], 1, 1},
                         Sizes{held.nb[0], held.nb[2], held.nb[2] * in[1], held.nb[2] * in[1]}));
    p.graph.expand(each.back());
  }
  TensorId sum = each.front();
  for (std::size_t i = 1; i < each.size(); ++i) {
    sum = p.same(Op::add, sum, {sum, each[i]});
    p.graph.expand(sum);
  }
  constexpr std::uint64_t fused_max = 15;  // ggml-cuda.cu, MOE_WEIGHTED_REDUCTION_MAX_EXPERTS.
  if (fuses(p) && each.size() >= 2 && each.size() <= fused_max)
    p.graph.keep({{unweighted, choice.weights}, sum, false});
  return each.size() == 1 ? p.same(Op::convert, sum, {sum}) : sum;
}

TensorId shared_expert(Parts& p, std::uint64_t layer, TensorId input, TensorId sum) {
  if (!p.weight(layer, "ffn_up_shexp.weight")) return sum;
  std::optional<TensorId> gate;
  if (const auto weight = p.weight(layer, "ffn_gate_inp_shexp.weight")) {
    const TensorId logits = p.mul_mat(*weight, input);
    const TensorId active = p.same(Op::unary, logits, {logits});
    gate = p.same(Op::div, active, {active, logits});
  }
  TensorId shared = dense(p, layer, input, "_shexp");
  if (gate) shared = p.same(Op::mul, shared, {shared, *gate});
  return p.same(Op::add, sum, {sum, shared});
}

}  // namespace

bool has_experts(Parts& parts, std::uint64_t layer) {
  const auto needed = {"ffn_gate_inp.weight", "ffn_down_exps.weight"};
  for (const char* name : needed) {
    if (parts.model.find(layer, name) == nullptr) return false;
  }
  const bool up = parts.model.find(layer, "ffn_up_exps.weight") != nullptr ||
                  parts.model.find(layer, "ffn_gate_up_exps.weight") != nullptr;
  return up && parts.model.experts_used > 0;
}

TensorId feed_forward(Parts& parts, std::uint64_t layer, TensorId input) {
  if (!has_experts(parts, layer)) return dense(parts, layer, input, "");
  return shared_expert(parts, layer, input, experts(parts, layer, input));
}

}  // namespace headroom::estimate::llama
