// SPDX-License-Identifier: Apache-2.0
// One call of a diffusers pipeline as a sequence of allocations: load, encode the prompts, denoise
// (two steps: the third is like the second), decode.
//
// Sources: diffusers' pipelines (pipeline_stable_diffusion.py, …_xl.py, …_3.py, pipeline_flux.py),
// schedulers and pipeline_utils.py; accelerate's hooks.py. A convolution takes nothing beside its
// operands here, unless Hardware::unfolds.
#pragma once

#include "base/result.h"
#include "estimate/diffusion/settings.h"
#include "estimate/diffusion/shapes.h"
#include "estimate/recorder.h"

namespace headroom::estimate::diffusion {

// Fails for settings that the pipeline does not have, naming them as a person types them.
Status check_settings(const PipelineShape& shape, const Settings& settings);

// Requires: check_settings() has been asked.
Recording record_pipeline(const PipelineShape& shape, const Settings& settings,
                          const Hardware& hardware);

struct PartSize {
  const char* name = "";  // "unet", "text_encoder_2": a component of the pipeline.
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;  // As stored, buffers included.
};
// Of every component, in the order in which they are used.
std::vector<PartSize> part_sizes(const PipelineShape& shape, const Settings& settings);

}  // namespace headroom::estimate::diffusion
