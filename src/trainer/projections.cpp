// SPDX-License-Identifier: Apache-2.0
#include "trainer/projections.h"

namespace headroom::trainer {
namespace {

using estimate::ModelConfig;
using estimate::Target;

std::int64_t signed_size(std::uint64_t size) {
  return static_cast<std::int64_t>(size);
}

}  // namespace

ProjectionShape projection_shape(const ModelConfig& config, Target target) {
  const std::int64_t hidden = signed_size(config.hidden);
  const std::int64_t inner = signed_size(config.intermediate);
  const std::int64_t query = signed_size(config.query_size());
  const std::int64_t kv = signed_size(config.kv_size());
  switch (target) {
    case Target::q:
      return {config.is_gpt2() ? query + 2 * kv : query, hidden};
    case Target::k:
    case Target::v:
      return {kv, hidden};
    case Target::o:
      return {hidden, query};
    case Target::gate:
    case Target::up:
      return {inner, hidden};
    case Target::down:
      return {hidden, inner};
    case Target::embedding:
    case Target::head:
      break;  // Of no layer; engine_support.cpp refuses them.
  }
  return {};
}

bool has_projection(const ModelConfig& config, Target target) {
  return !config.is_gpt2() ||
         (target != Target::k && target != Target::v && target != Target::gate);
}

bool is_in_fused(const ModelConfig& config, Target target) {
  return config.fused && target != Target::o && target != Target::down;
}

std::optional<ProjectionShape> adapter_shape(const ModelConfig& config, Target target) {
  if (!has_projection(config, target)) return std::nullopt;
  ProjectionShape shape = projection_shape(config, target);
  if (!is_in_fused(config, target)) return shape;
  if (target != Target::q && target != Target::gate) return std::nullopt;
  shape.out += target == Target::q ? 2 * projection_shape(config, Target::k).out : shape.out;
  return shape;
}

bool has_bias(const ModelConfig& config, Target target) {
  if (config.is_gpt2()) return true;
  if (target == Target::o) return config.o_bias;
  return target < Target::o ? config.qkv_bias : config.mlp_bias;
}

}  // namespace headroom::trainer
