// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/two_totals.h"

#include "findings/causes/amounts.h"
#include "findings/causes/failed_allocation.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Whether two of ollama's lines are of the same GPU: its number and its target are the same, and no
// setting between them changes what it has.
bool is_same_gpu(const LogSubject& subject, const Observation& one, const Observation& other) {
  const auto device_at = [&](const Observation& line) -> const Observation* {
    for (const Observation* device : subject.log.of("ollama-device")) {
      if (device->log == line.log && device->line == line.line) return device;
    }
    return nullptr;
  };
  const Observation *a = device_at(one), *b = device_at(other);
  if (a == nullptr || b == nullptr || a->log != b->log) return false;
  const bool changed = subject.log.any_of({"module-options", "pages-limit-file", "amd-ttm"});
  return !changed && a->value("gfx") == b->value("gfx") && a->value("index") == b->value("index");
}

}  // namespace

TwoTotals find_two_totals(const LogSubject& subject) {
  const auto lines = subject.log.of("ollama-memory");
  for (const Observation* before : lines) {
    for (const Observation* after : lines) {
      if (!is_before(*before, *after) || !is_same_gpu(subject, *before, *after)) continue;
      const auto more = amount_of(*before, "total"), less = amount_of(*after, "total");
      if (!more || !less || part_of(*less, *more) > 0.75) continue;
      return {before, after, *more, *less};
    }
  }
  return {};
}

bool is_carve_out(Bytes amount) {
  constexpr std::uint64_t step = 256;
  return amount >= 256_MiB && amount <= 2_GiB && amount.value % (step * (1_MiB).value) == 0;
}

}  // namespace headroom::findings
