// SPDX-License-Identifier: Apache-2.0
// What a model's parameters take, before it is made.
#include <c10/core/ScalarType.h>

#include "estimate/headroom_quantised.h"
#include "trainer/model.h"
#include "trainer/projections.h"

namespace headroom::trainer {
namespace {

using estimate::ModelConfig;
using estimate::Target;

// What lies outside of layers, of the part that there is: how often each is there.
struct Outside {
  std::uint64_t tables = 0;  // Embedding and head.
  std::uint64_t positions = 0;
  std::uint64_t norms = 0;
};

Outside outside_of(const ModelConfig& config, const estimate::StagePart& part) {
  const bool own_head = part.is_last() && (!config.tied || !part.is_first());
  return {.tables = (part.is_first() ? 1U : 0U) + (own_head ? 1U : 0U),
          .positions = part.is_first() && config.is_gpt2() ? 1U : 0U,
          .norms = part.is_last() ? 1U : 0U};
}

std::uint64_t numbers_of_norm(const ModelConfig& config) {
  return (config.is_gpt2() ? 2 : 1) * config.hidden;
}

// Of the weights of a part of the model.
std::uint64_t count_numbers(const ModelConfig& config, const estimate::StagePart& part) {
  const auto outside = [&](const estimate::StagePart& of) {
    const Outside all = outside_of(config, of);
    return all.tables * config.vocabulary * config.hidden +
           all.positions * config.position_rows * config.hidden +
           all.norms * numbers_of_norm(config);
  };
  const std::uint64_t layers = config.parameters() - outside(estimate::whole_model(config.layers));
  return outside(part) + layers / config.layers * part.layers();
}

// The bytes that a layer's matrices take in place of those in the dtype of the weights.
struct MatrixBytes {
  std::uint64_t plain = 0;
  std::uint64_t quantised = 0;
};

MatrixBytes matrix_bytes(const ModelConfig& config, const ModelOptions& options) {
  MatrixBytes bytes;
  std::uint64_t fused_rows = 0;  // Of projections that share the matrix of a later one.
  for (const Target target : all_targets) {
    if (!has_projection(config, target)) continue;
    const auto [out, in] = projection_shape(config, target);
    bytes.plain += static_cast<std::uint64_t>(out * in) * c10::elementSize(options.dtype);
    const std::uint64_t rows = fused_rows + static_cast<std::uint64_t>(out);
    const bool is_shared = target < Target::v || target == Target::gate;
    fused_rows = config.fused && is_shared ? rows : 0;
    if (fused_rows > 0) continue;
    bytes.quantised +=
        estimate::quantised_sizes(*options.quantised, rows, static_cast<std::uint64_t>(in))
            .total_bytes;
  }
  return bytes;
}

}  // namespace

ParameterBytes parameter_bytes(const ModelConfig& config, const ModelOptions& options) {
  ParameterBytes bytes;
  const estimate::StagePart part = options.part.value_or(estimate::whole_model(config.layers));
  bytes.weights = count_numbers(config, part) * c10::elementSize(options.dtype);
  if (options.quantised) {
    const MatrixBytes matrices = matrix_bytes(config, options);
    bytes.weights += part.layers() * matrices.quantised;
    bytes.weights -= part.layers() * matrices.plain;
  }
  if (!options.lora) return bytes;
  for (const Target target : options.lora->targets) {
    const auto shape = adapter_shape(config, target);
    if (!shape) continue;
    bytes.adapters += part.layers() *
                      static_cast<std::uint64_t>(options.lora->rank * (shape->out + shape->in)) *
                      c10::elementSize(options.lora->dtype);
  }
  return bytes;
}

std::vector<TrainedShape> trained_shapes(const ModelConfig& config, const ModelOptions& options) {
  const estimate::StagePart part = options.part.value_or(estimate::whole_model(config.layers));
  const std::uint64_t layers = part.layers();
  std::vector<TrainedShape> shapes;
  if (options.lora) {
    const auto rank = static_cast<std::uint64_t>(options.lora->rank);
    for (const Target target : options.lora->targets) {
      const auto shape = adapter_shape(config, target);
      if (!shape) continue;
      shapes.push_back({rank, static_cast<std::uint64_t>(shape->in), layers});
      shapes.push_back({static_cast<std::uint64_t>(shape->out), rank, layers});
    }
    return shapes;
  }
  for (const Target target : all_targets) {
    if (!has_projection(config, target)) continue;
    const auto [out, in] = projection_shape(config, target);
    shapes.push_back({static_cast<std::uint64_t>(out), static_cast<std::uint64_t>(in), layers});
    if (has_bias(config, target)) shapes.push_back({0, static_cast<std::uint64_t>(out), layers});
  }
  const Outside outside = outside_of(config, part);
  const std::uint64_t vectors_each = numbers_of_norm(config) / config.hidden;
  const std::uint64_t norms = layers * (config.norms_around ? 4 : 2) + outside.norms;
  shapes.push_back({0, config.hidden, vectors_each * norms});
  if (config.qk_norm) shapes.push_back({0, config.head_dim, 2 * layers});
  shapes.push_back({config.position_rows, config.hidden, outside.positions});
  shapes.push_back({config.vocabulary, config.hidden, outside.tables});
  return shapes;
}

}  // namespace headroom::trainer
