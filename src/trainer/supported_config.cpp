// SPDX-License-Identifier: Apache-2.0
#include "trainer/supported_config.h"

#include <fmt/format.h>

#include <string>

#include "base/document.h"

namespace headroom::trainer {
namespace {

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Error unsupported(const char* key, const Json& found, const std::string& expected) {
  return {Errc::unsupported,
          fmt::format("config.json, {}: expected {}, found {}", key, expected,
                      found.dump().substr(0, 120)),
          "train this model with another engine: engine.kind = \"transformers\""};
}

// Either generation of the key: rope_scaling {"type" or "rope_type"}, rope_parameters.
Status check_rotary(const Json& config, const estimate::ModelConfig& model) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* scaling = find(config, key);
    if (scaling == nullptr) continue;
    for (const char* type : {"rope_type", "type"}) {
      const Json* name = find(*scaling, type);
      if (name != nullptr && *name != "default") {
        return unsupported(key, *scaling, "rotary embedding without scaling");
      }
    }
    const Json* theta = find(*scaling, "rope_theta");
    if (theta != nullptr && *theta != model.rope_theta) {
      return unsupported(key, *scaling, fmt::format("the rope_theta in use, {}", model.rope_theta));
    }
  }
  const Json* partial = find(config, "partial_rotary_factor");
  if (partial != nullptr && *partial != 1.0) {
    return unsupported("partial_rotary_factor", *partial, "1");
  }
  return Done{};
}

Status check_window(const Json& config, std::uint64_t sequence) {
  const Json* window = find(config, "sliding_window");
  const Json* used = find(config, "use_sliding_window");  // Qwen2 has the key without using it.
  if (window == nullptr || (used != nullptr && *used == false)) return Done{};
  if (config.value("model_type", "") == "qwen2" && used == nullptr) return Done{};
  if (window->is_number() && *window >= sequence) return Done{};
  return unsupported("sliding_window", *window,
                     fmt::format("no window, or one of at least batch.sequence = {}", sequence));
}

}  // namespace

Status check_supported(const Json& config, const estimate::ModelConfig& model,
                       std::uint64_t sequence) {
  HEADROOM_CHECK(check_rotary(config, model));
  HEADROOM_CHECK(check_window(config, sequence));
  const Json* activation = find(config, "hidden_act");
  if (activation != nullptr && *activation != "silu" && *activation != "swish") {
    return unsupported("hidden_act", *activation, "\"silu\"");
  }
  return Done{};
}

}  // namespace headroom::trainer
