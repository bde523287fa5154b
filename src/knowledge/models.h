// SPDX-License-Identifier: Apache-2.0
// Models by the name people use, from data/models.toml: what their config.json says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

struct KnownModel {
  std::string name;  // "Qwen/Qwen2.5-3B"
  Json config;       // With the keys and values of its config.json.
  std::uint64_t parameters = 0;
  bool stands_in = false;  // It was asked for under the name of a tuned variant of it.
  Origin origin;
};

// Without regard to case, punctuation and the organisation in front: "qwen2.5-3b". A variant that
// was tuned from a model of the table ("-Instruct", "-chat") has the same layers and finds it, with
// stands_in. A name that is not there is an error that lists the nearest ones.
Result<KnownModel> find_model(std::string_view name);

// All of them, in the table's order.
Result<std::vector<KnownModel>> load_models();

}  // namespace headroom::knowledge
