// SPDX-License-Identifier: Apache-2.0
#include "run/command/apu_memory.h"

#include <fmt/format.h>

namespace headroom::run {

std::string apu_totals(const facts::Facts& facts) {
  std::string text;
  for (const facts::Gpu& gpu : facts.gpus) {
    if (!gpu.integrated || !*gpu.integrated) continue;
    const facts::Rung* const binding = gpu.ladder.binding();
    if (binding == nullptr || !binding->limit || binding->limit->value == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", gpu.pci, binding->limit->value);
  }
  return text;
}

}  // namespace headroom::run
