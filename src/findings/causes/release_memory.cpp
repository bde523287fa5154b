// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/release_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "findings/causes/amounts.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct SeenTwice {
  const Observation* more = nullptr;
  const Observation* less = nullptr;
};

// llama.cpp lists each device with its memory whenever it starts.
std::optional<SeenTwice> seen_twice(const logs::Observations& log) {
  const std::vector<const Observation*> listed = log.of("ggml-device");
  for (const Observation* one : listed) {
    for (const Observation* other : listed) {
      const bool same =
          one->value("gpu") == other->value("gpu") && one->value("index") == other->value("index");
      const auto more = amount_of(*one, "vram"), less = amount_of(*other, "vram");
      if (same && more && less && part_of(*less, *more) < 0.8) return SeenTwice{one, other};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Hypothesis> compare_memory_of_releases(const LogSubject& subject) {
  const auto seen = seen_twice(subject.log);
  const Observation* told = subject.log.first_of({"nightly-told", "upgrade-told"});
  if (!seen || told == nullptr) return std::nullopt;
  Hypothesis regression;
  regression.confidence = 0.6;
  regression.title = fmt::format("One build of ROCm finds {} on the device where another finds {}",
                                 to_string(*amount_of(*seen->less, "vram")),
                                 to_string(*amount_of(*seen->more, "vram")));
  regression.reasons = {
      "Both runs list the same device. They differ in the build of ROCm; a limit of the kernel "
      "would apply to both."};
  regression.evidence = {show(subject, *seen->more, "all of the memory is found"),
                         show(subject, *seen->less, "less of it is found"), show(subject, *told)};
  regression.fix = {sentence(
      "Stay with the build that finds all of the memory. Report the other one to ROCm, with "
      "both lists of devices.")};
  regression.alternatives = {
      {"free-memory-misreported", 0.2, "run both builds, one after the other, without a reboot"},
      {"ttm-cap", 0.1, "headroom check"}};
  return regression;
}

}  // namespace headroom::findings
