// SPDX-License-Identifier: Apache-2.0
#include "trainer/compare_peaks.h"

#include <fmt/format.h>

#include <vector>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"

namespace headroom::trainer {
namespace {

// Both have `allocated_bytes`.
std::string compare(const char* what, const Json& ran, const Json& planned) {
  const auto measured = ran["allocated_bytes"].get<std::uint64_t>();
  const auto predicted = planned["allocated_bytes"].get<std::uint64_t>();
  const double off = 100.0 * (static_cast<double>(predicted) / static_cast<double>(measured) - 1.0);
  return fmt::format("{} {}, predicted {} ({:+.1f} %)", what, to_string(Bytes{measured}),
                     to_string(Bytes{predicted}), off);
}

// Of the whole report, or of one rank's part of it.
std::string compare_both(const Json& ran, const Json& planned) {
  std::string text = compare("peak", ran, planned);
  if (ran.contains("host") && planned.contains("host"))
    text += "; " + compare("of host memory", ran["host"], planned["host"]);
  return text;
}

}  // namespace

std::string peak_of(const StepMetrics& line) {
  if (!line.live_peak_bytes) return "not counted";
  std::string text = to_string(Bytes{*line.live_peak_bytes});
  if (line.host_live_peak_bytes)
    text += fmt::format(" + {} of host memory", to_string(Bytes{*line.host_live_peak_bytes}));
  return text;
}

std::string compare_peaks(const Json& report) {
  if (report["measured"].is_null()) return "memory was libtorch's own: not counted, not limited";
  const Json& predicted = report["predicted"];
  if (!predicted.contains("stages")) return compare_both(report["measured"], predicted);
  std::vector<std::string> ranks;
  for (const Json& rank : report["ranks"]) {
    const auto number = rank["rank"].get<std::size_t>();
    ranks.push_back(
        fmt::format("rank {}: {}", number, compare_both(rank, predicted["stages"].at(number))));
  }
  return join(ranks, "; ");
}

}  // namespace headroom::trainer
