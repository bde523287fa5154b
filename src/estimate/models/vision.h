// SPDX-License-Identifier: Apache-2.0
// Towers that look at images, as stacks.
#pragma once

#include "estimate/models/config_reader.h"

namespace headroom::estimate {

struct TowerDefaults {
  std::uint64_t patch = 16;
  Activation activation = Activation::gelu;
  double eps = 1e-6;
};

// Layers and patches of a tower like ViT's, without its names and its rows of positions.
Stack& add_tower(ConfigReader& config, Architecture& out, const TowerDefaults& defaults);
// Rows of positions for patches, a class token where there is one, and so many more.
void set_position_rows(Stack& stack, bool class_token, std::uint64_t more = 0);

// SigLIP without its attention pooling, as Gemma 3 has it: no token of its own beside the patches.
// Source: transformers, models/siglip.
Stack& add_siglip_tower(ConfigReader& config, Architecture& out);

// CLIP's: a class token, a norm in front of the layers, no bias on the patches. Source:
// transformers, models/clip.
Stack& add_clip_tower(ConfigReader& config, Architecture& out);

}  // namespace headroom::estimate
