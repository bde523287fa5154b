// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_deepseek_v2.py (apply_rotary_emb, by complex numbers) and
// modeling_deepseek_v3.py (apply_rotary_pos_emb_interleave; expand_kv).
#include "estimate/transformers/latent.h"

#include <array>
#include <utility>

#include "estimate/models/latent_attention.h"
#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {
namespace {

// torch.split in two over the last dimension: views, whose gradients are joined once. The second
// one's stands beside the first's until then.
std::array<Tensor, 2> split_last(const Tape& tape, const Tensor& x, std::uint64_t first) {
  const Meta whole = x.meta();
  Meta second{x.shape, x.element};
  second.shape.back() -= first;
  Tensor part = x;
  part.shape.back() = first;
  part.node = nullptr;
  part = tape.connect(part, {x}, {}, [=](Tape& t, const Tensor&, const Node&) -> Tensors {
    const Tensor other = t.empty("split.other_grad", second);
    return {t.empty("split.grad", whole)};
  });
  Tensor rest = part;
  rest.shape = second.shape;
  return {part, rest};
}

// Pairs of neighbours are turned: even and odd places by themselves, then joined.
Tensor rotate_pairs(Run& run, const Shared& shared, const Tensor& x) {
  Tape& tape = run.tape;
  const std::uint64_t half = x.shape.back() / 2;
  const Tensor cos = Tape::view(*shared.cos, {1, shared.cos->shape[1], half});
  const Tensor sin = Tape::view(*shared.sin, {1, shared.sin->shape[1], half});
  const Tensor even = ops::narrow_last(tape, x, half);
  const Tensor odd = ops::narrow_last(tape, x, half);
  const auto turned = [&](const Tensor& a, const Tensor& b) {
    return ops::add(tape, ops::mul(tape, a, cos, "cos"), ops::mul(tape, b, sin, "sin"), "turned");
  };
  const Tensor first = turned(even, odd);
  return ops::concat_last(tape, first, turned(odd, even), "rotated");
}

// The same by a product of complex numbers, which are two floats each.
Tensor rotate_complex(Run& run, const Shared& shared, const Tensor& x) {
  Tape& tape = run.tape;
  const Tensor wide = ops::cast(tape, x, Element::fp32, "fp32");
  return ops::cast(tape, ops::mul(tape, wide, *shared.cos, "turned"), x.element, "rotated");
}

// key_states[..., :n].copy_(…): its derivative copies the whole gradient, and the part again.
Tensor write_part(const Tape& tape, const Tensor& whole, const Tensor& part, Name name) {
  const Meta all = whole.meta();
  const Meta given = part.meta();
  Meta written = all;
  written.shape.back() = given.shape.back();
  Tensor same = whole;
  same.node = nullptr;
  return tape.connect(
      same, {whole, part}, {}, [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
        Tensors grads(2);
        Tensor copied = t.empty(name + ".whole_grad", all);
        if (node.wants(1)) {
          grads[1] = t.empty(name + ".grad", written);
          if (given.elements() != written.elements() || given.element != written.element)
            grads[1] = t.empty(name + ".grad_sum", given);
        }
        if (node.wants(0)) grads[0] = std::move(copied);
        return grads;
      });
}

struct Narrow {
  Tensor latent;  // [batch, 1, tokens, kv_rank]
  Tensor turned;  // [batch, 1, tokens, rope]
};

// Keys and values of each head from the narrow rows of all tokens.
void expand(Run& run, const AttentionLayer& layer, const Narrow& narrow, Qkv& heads) {
  const LatentAttention& latent = *layer.shape.latent;
  Tape& tape = run.tape;
  const std::uint64_t batch = narrow.latent.shape[0], tokens = narrow.latent.shape[2];
  const std::uint64_t count = layer.shape.heads;
  const Tensor rows = Tape::view(narrow.latent, {batch, tokens, latent.kv_rank});
  const Tensor wide = apply(run, *layer.v, rows);
  const Tensor each = Tape::view(wide, {batch, count, tokens, latent.nope + latent.value});
  const auto [keys, values] = split_last(tape, each, latent.nope);
  heads.k = tape.empty("key_states", {{batch, count, tokens, latent.query_head()}, each.element});
  heads.k = write_part(tape, heads.k, keys, "k.nope");
  heads.k = write_part(tape, heads.k, narrow.turned, "k.rope");
  heads.v = values;
}

}  // namespace

AttentionLayer make_latent_attention(Run& run, const Stack& stack, const AttentionShape& shape) {
  const LatentAttention& latent = *shape.latent;
  const auto named = [&run](const std::string& name) { return run.tape.intern(name); };
  AttentionLayer layer;
  layer.shape = shape;
  const std::uint64_t query = shape.heads * latent.query_head();
  if (latent.q_rank == 0) {
    layer.q = make_linear(run, named(stack.names.q), {query, stack.hidden}, false);
  } else {
    layer.q_narrow =
        make_linear(run, named(latent.q_narrow), {latent.q_rank, stack.hidden}, latent.bias);
    layer.q_norm = make_norm(run, named(latent.q_norm), stack.norm, latent.q_rank);
    layer.q = make_linear(run, named(latent.q_widen), {query, latent.q_rank}, false);
  }
  layer.k = make_linear(run, named(latent.kv_narrow), {latent.kv_rank + latent.rope, stack.hidden},
                        latent.bias);
  layer.k_norm = make_norm(run, named(latent.kv_norm), stack.norm, latent.kv_rank);
  const std::uint64_t wide = shape.heads * (latent.nope + latent.value);
  layer.v = make_linear(run, named(latent.kv_widen), {wide, latent.kv_rank}, false);
  layer.o = make_linear(run, named(stack.names.o), {stack.hidden, shape.heads * latent.value},
                        latent.bias);
  return layer;
}

Qkv project_latent(Run& run, const AttentionLayer& layer, const Shared& shared,
                   const AttentionInput& input) {
  const LatentAttention& latent = *layer.shape.latent;
  Tape& tape = run.tape;
  const Tensor& x = input.x;
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1];
  const auto turn = [&](const Tensor& part) {
    return latent.complex_angles ? rotate_complex(run, shared, part)
                                 : rotate_pairs(run, shared, part);
  };
  const Tensor q = layer.q_narrow ? apply(run, *layer.q,
                                          apply(run, *layer.q_norm, apply(run, *layer.q_narrow, x)))
                                  : apply(run, *layer.q, x);
  const auto [q_pass, q_turned] = split_last(
      tape, Tape::view(q, {batch, layer.shape.heads, tokens, latent.query_head()}), latent.nope);
  const auto [row, key] = split_last(tape, apply(run, *layer.k, x), latent.kv_rank);
  Narrow narrow;
  narrow.latent = Tape::view(apply(run, *layer.k_norm, row), {batch, 1, tokens, latent.kv_rank});
  const Tensor turned_q = turn(q_turned);
  narrow.turned = turn(Tape::view(key, {batch, 1, tokens, latent.rope}));
  if (input.cache != nullptr) {
    LayerCache& cache = *input.cache;
    narrow.latent = cache.keys = extend_cache(run, cache.keys, narrow.latent, 0);
    narrow.turned = cache.values = extend_cache(run, cache.values, narrow.turned, 0);
  }
  Qkv heads;
  heads.q = ops::concat_last(tape, q_pass, turned_q, "query_states");
  expand(run, layer, narrow, heads);
  heads.heads_first = true;
  heads.v_part = true;
  return heads;
}

}  // namespace headroom::estimate::transformers
