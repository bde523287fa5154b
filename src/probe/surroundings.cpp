// SPDX-License-Identifier: Apache-2.0
#include "probe/surroundings.h"

#include "facts/kernel_text.h"
#include "probe/read_text.h"

namespace headroom::probe {

std::string Environment::get(std::string_view name) const {
  for (const auto& [key, value] : variables) {
    if (key == name) return value;
  }
  return "";
}

Environment read_environment(const machine::Files& files, const facts::MachineFacts& machine,
                             const Surroundings& surroundings) {
  if (files.is_real()) return {surroundings.environment, {"environment", 0, ""}};
  Environment environment{{}, {"/proc/1/environ", 0, ""}};
  if (!machine.in_container()) return environment;
  const facts::Text text = read_text(files, environment.source.path);
  for (const char* name : {"PATH", "HOME", "LD_LIBRARY_PATH", "ROCR_VISIBLE_DEVICES",
                           "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const auto value = facts::parse_environment(text, name);
    if (value) environment.variables.emplace_back(name, *value);
  }
  return environment;
}

}  // namespace headroom::probe
