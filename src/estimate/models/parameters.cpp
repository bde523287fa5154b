// SPDX-License-Identifier: Apache-2.0
// The shapes are those of transformers' modeling_*.py, by the words of architecture.h.
#include "estimate/models/parameters.h"

#include <algorithm>

#include "estimate/models/latent_attention.h"
#include "estimate/models/state_space.h"
#include "estimate/models/waveform.h"

namespace headroom::estimate {
namespace {

using Count = std::uint64_t;

Count norm_size(const Norm& norm, Count width) {
  if (norm.weightless) return 0;
  return norm.kind == NormKind::layer && norm.bias ? 2 * width : width;
}

// How many norms of the layers' width a layer has, without that of a cross attention.
Count norms_per_layer(const Stack& stack) {
  if (stack.single_halves) return 1;
  switch (stack.placement) {
    case NormPlacement::around:
      return 4;
    case NormPlacement::parallel_one:
      return 1;
    case NormPlacement::before:
    case NormPlacement::after:
    case NormPlacement::behind:
    case NormPlacement::parallel_two:
      break;
  }
  return 2;
}

Count latent_matrices(const Stack& stack) {
  const LatentAttention& latent = *stack.attention.latent;
  const Count heads = stack.attention.heads, hidden = stack.hidden;
  const Count query = heads * latent.query_head();
  const Count queries = latent.q_rank == 0 ? hidden * query : latent.q_rank * (hidden + query);
  return queries + hidden * (latent.kv_rank + latent.rope) +
         latent.kv_rank * heads * (latent.nope + latent.value) + heads * latent.value * hidden;
}

Count latent_size(const Stack& stack) {
  const LatentAttention& latent = *stack.attention.latent;
  Count size = latent_matrices(stack) + norm_size(stack.norm, latent.kv_rank);
  if (latent.q_rank > 0) size += norm_size(stack.norm, latent.q_rank);
  if (latent.bias) size += latent.q_rank + latent.kv_rank + latent.rope + stack.hidden;
  return size;
}

Count attention_matrices(const Stack& stack) {
  if (stack.attention.latent) return latent_matrices(stack);
  const AttentionShape& shape = stack.attention;
  const Count gates = shape.q_rows() - shape.query_size();
  return stack.hidden * (shape.fused_size() + gates + shape.query_size());
}

Count attention_size(const Stack& stack) {
  if (stack.attention.latent) return latent_size(stack);
  const AttentionShape& shape = stack.attention;
  Count size = attention_matrices(stack);
  if (shape.sinks) size += shape.heads;
  if (shape.q_bias) size += shape.q_rows();
  if (shape.k_bias) size += shape.kv_size();
  if (shape.v_bias) size += shape.kv_size();
  if (shape.o_bias) size += stack.hidden;
  if (shape.qk_norm_whole)
    size += norm_size(stack.norm, shape.query_size()) + norm_size(stack.norm, shape.kv_size());
  else if (shape.qk_norm)
    size += 2 * norm_size(stack.norm, shape.head_dim);
  return size;
}

// `attention` in the layers that have it, and what `count` says of each other kind in the others.
template <class Function>
Count sum_of_mixers(const Stack& stack, Count attention, Function count) {
  Count size = stack.layers_with(Mixer::attention) * attention;
  if (stack.delta_net) size += stack.layers_with(Mixer::delta_net) * count(*stack.delta_net);
  if (stack.short_convolution)
    size += stack.layers_with(Mixer::short_convolution) * count(*stack.short_convolution);
  if (stack.mamba2) size += stack.layers_with(Mixer::mamba2) * count(*stack.mamba2);
  return size;
}

Count mixer_matrices(const Stack& stack) {
  return sum_of_mixers(stack, attention_matrices(stack),
                       [&](const auto& mixer) { return mixer.matrices(stack.hidden); });
}

Count mixer_size(const Stack& stack) {
  return sum_of_mixers(stack, attention_size(stack),
                       [&](const auto& mixer) { return mixer.parameters(stack.hidden); });
}

// Of one MLP or expert with `intermediate` inside.
Count mlp_matrices(const Stack& stack, Count intermediate) {
  return (stack.mlp.gated ? 3 : 2) * stack.hidden * intermediate;
}

Count mlp_size(const Stack& stack) {
  const Count inside = stack.mlp.intermediate;
  const Count bias = stack.mlp.bias ? (stack.mlp.gated ? 2 : 1) * inside + stack.hidden : 0;
  return mlp_matrices(stack, inside) + bias;
}

// `experts` of them, their router, and the shared one with its gate of one row.
Count expert_matrices(const Stack& stack, Count experts) {
  const Experts& shape = *stack.experts;
  Count size = experts * mlp_matrices(stack, shape.intermediate) + shape.count * stack.hidden;
  if (shape.shared_intermediate != 0) {
    size += mlp_matrices(stack, shape.shared_intermediate);
    if (shape.shared_gate) size += stack.hidden;
  }
  return size;
}

// Of the router and of every expert.
Count expert_biases(const Stack& stack) {
  const Experts& shape = *stack.experts;
  if (!shape.bias) return 0;
  return shape.count * (1 + (stack.mlp.gated ? 2 : 1) * shape.intermediate + stack.hidden);
}

Count layers_with_experts(const Stack& stack) {
  if (!stack.experts) return 0;
  Count layers = 0;
  for (Count layer = 0; layer < stack.layers; ++layer) {
    if (stack.experts->in_layer(layer)) ++layers;
  }
  return layers;
}

Count layers_with_mlp(const Stack& stack) {
  if (stack.single_halves) return stack.layers_with(Mixer::feed_forward);
  return stack.layers - layers_with_experts(stack);
}

// The projection of what the convolutions give, and the one that tells positions.
Count waveform_matrices(const Stack& stack) {
  const Waveform& wave = *stack.input.waveform;
  return convolution_parameters(wave) + wave.convolutions.back().channels * stack.hidden +
         stack.hidden * (stack.hidden / wave.position_groups) * wave.position_kernel;
}

// Its other norms and biases, the lengths that the positions' weight is divided by, the mask's row.
Count waveform_vectors(const Stack& stack) {
  const Waveform& wave = *stack.input.waveform;
  Count size = wave.norm_before ? 2 * wave.convolutions.back().channels : 0;
  size += 2 * stack.hidden + wave.position_kernel;  // Biases of the projection and of positions.
  return wave.mask_embedding ? size + stack.hidden : size;
}

// Everything in front of the layers but the vocabulary's rows.
Count input_matrices(const Stack& stack) {
  const Input& input = stack.input;
  switch (input.kind) {
    case Input::Kind::tokens:
      return input.width == stack.hidden ? 0 : input.width * stack.hidden;
    case Input::Kind::patches:
      return input.channels * std::max<Count>(1, input.frames) * input.patch_size *
             input.patch_size * stack.hidden;
    case Input::Kind::audio:
      return 3 * stack.hidden * (input.mel_bins + stack.hidden);  // Two convolutions of 3 frames.
    case Input::Kind::waveform:
      return waveform_matrices(stack);
    case Input::Kind::numbers:
      break;
  }
  return input.features * stack.hidden;
}

Count input_size(const Stack& stack) {
  const Input& input = stack.input;
  const Count width = input.projects_last ? input.width : stack.hidden;
  Count size = input_matrices(stack) + input.type_rows * width;
  if (input.projects_last) size += stack.hidden;
  if (input.kind == Input::Kind::patches && input.patch_bias) size += stack.hidden;
  if (input.kind == Input::Kind::audio) size += 2 * stack.hidden;
  if (input.kind == Input::Kind::numbers) size += stack.hidden;
  if (input.kind == Input::Kind::waveform) size += waveform_vectors(stack);
  if (input.class_token) size += stack.hidden;
  size += input.extra_tokens * stack.hidden;
  if (input.mask_token) size += stack.hidden;
  if (input.norm) size += norm_size(stack.norm, width);
  if (stack.positions == Positions::learned || stack.positions == Positions::sinusoidal) {
    size += stack.position_rows * width;
  }
  return size;
}

// OPT's way back from the layers' width to the embedding's.
Count output_projection(const Stack& stack) {
  const Input& input = stack.input;
  const bool narrow =
      input.kind == Input::Kind::tokens && input.width != stack.hidden && !input.projects_last;
  return narrow ? input.width * stack.hidden : 0;
}

// SigLIP's head: a row that looks at all others, a norm, and an MLP.
Count attention_pooling(const Stack& stack) {
  const Count hidden = stack.hidden;
  return hidden + 4 * (hidden + 1) * hidden + norm_size(stack.norm, hidden) + mlp_size(stack);
}

Count transform_size(const Architecture& model) {
  const Count hidden = model.main().hidden;
  if (!model.head.transform) return 0;
  return (hidden + (model.head.transform_bias ? 1 : 0)) * hidden +
         norm_size(model.main().norm, hidden);
}

Count head_size(const Architecture& model) {
  const Head& head = model.head;
  const Stack& stack = model.main();
  const Count hidden = stack.hidden;
  switch (head.kind) {
    case Head::Kind::none:
      break;
    case Head::Kind::language: {
      const Count rows = model.vocabulary;
      Count size = head.tied ? 0 : rows * stack.input.width;
      if (head.bias) size += rows;
      return size + transform_size(model);
    }
    case Head::Kind::pooler:
      return hidden * hidden + hidden + (hidden + 1) * head.width;
    case Head::Kind::projection: {
      Count size = model.stacks.size() > 1 ? 1 : 0;  // logit_scale
      for (const Stack& tower : model.stacks) size += tower.hidden * head.width;
      return size;
    }
    case Head::Kind::numbers: {
      const Count rows = head.pooling == Head::Pooling::first_and_mean ? 2 * hidden : hidden;
      const Count width = head.inner > 0 ? head.inner : rows;
      return (head.inner > 0 ? (hidden + 1) * head.inner : 0) + width * head.width +
             (head.bias ? head.width : 0) + transform_size(model);
    }
  }
  return 0;
}

Count head_matrices_per_token(const Architecture& model) {
  const Head& head = model.head;
  const Stack& stack = model.main();
  if (head.kind == Head::Kind::numbers && !head.per_sample) {
    return stack.input.width * head.width + (head.transform ? stack.hidden * stack.hidden : 0);
  }
  if (head.kind != Head::Kind::language) return 0;
  Count size = model.vocabulary * stack.input.width;
  if (head.transform) size += stack.hidden * stack.hidden;
  return size;
}

Count state_space_matrices(const StateSpace& shape, Count hidden) {
  return 3 * shape.inner * hidden + shape.inner * (2 * shape.step_rank + 2 * shape.state);
}

// A norm, the matrices, what the convolution has, A, D, and the time step's bias.
Count state_space_size(const Stack& stack) {
  const StateSpace& shape = *stack.state_space;
  Count size = state_space_matrices(shape, stack.hidden) + norm_size(stack.norm, stack.hidden);
  size += shape.inner * (shape.kernel + (shape.conv_bias ? 1 : 0) + shape.state + 2);
  return shape.bias ? size + 2 * shape.inner + stack.hidden : size;
}

}  // namespace

Count convolution_parameters(const Waveform& wave) {
  Count size = 0, before = 1;
  for (const Waveform::Convolution& each : wave.convolutions) {
    const bool normed = wave.norm_each || &each == &wave.convolutions.front();
    size += before * each.channels * each.kernel + (wave.bias ? each.channels : 0) +
            (normed ? 2 * each.channels : 0);
    before = each.channels;
  }
  return size;
}

Count parameter_count(const Stack& stack) {
  if (stack.state_space)
    return stack.layers * state_space_size(stack) + norm_size(stack.norm, stack.hidden);
  const Count attentions = stack.cross_attention ? 2 : 1;
  const Count norms = norms_per_layer(stack) + attentions - 1;
  const Count scales = stack.layer_scale ? 2 * stack.hidden : 0;
  const Count layer = norms * norm_size(stack.norm, stack.hidden) + scales;
  const Count sparse = layers_with_experts(stack);
  const Count dense = layers_with_mlp(stack);
  const Count skipped = stack.first_norm_skipped ? norm_size(stack.norm, stack.hidden) : 0;
  Count size =
      attentions * mixer_size(stack) + stack.layers * layer - skipped + dense * mlp_size(stack);
  if (sparse != 0)
    size += sparse * (expert_matrices(stack, stack.experts->count) + expert_biases(stack));
  if (stack.final_norm) size += norm_size(stack.norm, stack.hidden);
  if (stack.positions == Positions::relative) {
    size += stack.relative_buckets * stack.attention.heads;
  }
  return size + input_size(stack);
}

Count parameter_count(const Architecture& model) {
  Count size = head_size(model);
  if (model.head.attention_pooling) size += attention_pooling(model.main());
  Count embeddings = 0;
  for (const Stack& stack : model.stacks) {
    size += parameter_count(stack);
    if (stack.input.kind == Input::Kind::tokens) {
      const Count embedding = model.vocabulary * stack.input.width;
      embeddings = model.shared_embedding ? embedding : embeddings + embedding;
    }
  }
  size += output_projection(model.main());
  if (model.projector) size += parameter_count(*model.projector);
  return size + embeddings;
}

Count parameter_count(const Projector& projector) {
  Count size = projector.matrices();
  if (projector.bias) size += projector.inner + projector.out;
  if (projector.newline) size += projector.out;
  if (projector.norm) size += norm_size(*projector.norm, projector.norm_width);
  return size;
}

Count matrix_elements_per_token(const Stack& stack) {
  if (stack.state_space)
    return stack.layers * state_space_matrices(*stack.state_space, stack.hidden);
  const Count attentions = stack.cross_attention ? 2 : 1;
  const Count sparse = layers_with_experts(stack);
  Count size = attentions * mixer_matrices(stack) +
               layers_with_mlp(stack) * mlp_matrices(stack, stack.mlp.intermediate);
  if (sparse != 0) size += sparse * expert_matrices(stack, stack.experts->per_token);
  return size + input_matrices(stack);
}

Count matrix_elements_per_token(const Architecture& model) {
  Count size = head_matrices_per_token(model);
  for (const Stack& stack : model.stacks) size += matrix_elements_per_token(stack);
  return size + output_projection(model.main());
}

}  // namespace headroom::estimate
