// SPDX-License-Identifier: Apache-2.0
// Attention over a latent of keys and values, as DeepSeek has it. A file holds the matrices that
// expand the latent either whole (attn_kv_b: keys and values of all heads are cached), or taken
// apart (attn_k_b, attn_v_b: absorbed into queries and results, and the latent itself is cached).
// Source: ggml-org/llama.cpp, src/models/deepseek2.cpp and build_attn_mha in src/llama-graph.cpp.
#include "estimate/llama_cpp/network_parts.h"

namespace headroom::estimate::llama {

bool AttentionInputs::is_latent(std::uint64_t layer) const {
  return parts_.model.find(layer, "attn_kv_a_mqa.weight") != nullptr;
}

bool AttentionInputs::keys_alone(std::uint64_t layer) const {
  return parts_.context.build.values_in_keys &&
         parts_.model.find(layer, "attn_v_b.weight") != nullptr;
}

AttentionInputs::Heads AttentionInputs::project_latent(std::uint64_t layer, TensorId input) {
  Parts& p = parts_;
  const std::uint64_t tokens = p.context.tokens;
  TensorId q = input;
  if (const auto narrow = p.weight(layer, "attn_q_a.weight")) {
    q = p.norm(p.mul_mat(*narrow, input), p.weight(layer, "attn_q_a_norm.weight"), std::nullopt,
               layer);
    if (const auto wide = p.weight(layer, "attn_q_b.weight")) q = p.mul_mat(*wide, q);
  } else if (const auto whole = p.weight(layer, "attn_q.weight")) {
    q = p.mul_mat(*whole, input);
  }
  const std::uint64_t heads = p.model.layers[layer].heads;
  q = p.shaped(q, {p.ne(q)[0] / heads, heads, tokens, 1});
  const TensorId both = p.mul_mat(*p.weight(layer, "attn_kv_a_mqa.weight"), input);
  const auto scale = p.weight(layer, "attn_kv_a_norm.weight");
  const std::uint64_t rank = scale ? p.ne(*scale)[0] : p.ne(both)[0];
  const std::uint64_t row = p.graph.at(both).nb[1];
  const std::uint64_t turned = p.ne(both)[0] - rank;
  TensorId latent =
      p.graph.add_view(both, {rank, tokens, 1, 1}, Sizes{4, row, row * tokens, row * tokens});
  TensorId k = p.graph.add_view(both, {turned, 1, tokens, 1}, Sizes{4, row, row, row * tokens});
  if (p.context.build.copies_latent) latent = p.graph.add(Op::convert, f32, p.ne(latent), {latent});
  latent = p.norm(latent, scale, std::nullopt, layer);
  if (p.context.build.copies_latent) k = p.graph.add(Op::convert, f32, p.ne(k), {k});
  k = turn(layer, k);
  return p.weight(layer, "attn_k_b.weight") ? absorb(layer, q, latent, k)
                                            : expand_latent(layer, q, latent, k);
}

AttentionInputs::Heads AttentionInputs::absorb(std::uint64_t layer, TensorId q, TensorId latent,
                                               TensorId k_turned) {
  Parts& p = parts_;
  const Sizes all = p.ne(q);
  const Sizes nb = p.graph.at(q).nb;
  const std::uint64_t turned = p.ne(k_turned)[0];
  const std::uint64_t rank = p.ne(latent)[0];
  const std::uint64_t tokens = all[2];
  const TensorId plain = p.graph.add_view(q, {all[0] - turned, all[1], tokens, 1}, nb);
  const TensorId q_turned = turn(layer, p.graph.add_view(q, {turned, all[1], tokens, 1}, nb));
  const TensorId absorbed =
      p.graph.permute(p.mul_mat(*p.weight(layer, "attn_k_b.weight"), p.graph.permute(plain)));
  const TensorId values = p.shaped(latent, {rank, 1, tokens, 1});
  Heads heads{};
  heads.q = p.graph.add(Op::convert, f32, {turned + rank, all[1], tokens, 1}, {q_turned, absorbed});
  heads.k = p.graph.add(Op::convert, f32, {turned + rank, 1, tokens, 1}, {k_turned, values});
  heads.v = values;
  return heads;
}

AttentionInputs::Heads AttentionInputs::expand_latent(std::uint64_t layer, TensorId q,
                                                      TensorId latent, TensorId k_turned) {
  Parts& p = parts_;
  const Layer& shape = p.model.layers[layer];
  const Sizes all = p.ne(q);
  const std::uint64_t turned = p.ne(k_turned)[0];
  const std::uint64_t tokens = all[2];
  const std::uint64_t plain = all[0] - turned;
  Heads heads{};
  const auto matrix = p.weight(layer, "attn_kv_b.weight");
  const TensorId both = matrix ? p.mul_mat(*matrix, latent) : latent;
  const std::uint64_t head = 4 * (plain + shape.value_size);
  const Sizes nb = {4, head, head * all[1], head * all[1] * tokens};
  const TensorId k = p.graph.add_view(both, {plain, all[1], tokens, 1}, nb);
  const Sizes of_v = {shape.value_size, all[1], tokens, 1};
  heads.v = p.graph.add(Op::convert, f32, of_v, {p.graph.add_view(both, of_v, nb)});
  const TensorId q_turned =
      turn(layer, p.graph.add_view(q, {turned, all[1], tokens, 1}, p.graph.at(q).nb));
  const TensorId q_plain = p.graph.add_view(q, {plain, all[1], tokens, 1}, p.graph.at(q).nb);
  heads.q = p.graph.add(Op::convert, f32, all, {q_plain, q_turned});
  const TensorId repeated = p.graph.add(Op::convert, f32, {turned, all[1], tokens, 1}, {k_turned});
  heads.k = p.graph.add(Op::convert, f32, all, {k, repeated});
  return heads;
}

TensorId AttentionInputs::restore(std::uint64_t layer, TensorId mixed) {
  const auto matrix = parts_.weight(layer, "attn_v_b.weight");
  return matrix ? parts_.mul_mat(*matrix, mixed) : mixed;
}

}  // namespace headroom::estimate::llama
