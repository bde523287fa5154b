// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_qwen3_next.py (torch_chunk_gated_delta_rule,
// torch_recurrent_gated_delta_rule, l2norm); PyTorch's native/BatchLinearAlgebra.cpp
// (linalg_solve_triangular_out), FunctionsManual.cpp (linalg_solve_triangular_backward) and
// autograd/functions/tensor.cpp (CopySlices).
#include "estimate/transformers/delta_rule.h"

#include <algorithm>
#include <utility>

namespace headroom::estimate::transformers {
namespace {

constexpr std::uint64_t chunk_tokens = 64;
// Chunks of the scan that are recorded one by one; of longer sequences several stand for one, which
// takes the same memory but for what comes and goes within one.
constexpr std::uint64_t chunks_max = 256;

// sum(-1, keepdim=True): the gradient is expanded, a view.
Tensor sum_last(Tape& tape, const Tensor& x, Name name) {
  Meta one = x.meta();
  one.shape.back() = 1;
  return tape.connect(tape.empty(name, one), {x}, {},
                      [](Tape&, Tensor grad, const Node&) -> Tensors {
                        grad.viewed = true;
                        return {std::move(grad)};
                      });
}

Tensor l2norm(Tape& tape, const Tensor& x, Name name) {
  const Tensor sum = sum_last(tape, ops::mul(tape, x, x, name + ".squared"), name + ".sum");
  return ops::mul(tape, x, ops::rsqrt(tape, ops::scale(tape, sum, name + ".eps"), name + ".rsqrt"),
                  name + ".normed");
}

// solve_triangular(a, b, upper=False, unitriangular=True), which keeps a and its result.
Tensor solve(Tape& tape, const Tensor& a, const Tensor& b, Name name) {
  const Meta matrix = a.meta(), right = b.meta();
  const Tensor x = tape.empty(name, right);
  return tape.connect(x, {a, b}, {a, x}, [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
    Tensors grads(2);
    grads[1] = t.empty(name + ".grad", right);
    if (!node.wants(0)) return grads;
    Tensor product = t.empty(name + ".product", matrix);
    t.multiply();
    const Tensor negated = t.empty(name + ".negated", matrix);
    product = {};
    grads[0] = t.empty(name + ".lower", matrix);
    return grads;
  });
}

// whole[:, :, i] = part: the derivative copies the whole gradient, and the part again.
Tensor write_chunk(Tape& tape, const Tensor& whole, const Tensor& part, Name name) {
  const Meta all = whole.meta(), given = part.meta();
  const Meta written{given.shape, all.element};
  Tensor same = whole;
  same.node = nullptr;
  return tape.connect(same, {whole, part}, {},
                      [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        Tensor copied = t.empty(name + ".whole_grad", all);
                        Tensor own = t.empty(name + ".grad", written);
                        if (given.element != written.element)
                          own = t.empty(name + ".grad_cast", given);
                        if (node.wants(1)) grads[1] = std::move(own);
                        if (node.wants(0)) grads[0] = std::move(copied);
                        return grads;
                      });
}

// What the scan over chunks reads, all [batch, heads, chunks, 64, …].
struct Chunks {
  Tensor q, k;           // [… key_dim], decayed
  Tensor new_values;     // [… value_dim]
  Tensor reads;          // [… key_dim]: k_cumdecay
  Tensor within;         // [… 64]: intra_chunk_attn
  Tensor decay;          // [batch, heads, chunks]
  std::uint64_t chunks;  // How many.
};

Tensor scan(Run& run, const Chunks& in, Tensor& state) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.q.shape[0], heads = in.q.shape[1];
  const std::uint64_t key = in.q.shape[4], value = in.new_values.shape[4];
  Tensor out = tape.empty("core_attn_out", in.new_values);
  const std::uint64_t each = (in.chunks + chunks_max - 1) / chunks_max;
  const auto cast = [&](const Tensor& x, Name name) { return run.autocast(x, name); };
  for (std::uint64_t done = 0; done < in.chunks; done += each) {
    const std::uint64_t count = std::min(each, in.chunks - done);
    const std::uint64_t rows = count * chunk_tokens;
    const Shape values = {batch, heads, rows, value}, states = {batch, heads, count * key, value};
    const auto part = [&](const Tensor& x, std::uint64_t width) {
      return ops::part_of(tape, x, {batch, heads, rows, width});
    };
    state.shape = states;
    const Tensor read = ops::matmul(tape, cast(part(in.reads, key), "reads.input"),
                                    cast(state, "state.input"), values, "read");
    const Tensor v_new = ops::subtract(tape, part(in.new_values, value), read, "v_new");
    const Tensor between = ops::matmul(tape, cast(part(in.q, key), "q.input"),
                                       cast(state, "state.input"), values, "between");
    const Tensor inside = ops::matmul(tape, cast(part(in.within, chunk_tokens), "within.input"),
                                      cast(v_new, "v_new.input"), values, "inside");
    out = write_chunk(tape, out, ops::add(tape, between, inside, "chunk"), "core_attn_out");
    const Tensor kept =
        ops::mul(tape, state, ops::part_of(tape, in.decay, {batch, heads, count, 1}), "state.kept");
    state = ops::add(tape, kept,
                     ops::matmul(tape, cast(part(in.k, key), "k.input"), cast(v_new, "v_new.input"),
                                 states, "state.update"),
                     "state");
  }
  state.shape = {batch, heads, key, value};
  return out;
}

struct Wide {
  Tensor q, k, v, beta, decay;  // [batch, value_heads, tokens, …] in fp32.
};

// Heads repeated where values have more, everything in fp32, and q and k of length 1.
Wide widened(Run& run, const DeltaNet& shape, const DeltaInput& in) {
  Tape& tape = run.tape;
  const std::uint64_t batch = in.q.shape[0], tokens = in.q.shape[1];
  const Shape keys = {batch, tokens, shape.value_heads, shape.key_dim};
  Tensor q = ops::repeat_heads(tape, in.q, keys, "q.repeated");
  Tensor k = ops::repeat_heads(tape, in.k, keys, "k.repeated");
  const Shape heads = {batch, shape.value_heads, tokens, shape.key_dim};
  const auto wide = [&](const Tensor& x, const Shape& to, Name name) {
    return Tape::view(ops::cast(tape, x, Element::fp32, name), to);
  };
  Wide all;
  all.q = wide(q, heads, "q.fp32");
  all.k = wide(k, heads, "k.fp32");
  all.v = wide(in.v, {batch, shape.value_heads, tokens, shape.value_dim}, "v.fp32");
  all.beta = wide(in.beta, {batch, shape.value_heads, tokens}, "beta.fp32");
  all.decay = wide(in.decay, {batch, shape.value_heads, tokens}, "decay.fp32");
  q = k = {};
  all.q = l2norm(tape, all.q, "q");
  all.k = l2norm(tape, all.k, "k");
  all.q = ops::scale(tape, all.q, "q.scaled");
  return all;
}

void pad_to_chunks(Tape& tape, Wide& in, std::uint64_t tokens) {
  const auto padded = [&](const Tensor& x, Name name) {
    Shape to = x.shape;
    to[2] = tokens;
    return ops::pad(tape, x, to, name);
  };
  Tensor q = padded(in.q, "q.padded"), k = padded(in.k, "k.padded");
  in.v = padded(in.v, "v.padded");
  in.q = std::move(q), in.k = std::move(k);
  Tensor beta = padded(in.beta, "beta.padded");
  in.decay = padded(in.decay, "decay.padded");
  in.beta = std::move(beta);
}

Tensor rule_by_chunks(Run& run, const DeltaNet& shape, const DeltaInput& given, Tensor& state) {
  Tape& tape = run.tape;
  Wide in = widened(run, shape, given);
  const std::uint64_t batch = in.q.shape[0], heads = in.q.shape[1], tokens = in.q.shape[2];
  const std::uint64_t chunks = (tokens + chunk_tokens - 1) / chunk_tokens;
  pad_to_chunks(tape, in, chunks * chunk_tokens);
  const auto column = [](const Tensor& x) {
    Shape to = x.shape;
    to.push_back(1);
    return Tape::view(x, to);
  };
  Tensor v_beta = ops::mul(tape, in.v, column(in.beta), "v_beta");
  Tensor k_beta = ops::mul(tape, in.k, column(in.beta), "k_beta");
  const auto by_chunk = [&](const Tensor& x, std::uint64_t width) {
    return Tape::view(x, {batch, heads, chunks, chunk_tokens, width});
  };
  in.q = by_chunk(in.q, shape.key_dim), in.k = by_chunk(in.k, shape.key_dim);
  k_beta = by_chunk(k_beta, shape.key_dim), v_beta = by_chunk(v_beta, shape.value_dim);
  in.decay = Tape::view(in.decay, {batch, heads, chunks, chunk_tokens});
  const Shape square = {batch, heads, chunks, chunk_tokens, chunk_tokens};
  const Tensor mask = tape.empty("upper_mask", {{chunk_tokens, chunk_tokens}, Element::uint8});
  const Tensor sums = ops::cumsum(tape, in.decay, "cum_decay");
  Tensor pairs = [&] {
    const Meta meta{square, Element::fp32};
    const Meta row = sums.meta();
    // A column less a row, of which neither is as large as the difference.
    return tape.connect(tape.empty("pairwise_decay.difference", meta), {sums, sums}, {},
                        [=](Tape& t, const Tensor&, const Node&) -> Tensors {
                          const Tensor negated = t.empty("pairwise_decay.negated", meta);
                          Tensor first = t.empty("pairwise_decay.sum", row);
                          return {std::move(first), t.empty("pairwise_decay.sum", row)};
                        });
  }();
  pairs = ops::scale(tape, pairs, "pairwise_decay.masked");
  pairs = ops::exp(tape, pairs, "pairwise_decay");
  const auto against_keys = [&](const Tensor& x, Name name) {
    return ops::mul(tape,
                    ops::matmul(tape, run.autocast(x, name + ".input"),
                                run.autocast(in.k, "k.input"), square, name + ".product"),
                    pairs, name);
  };
  const Tensor system = against_keys(k_beta, "ut_system");
  Chunks parts;
  parts.within = against_keys(in.q, "intra_chunk_attn");
  const auto decayed = [&](const Tensor& x, const Tensor& by, Name name) {
    return ops::mul(tape, x, column(ops::exp(tape, by, name + ".exp")), name);
  };
  const Tensor decayed_k = decayed(k_beta, sums, "decayed_k_beta");
  parts.new_values = solve(tape, system, v_beta, "new_values");
  parts.reads = solve(tape, system, decayed_k, "k_cumdecay");
  if (!state.defined())
    state = tape.empty("last_recurrent_state",
                       {{batch, heads, shape.key_dim, shape.value_dim}, Element::fp32});
  in.q = parts.q = decayed(in.q, sums, "q.decayed");
  const Tensor last = ops::part_of(tape, sums, {batch, heads, chunks, 1});
  in.k = parts.k = decayed(in.k, ops::subtract(tape, sums, last, "to_end"), "k.decayed");
  parts.decay = ops::exp(tape, ops::part_of(tape, sums, {batch, heads, chunks}), "chunk_decay");
  parts.chunks = chunks;
  Tensor out = scan(run, parts, state);
  const Shape rows = {batch, heads, chunks * chunk_tokens, shape.value_dim};
  // What solve_triangular gives lies column by column, and what is made like it does.
  out = ops::copy(tape, out, rows, "core_attn_out.rows");
  if (rows[2] != tokens) out = ops::part_of(tape, out, {batch, heads, tokens, shape.value_dim});
  return ops::cast(tape, out, given.q.element, "core_attn_out.narrow");
}

// One token.
Tensor rule_by_token(Run& run, const DeltaNet& shape, const DeltaInput& given, Tensor& state) {
  Tape& tape = run.tape;
  const Wide in = widened(run, shape, given);
  Tensor out = tape.empty("core_attn_out", in.v);
  const Meta whole = state.meta();
  Tensor next = tape.empty("state.decayed", whole);
  { const Tensor product = tape.empty("state.by_key", whole); }
  {
    const Tensor update = tape.empty("state.update", whole);
    next = tape.empty("state", whole);
  }
  { const Tensor product = tape.empty("state.by_query", whole); }
  state = next;
  return ops::cast(tape, out, given.q.element, "core_attn_out.narrow");
}

}  // namespace

Tensor delta_rule(Run& run, const DeltaNet& shape, const DeltaInput& in, Tensor& state) {
  const bool one = state.defined() && in.q.shape[1] == 1;
  const Tensor y =
      one ? rule_by_token(run, shape, in, state) : rule_by_chunks(run, shape, in, state);
  return Tape::view(y, in.v.shape);
}

}  // namespace headroom::estimate::transformers
