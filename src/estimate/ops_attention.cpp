// SPDX-License-Identifier: Apache-2.0
// The fused attention kernels, by what PyTorch makes around them.
#include <algorithm>

#include "estimate/ops.h"

namespace headroom::estimate::ops {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

std::uint64_t round_up(std::uint64_t a, std::uint64_t b) {
  return divide_up(a, b) * b;
}

// Rows of a float for each query, as many as the kernel's tiles have.
Meta query_rows(const Meta& query, std::uint64_t tile) {
  return {{query.shape[0], query.shape[1], round_up(query.shape[2], tile)}, Element::fp32};
}

// Gradients of keys and values, made for each query head where those are grouped, and summed.
struct KeyGradients {
  Tensor k_heads, v_heads;
};

KeyGradients per_query_head(Tape& tape, const Meta& query, const Meta& key) {
  if (query.shape[1] == key.shape[1]) return {};
  Meta heads = key;
  heads.shape[1] = query.shape[1];
  Tensor k_heads = tape.empty("k.grad_heads", heads);
  return {std::move(k_heads), tape.empty("v.grad_heads", heads)};
}

// What the efficient kernel's backward adds up in, in bytes (mem_eff_attention/kernel_backward.h):
// tiles of dq, each with a lock of 16 bytes; for heads of more than 128 halves also dk and dv of
// the blocks of keys that are split over the device.
std::uint64_t efficient_workspace(const Meta& query, const Meta& key, const Meta& value) {
  constexpr std::uint64_t lock = 16, parallel = 200;
  const bool half = query.element != Element::fp32;
  const std::uint64_t heads = query.shape[0] * query.shape[1];
  const std::uint64_t width = std::max(query.shape[3], value.shape[3]);
  const std::uint64_t block_q = half && width > 64 ? 128 : 64;
  const std::uint64_t block_k = width <= 64 || (half && width > 128) ? 64 : 128;
  const std::uint64_t tiles = divide_up(query.shape[2], block_q) * divide_up(width, block_k);
  std::uint64_t bytes = tiles * (lock + size_of(Element::fp32) * block_q * block_k);
  if (half && width > 128) {
    const std::uint64_t splits =
        std::min(divide_up(key.shape[2], block_k), std::max<std::uint64_t>(1, parallel / heads));
    bytes += 2 * splits * block_k * round_up(width, block_q) * size_of(Element::fp32);
  }
  return heads * bytes;
}

// What the kernel writes for each sample and head, in rows of whole tiles.
Tensor mask_gradient(Tape& tape, const Meta& query, const Meta& mask) {
  constexpr std::uint64_t alignment = 16;
  const Shape rows = {query.shape[0], query.shape[1], query.shape[2],
                      round_up(mask.shape.back(), alignment)};
  return tape.empty("mask.grad", {rows, mask.element});
}

// The mask was one for all samples (expand).
Tensor for_all_samples(Tape& tape, const Tensor& grad, const Meta& mask) {
  return mask.shape[0] == grad.shape[0] ? grad : tape.empty("mask.grad_sum", mask);
}

}  // namespace

Tensor flash_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v) {
  constexpr std::uint64_t row_tile = 128;
  const Meta query = q.meta();
  const Meta key = k.meta();
  const Tensor out = tape.empty("attention", query);
  const Tensor log_sum_exp = tape.empty("attention.logsumexp", query_rows(query, 1));
  return tape.connect(
      out, {q, k, v}, {q, k, v, out, log_sum_exp},
      [=](Tape& t, const Tensor&, const Node&) -> Tensors {
        Tensor dq = t.empty("q.grad", query);
        Tensor dk = t.empty("k.grad", key);
        Tensor dv = t.empty("v.grad", key);
        const Tensor row_sums = t.empty("attention.softmax_d", query_rows(query, row_tile));
        Shape padded = query.shape;
        padded[2] = round_up(padded[2], row_tile);
        padded[3] = round_up(padded[3], padded[3] <= 128 ? 32 : 64);
        const Tensor accumulator = t.empty("attention.dq_accum", {padded, Element::fp32});
        const KeyGradients heads = per_query_head(t, query, key);
        return {dq, dk, dv};
      });
}

Tensor efficient_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& mask) {
  constexpr std::uint64_t row_tile = 32;
  const Meta query = q.meta();
  const Meta key = k.meta();
  const Meta value = v.meta();
  Meta mixed = query;
  mixed.shape[3] = value.shape[3];
  const Tensor out = tape.empty("attention", mixed);
  const Tensor log_sum_exp = tape.empty("attention.logsumexp", query_rows(query, row_tile));
  Tensors saved = {q, k, v, out, log_sum_exp};
  if (mask.defined()) saved.push_back(mask);
  const Meta bias = mask.defined() ? mask.meta() : Meta{};
  const auto backward = [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
    Tensors grads = {t.empty("q.grad", query), t.empty("k.grad", key), t.empty("v.grad", value)};
    if (node.inputs.size() > 3) grads.push_back(mask_gradient(t, query, bias));
    const KeyGradients heads = per_query_head(t, query, key);
    Tensor product;  // Halves are multiplied by their gradient in the kernel.
    if (query.element == Element::fp32) product = t.empty("attention.times_grad", mixed);
    const Tensor row_sums = t.empty("attention.delta", query_rows(query, 1));
    product = {};
    const Tensor workspace = t.empty("attention.accumulators",
                                     {{efficient_workspace(query, key, value)}, Element::uint8});
    if (grads.size() > 3) grads[3] = for_all_samples(t, grads[3], bias);
    return grads;
  };
  if (mask.requires_grad()) return tape.connect(out, {q, k, v, mask}, saved, backward);
  return tape.connect(out, {q, k, v}, saved, backward);
}

}  // namespace headroom::estimate::ops
