// SPDX-License-Identifier: Apache-2.0
// Towers that look at images, as stacks.
#pragma once

#include "estimate/models/config_reader.h"

namespace headroom::estimate {

// SigLIP without its attention pooling, as Gemma 3 has it: no token of its own beside the patches.
// Source: transformers, models/siglip.
Stack& add_siglip_tower(ConfigReader& config, Architecture& out);

// CLIP's: a class token, a norm in front of the layers, no bias on the patches. Source:
// transformers, models/clip.
Stack& add_clip_tower(ConfigReader& config, Architecture& out);

}  // namespace headroom::estimate
