// SPDX-License-Identifier: Apache-2.0
// What tests of the transformers engine share: a model of its configuration, a step of it, and what
// that step allocates.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/document.h"
#include "estimate/transformers/engine.h"

namespace headroom::estimate::testing {

inline Architecture model_of(const Json& config) {
  auto model = parse_architecture(config);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
  return model ? *std::move(model) : Architecture{};
}

inline Recording recorded(const Job& job, const Json& config, const Device& device = {}) {
  auto made = record_transformers(job, model_of(config), device, 1);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? *std::move(made) : Recording{};
}

// The tensors whose name ends in `end`, in the order of their allocation.
inline std::vector<Meta> tensors(const Recording& recording, const std::string& end) {
  std::vector<Meta> found;
  for (std::uint32_t i = 0; i < recording.tensors.size(); ++i)
    if (recording.name_of(i).ends_with(end)) found.push_back(recording.tensors[i].meta);
  return found;
}

}  // namespace headroom::estimate::testing
