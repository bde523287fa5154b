// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/network_parts.h"

#include <fmt/format.h>

#include <utility>

namespace headroom::estimate::llama {

std::optional<TensorId> Parts::weight(const std::string& name) {
  if (const auto known = weights_.find(name); known != weights_.end()) return known->second;
  const auto found = model.by_name.find(name);
  if (found == model.by_name.end()) return std::nullopt;
  const Weight& one = model.weights[found->second];
  const TensorId id =
      graph.add_held(one.type, one.ne, placement.weight_backend[found->second], true);
  weights_.emplace(name, id);
  return id;
}

std::optional<TensorId> Parts::weight(std::uint64_t layer, std::string_view name) {
  return weight(fmt::format("blk.{}.{}", layer, name));
}

TensorId Parts::output_weight() {
  if (const auto own = weight("output.weight")) return *own;
  const Weight* embedding = model.find("token_embd.weight");
  const std::uint32_t type = embedding == nullptr ? f16 : embedding->type;
  return graph.add_held(type, {model.hidden, model.vocabulary, 1, 1}, placement.output_backend,
                        true);
}

TensorId Parts::same(Op op, TensorId like, std::vector<TensorId> sources) {
  return graph.add(op, graph.at(like).type, ne(like), std::move(sources));
}

TensorId Parts::mul_mat(TensorId weight, TensorId input) {
  const Sizes& in = ne(input);
  return graph.add(Op::mul_mat, f32, {ne(weight)[1], in[1], in[2], in[3]}, {weight, input});
}

TensorId Parts::mul_mat_id(TensorId weight, TensorId input, TensorId chosen) {
  return graph.add(Op::mul_mat_id, f32, {ne(weight)[1], ne(chosen)[0], ne(input)[2], 1},
                   {weight, input, chosen});
}

TensorId Parts::get_rows(TensorId from, TensorId rows) {
  const Sizes& of = ne(rows);
  return graph.add(Op::get_rows, f32, {ne(from)[0], of[0], of[1], of[2]}, {from, rows});
}

TensorId Parts::add_bias(TensorId input, std::optional<TensorId> bias) {
  return bias ? same(Op::add, input, {input, *bias}) : input;
}

TensorId Parts::norm(TensorId input, std::optional<TensorId> scale, std::optional<TensorId> shift,
                     std::optional<std::uint64_t> layer) {
  const bool centred = scale && shift && model.architecture != "phi3";
  TensorId result = same(centred ? Op::norm : Op::rms_norm, input, {input});
  const bool placed = placement.is_whole(model) || context.tokens < 32;
  if (layer && placed && (scale || shift))
    graph.at(result).forced_on = placement.layer_backend[*layer];
  if (scale) result = same(Op::mul, result, {result, *scale});
  return add_bias(result, shift);
}

}  // namespace headroom::estimate::llama
