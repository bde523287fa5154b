// SPDX-License-Identifier: Apache-2.0
// What all layers of a stack are given beside their input: angles, positions and masks. Sources:
// transformers' masking_utils.py, modeling_t5.py and modeling_gemma3.py.
#include <algorithm>

#include "estimate/models/latent_attention.h"
#include "estimate/transformers/stack.h"

namespace headroom::estimate::transformers {

Shared StackModules::make_shared(const Tensor& x, const Pass& pass) {
  const std::uint64_t tokens = x.shape[1];
  std::uint64_t keys = tokens;
  if (pass.cache != nullptr && !pass.cache->empty()) {
    std::uint64_t first = 0;  // The first layer that remembers every token.
    while (first + 1 < stack_.layers && !contains(stack_.mixer(first), Mixer::attention)) ++first;
    const Tensor& before = (*pass.cache)[first].keys;
    if (before.defined()) keys += before.shape[2];
  }
  Shared shared;
  shared.causal = stack_.causal;
  shared.dropout = stack_.dropout.attention;
  const AttentionShape& attention = stack_.attention;
  if (stack_.positions == Positions::rotary) add_angles(shared, x);
  shared.both_ways = pass.both_ways;
  if (pass.both_ways) {
    add_image_masks(shared, {x.shape[0], 1, tokens, keys}, x.element);
    return shared;
  }
  const std::uint64_t seen = pass.memory ? pass.memory->shape[1] : keys;
  add_positions(shared, {x.shape[0], attention.heads, tokens, keys}, seen, x.element);
  if (run_.positions_as_mask(attention))
    add_masks_beside_positions(shared, {x.shape[0], 1, tokens, keys}, seen);
  else
    add_mask(shared, {x.shape[0], 1, tokens, keys}, x.element);
  const bool padded =
      *run_.job.compute.attention == Attention::sdpa_mask || run_.job.compute.padding;
  if (!stack_.mixers.empty() && padded)
    shared.padding = run_.tape.empty("padding", {{x.shape[0], tokens, 1}, Element::int64});
  add_window_mask(shared, {x.shape[0], 1, tokens, keys}, x.element);
  return shared;
}

void StackModules::add_angles(Shared& shared, const Tensor& x) {
  const AttentionShape& attention = stack_.attention;
  auto width =
      static_cast<std::uint64_t>(static_cast<double>(attention.head_dim) * attention.rotary_part);
  if (attention.latent) width = attention.latent->rope;
  if (attention.half_angles) width /= 2;
  const bool complex = attention.latent && attention.latent->complex_angles;
  const Meta angles{{stack_.angles_by_sample ? x.shape[0] : 1, x.shape[1],
                     std::max<std::uint64_t>(2, width / 2 * 2)},
                    attention.by_image || complex ? Element::fp32 : x.element};
  shared.cos = run_.tape.empty("cos", angles);
  if (!complex) shared.sin = run_.tape.empty("sin", angles);
}

// What is added to the scores [batch, heads, queries, keys] for their places. T5 adds its mask to
// it until common_t5_attention, and then has one for each sample.
// Cross attention has zeros, for `seen` tokens.
void StackModules::add_positions(Shared& shared, const Shape& scores, std::uint64_t seen,
                                 Element element) {
  Tape& tape = run_.tape;
  Shape shape = scores;
  if (relative_bias_) {
    if (run_.version >= common_t5_attention) shape[0] = 1;
    shared.bias = ops::positions_from(tape, *relative_bias_, {shape, element});
    shared.bias_is_turned = true;
    shape[3] = seen;
    if (stack_.cross_attention) shared.cross_bias = tape.empty("cross_positions", {shape, element});
  } else if (stack_.positions == Positions::alibi) {
    shape[2] = 1;
    shared.bias =
        tape.empty("alibi", {shape, stack_.attention.wide_positions ? Element::fp32 : element});
  }
}

void StackModules::add_mask(Shared& shared, Shape shape, Element element) {
  Tape& tape = run_.tape;
  const Attention kernel = *run_.job.compute.attention;
  const AttentionShape& attention = stack_.attention;
  const bool capped = attention.soft_cap || attention.sinks;
  if (stack_.role == Stack::Role::vision) return;  // Every image is whole.
  if (!stack_.attends()) return;
  if (attention.multihead) shape[0] = 1;  // One for all samples, whether the kernel asks or not.
  const bool has_positions =
      shared.bias && !(attention.relative && run_.version >= common_t5_attention);
  if (has_positions) return;
  const bool wanted = kernel == Attention::eager || kernel == Attention::sdpa_mask || capped ||
                      attention.multihead || attention.relative;
  const bool padded = kernel == Attention::sdpa_mask || run_.job.compute.padding;
  if (!wanted || (!stack_.causal && !padded)) return;
  const bool bools = kernel == Attention::sdpa_mask && run_.version >= bool_masks && !capped &&
                     !attention.multihead && !attention.relative;
  shared.mask = tape.empty("attention_mask", {shape, bools ? Element::uint8 : element});
}

// Of T5 by sdpa: of bools, where a row is padded. Labels are not: their decoder makes its mask in
// each layer (attention_kernel.cpp).
void StackModules::add_masks_beside_positions(Shared& shared, Shape shape, std::uint64_t seen) {
  const bool padded =
      *run_.job.compute.attention == Attention::sdpa_mask || run_.job.compute.padding;
  if (!padded) return;
  const auto mask = [&] { return run_.tape.empty("attention_mask", {shape, Element::uint8}); };
  if (!stack_.causal) shared.mask = mask();
  shape[3] = seen;
  if (stack_.cross_attention) shared.cross_mask = mask();
}

// Layers that look back at fewer tokens than there are have a mask of their own, whatever the
// others have: PyTorch's own kernels know no window.
void StackModules::add_window_mask(Shared& shared, const Shape& shape, Element element) {
  const Attention kernel = *run_.job.compute.attention;
  if (stack_.role == Stack::Role::vision) return;
  if (kernel == Attention::math || run_.job.compute.own_windows) return;
  const bool has_one = kernel == Attention::eager || kernel == Attention::sdpa_mask;
  std::uint64_t narrower = 0;
  for (std::uint64_t i = 0; i < stack_.layers; ++i) narrower += is_windowed(i, shape[3]) ? 1 : 0;
  // Where every layer has the window there is one mask, and these two have that already.
  if (narrower == 0 || (has_one && narrower == stack_.layers)) return;
  const bool capped = stack_.attention.soft_cap || stack_.attention.sinks;
  const bool bools = kernel != Attention::eager && !capped && run_.version >= bool_masks;
  Shape stored = shape;
  const bool padded = kernel == Attention::sdpa_mask || run_.job.compute.padding;
  if (bools && !padded) stored[0] = 1;  // The others are the same one (expand).
  shared.window_mask = run_.tape.empty("window_mask", {stored, bools ? Element::uint8 : element});
  shared.window_mask->shape = shape;
}

// modeling_gemma3.py, create_masks_for_vision_model: one for all tokens, one for the window.
void StackModules::add_image_masks(Shared& shared, const Shape& shape, Element element) {
  const bool bools = *run_.job.compute.attention != Attention::eager && run_.version >= bool_masks;
  const Meta mask{shape, bools ? Element::uint8 : element};
  shared.mask = run_.tape.empty("attention_mask", mask);
  if (!stack_.windows.empty()) shared.window_mask = run_.tape.empty("window_mask", mask);
}

bool StackModules::is_windowed(std::uint64_t layer, std::uint64_t tokens) const {
  const std::uint64_t window = stack_.window(layer);
  // masking_utils.py, _ignore_causal_mask_sdpa: there also where it is just as wide.
  return window > 0 && (tokens > window || (tokens == window && run_.job.compute.by_pytorch));
}

}  // namespace headroom::estimate::transformers
