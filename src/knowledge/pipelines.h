// SPDX-License-Identifier: Apache-2.0
// Pipelines of diffusers by the name people use, from data/pipelines.toml: what their components'
// config.json say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

struct KnownPart {
  std::string component;  // "unet", "text_encoder_2"
  Json config;
  std::uint64_t parameters = 0;
};

struct KnownPipeline {
  std::string name;               // "stabilityai/stable-diffusion-xl-base-1.0"
  std::vector<std::string> also;  // Other names of the same layers.
  std::string kind;               // diffusers' class
  std::vector<KnownPart> parts;
  Origin origin;

  Json components() const;  // {"_class_name": …, "unet": {…}, …}
};

Result<std::vector<KnownPipeline>> load_pipelines();

// Without regard to case, punctuation and the organisation in front. A name that is not there is an
// error that lists those that are.
Result<KnownPipeline> find_pipeline(std::string_view name);

// Whether a name is in the table.
bool is_pipeline(std::string_view name);

}  // namespace headroom::knowledge
