// SPDX-License-Identifier: Apache-2.0
// The linear layers of a layer of the model, by the family's config.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "estimate/model_config.h"
#include "trainer/layer.h"

namespace headroom::trainer {

inline constexpr std::array<estimate::Target, projection_count> all_targets = {
    estimate::Target::q,    estimate::Target::k,  estimate::Target::v,   estimate::Target::o,
    estimate::Target::gate, estimate::Target::up, estimate::Target::down};

struct ProjectionShape {
  std::int64_t out = 0;
  std::int64_t in = 0;
};
ProjectionShape projection_shape(const estimate::ModelConfig& config, estimate::Target target);

// In GPT-2, q stands for c_attn, which is k and v as well.
bool has_projection(const estimate::ModelConfig& config, estimate::Target target);

// Whether PEFT's adapter is on a matrix that this projection is rows of (Phi-3).
bool is_in_fused(const estimate::ModelConfig& config, estimate::Target target);

// What an adapter of the projection is of: of a fused matrix the first part has all of it, and the
// others have none.
std::optional<ProjectionShape> adapter_shape(const estimate::ModelConfig& config,
                                             estimate::Target target);

bool has_bias(const estimate::ModelConfig& config, estimate::Target target);

}  // namespace headroom::trainer
