// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/bytes.h"
#include "estimate/llama_cpp/network_parts.h"

namespace headroom::estimate::llama {
namespace {

constexpr std::uint64_t mask_padding = 64;  // Of older builds, GGML_KQ_MASK_PAD.
constexpr std::uint64_t rotation_size = 64;

std::uint64_t elements(const Tensor& tensor) {
  return tensor.ne[0] * tensor.rows();
}

bool is_dense(const Tensor& tensor) {
  return tensor.nb[1] == row_bytes(tensor.type, tensor.ne[0]) &&
         tensor.nb[2] == tensor.nb[1] * tensor.ne[1] && tensor.nb[3] == tensor.nb[2] * tensor.ne[2];
}

}  // namespace

AttentionInputs::AttentionInputs(Parts& parts)
    : parts_(parts), positions_(parts.graph.add_input(i32, {parts.context.tokens, 1, 1, 1})) {
  const auto turns = [&](std::uint32_t type, std::uint64_t Layer::*size) {
    if (!parts.context.build.rotates_cache || !is_quantised(type)) return false;
    const std::uint64_t first = parts.model.layers.front().*size;
    return first > 0 && first % rotation_size == 0 &&
           std::all_of(parts.model.layers.begin(), parts.model.layers.end(),
                       [&](const Layer& layer) { return layer.*size == first; });
  };
  rotates_k_ = turns(parts.context.type_k, &Layer::key_size);
  rotates_v_ = turns(parts.context.type_v, &Layer::value_size);
}

AttentionInputs::Heads AttentionInputs::project(std::uint64_t layer, TensorId input) {
  Parts& p = parts_;
  const Layer& shape = p.model.layers[layer];
  const std::uint64_t tokens = p.context.tokens;
  const Sizes q = {shape.key_size, shape.heads, tokens, 1};
  const Sizes k = {shape.key_size, shape.kv_heads, tokens, 1};
  const Sizes v = {shape.value_size, shape.kv_heads, tokens, 1};
  if (const auto fused = p.weight(layer, "attn_qkv.weight")) {
    const TensorId all = p.add_bias(p.mul_mat(*fused, input), p.weight(layer, "attn_qkv.bias"));
    const auto part = [&](const Sizes& ne) {
      const std::uint64_t row = p.graph.at(all).nb[1];
      return p.graph.add_view(all, ne, Sizes{4, 4 * ne[0], row, row * tokens});
    };
    return {part(q), part(k), part(v)};
  }
  const auto one = [&](const std::string& name, const Sizes& ne) {
    const auto weight = p.weight(layer, name + ".weight");
    const TensorId made =
        weight ? p.mul_mat(*weight, input)
               : p.graph.add(Op::mul_mat, f32, {ne[0] * ne[1], tokens, 1, 1}, {input});
    return p.shaped(p.add_bias(made, p.weight(layer, name + ".bias")), ne);
  };
  Heads heads{};
  heads.q = one("attn_q", q);
  heads.k = one("attn_k", k);
  // Some layers of Gemma 4 take their keys for values.
  heads.v = p.model.find(layer, "attn_v.weight") != nullptr ? one("attn_v", v) : heads.k;
  return heads;
}

TensorId AttentionInputs::turn(std::uint64_t layer, TensorId heads) {
  std::vector<TensorId> sources = {heads, positions_};
  if (const Weight* factors = parts_.model.find("rope_freqs.weight"))
    sources.push_back(parts_.graph.add_held(factors->type, factors->ne,
                                            parts_.placement.layer_backend[layer], true));
  return parts_.graph.add(Op::rope, f32, parts_.ne(heads), std::move(sources));
}

std::optional<TensorId> AttentionInputs::rotation(bool of_keys) {
  if (of_keys ? !rotates_k_ : !rotates_v_) return std::nullopt;
  std::optional<TensorId>& made = of_keys ? rotation_k_ : rotation_v_;
  if (made) return made;
  std::uint64_t size = rotation_size;
  if (of_keys) {
    const std::uint64_t head = parts_.model.layers.front().key_size;
    while (head % (2 * size) == 0) size *= 2;
  }
  made = parts_.graph.add_input(f32, {size, size, 1, 1});
  return made;
}

TensorId AttentionInputs::rotated(TensorId heads, TensorId rotation) {
  Parts& p = parts_;
  const Sizes ne = p.ne(heads);
  const std::uint64_t size = p.ne(rotation)[0];
  const Sizes flat = {size, elements(p.graph.at(heads)) / size, 1, 1};
  const TensorId rows = is_dense(p.graph.at(heads)) ? p.shaped(heads, flat)
                                                    : p.graph.add(Op::convert, f32, flat, {heads});
  return p.shaped(p.mul_mat(rotation, rows), ne);
}

TensorId AttentionInputs::mask(bool windowed) {
  std::optional<TensorId>& made = masks_[windowed ? 1 : 0];
  if (made) return *made;
  const Context& context = parts_.context;
  const std::uint64_t cells = windowed ? context.window_cells : context.cells;
  const std::uint64_t tokens = context.tokens / context.streams;
  if (context.build.half_mask) {
    made = parts_.graph.add_input(context.flash ? f16 : f32, {cells, tokens, 1, context.streams});
    return *made;
  }
  const Sizes ne = {cells, round_up(tokens, mask_padding), 1, context.streams};
  made = parts_.graph.add_input(f32, ne);
  if (context.flash) made = parts_.graph.add(Op::convert, f16, ne, {*made});
  return *made;
}

AttentionInputs::Cache AttentionInputs::cache(std::uint64_t layer) {
  Parts& p = parts_;
  const Layer& shape = p.model.layers[layer];
  const Context& context = p.context;
  const bool windowed = shape.windowed;
  const std::uint32_t home =
      p.options.kv_offload ? p.placement.layer_backend[layer] : p.placement.cpu();
  const std::uint64_t cells = windowed ? context.window_cells : context.cells;
  std::uint64_t widest = shape.kv_heads * shape.value_size;
  if (!context.flash) {
    for (const Layer& one : p.model.layers)
      widest = std::max(widest, one.kv_heads * one.value_size);
  }
  const std::size_t kind = windowed ? 1 : 0;
  if (!rows_k_[kind]) {
    rows_k_[kind] = p.graph.add_input(i64, {context.tokens, 1, 1, 1});
    rows_v_[kind] =
        p.graph.add_input(i64, {context.tokens * (context.flash ? 1 : widest), 1, 1, 1});
  }
  const TensorId k = p.graph.add_held(
      context.type_k, {shape.kv_heads * shape.key_size, cells, context.streams, 1}, home, false);
  const TensorId v =
      keys_alone(layer)
          ? k
          : p.graph.add_held(context.type_v, {widest, cells, context.streams, 1}, home, false);
  return {k, v, *rows_k_[kind], *rows_v_[kind], mask(windowed)};
}

void AttentionInputs::store(std::uint64_t layer, const Heads& heads, const Cache& cache) {
  Parts& p = parts_;
  const Layer& shape = p.model.layers[layer];
  const std::uint64_t tokens = p.context.tokens;
  const std::uint64_t width_v = shape.kv_heads * shape.value_size;
  if (keys_alone(layer)) {
    const TensorId k = p.shaped(heads.k, {shape.kv_heads * shape.key_size, tokens, 1, 1});
    p.graph.expand(p.graph.add_write(cache.k, {k, cache.rows_k, cache.k}));
    return;
  }
  const bool by_rows = p.context.build.writes_by_rows;
  if (!by_rows) {
    p.graph.expand(p.graph.add_write(cache.k, {heads.k, cache.k}));
    TensorId v = p.shaped(heads.v, {width_v, tokens, 1, 1});
    if (!p.context.flash) v = p.graph.add_view(v, {tokens, width_v, 1, 1});
    p.graph.expand(p.graph.add_write(cache.v, {v, cache.v}));
    return;
  }
  const TensorId k = p.shaped(heads.k, {shape.kv_heads * shape.key_size, tokens, 1, 1});
  p.graph.expand(p.graph.add_write(cache.k, {k, cache.rows_k, cache.k}));
  const bool copied = !p.context.flash && !is_dense(p.graph.at(heads.v));
  TensorId v = copied ? p.graph.add(Op::convert, f32, {width_v, tokens, 1, 1}, {heads.v})
                      : p.shaped(heads.v, {width_v, tokens, 1, 1});
  const std::uint64_t held = p.ne(cache.v)[0];
  if (!p.context.flash) {
    if (width_v < held) v = p.graph.add(Op::convert, f32, {held, tokens, 1, 1}, {v});
    v = p.shaped(v, {1, held * tokens, 1, 1});
  }
  p.graph.expand(p.graph.add_write(cache.v, {v, cache.rows_v, cache.v}));
}

TensorId AttentionInputs::scores(std::uint64_t layer, const Heads& heads, const Cache& cache) {
  Parts& p = parts_;
  const Layer& shape = p.model.layers[layer];
  const std::uint64_t cells = p.ne(cache.k)[1];
  const std::uint64_t streams = p.context.streams;
  const std::uint32_t tk = p.context.type_k;
  const std::uint32_t tv = keys_alone(layer) ? tk : p.context.type_v;
  const auto view = [&](TensorId of, std::uint32_t type, std::uint64_t size) {
    const std::uint64_t row = row_bytes(type, p.ne(of)[0]);
    return p.graph.add_view(of, {size, shape.kv_heads, cells, streams},
                            Sizes{p.graph.at(of).nb[0], row_bytes(type, size), row, row * cells});
  };
  const TensorId k = p.graph.permute(view(cache.k, tk, shape.key_size));
  const TensorId q = p.graph.permute(
      p.shaped(heads.q, {shape.key_size, shape.heads, p.context.tokens / streams, streams}));
  if (p.context.flash) {
    const TensorId v = p.graph.permute(view(cache.v, tv, shape.value_size));
    return flash(layer, q, k, v, cache.mask);
  }
  if (keys_alone(layer)) {
    // Turned for the product, as rows of the cache are not.
    const TensorId rows = p.graph.permute(view(cache.v, tv, shape.value_size));
    const TensorId turned =
        p.graph.add(Op::convert, tv, {cells, shape.value_size, shape.kv_heads, streams}, {rows});
    return plain(layer, q, k, turned, cache.mask);
  }
  const std::uint64_t row = row_bytes(tv, cells);
  const TensorId v = p.graph.add_view(
      cache.v, {cells, shape.value_size, shape.kv_heads, streams},
      Sizes{row_bytes(tv, 1), row, row * shape.value_size, row * p.ne(cache.v)[0]});
  return plain(layer, q, k, v, cache.mask);
}

TensorId AttentionInputs::flash(std::uint64_t layer, TensorId q, TensorId k, TensorId v,
                                TensorId mask) {
  Parts& p = parts_;
  std::vector<TensorId> sources = {q, k, v, mask};
  if (const auto sinks = p.weight(layer, "attn_sinks.weight")) sources.push_back(*sinks);
  const Sizes of_q = p.ne(q);
  const TensorId result = p.graph.add(Op::flash_attention, f32,
                                      {p.ne(v)[0], of_q[2], of_q[1], of_q[3]}, std::move(sources));
  Tensor& tensor = p.graph.at(result);
  if (p.context.build.converts_in_graph) {
    std::uint64_t end = tensor.bytes();
    for (const TensorId operand : {k, v}) {
      if (p.graph.at(operand).type == f16) continue;
      end = round_up(end, 128) + 2 * elements(p.graph.at(operand));
    }
    tensor.extra_bytes = end - tensor.bytes();
  }
  if (p.weight(layer, "attn_v_b.weight")) {
    const TensorId heads = p.graph.permute(restore(layer, p.graph.permute(result)));
    const Sizes ne = p.ne(heads);
    const TensorId dense = p.graph.add(Op::convert, f32, ne, {heads});
    return p.shaped(dense, {ne[0] * ne[1], ne[2] * ne[3], 1, 1});
  }
  return p.shaped(result, {p.ne(v)[0] * of_q[2], of_q[1] * of_q[3], 1, 1});
}

TensorId AttentionInputs::plain(std::uint64_t layer, TensorId q, TensorId k, TensorId v,
                                TensorId mask) {
  Parts& p = parts_;
  TensorId scores = p.mul_mat(k, q);
  if (p.model.caps_scores) {
    for (const Op op : {Op::scale, Op::unary, Op::scale}) scores = p.same(op, scores, {scores});
  }
  std::vector<TensorId> sources = {scores, mask};
  if (const auto sinks = p.weight(layer, "attn_sinks.weight")) sources.push_back(*sinks);
  scores = p.same(Op::soft_max, scores, std::move(sources));
  const TensorId mixed = p.graph.permute(restore(layer, p.mul_mat(v, scores)));
  const Sizes ne = p.ne(mixed);
  const TensorId result =
      p.graph.add(Op::convert, f32, {ne[0] * ne[1], ne[2] * ne[3], 1, 1}, {mixed});
  if (!p.options.kv_offload) p.graph.at(result).forced_on = p.placement.cpu();
  return result;
}

TensorId AttentionInputs::attend(std::uint64_t layer, TensorId input) {
  Parts& p = parts_;
  Heads heads{};
  if (is_latent(layer)) {
    heads = project_latent(layer, input);
  } else {
    heads = project(layer, input);
    const auto normed = [&](TensorId id, const char* name) {
      const auto scale = p.weight(layer, name);
      return scale ? p.norm(id, scale, std::nullopt, layer) : id;
    };
    heads.q = turn(layer, normed(heads.q, "attn_q_norm.weight"));
    heads.k = turn(layer, normed(heads.k, "attn_k_norm.weight"));
  }
  if (p.model.family.scaled_query) heads.q = p.same(Op::scale, heads.q, {heads.q});
  const auto rotation_k = rotation(true);
  const auto rotation_v = rotation(false);
  if (rotation_k) {
    heads.q = rotated(heads.q, *rotation_k);
    heads.k = rotated(heads.k, *rotation_k);
  }
  if (rotation_v) heads.v = rotated(heads.v, *rotation_v);
  p.graph.expand(heads.q);
  if (p.context.build.value_first) p.graph.expand(heads.v);
  p.graph.expand(heads.k);
  p.graph.expand(heads.v);
  const Cache held = cache(layer);
  store(layer, heads, held);
  TensorId result = scores(layer, heads, held);
  p.graph.expand(result);
  if (rotation_v) result = rotated(result, *rotation_v);
  if (const auto output = p.weight(layer, "attn_output.weight"))
    result = p.mul_mat(*output, result);
  return p.add_bias(result, p.weight(layer, "attn_output.bias"));
}

}  // namespace headroom::estimate::llama
