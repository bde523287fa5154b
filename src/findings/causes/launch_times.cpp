// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/launch_times.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Row {
  const Observation* line = nullptr;
  double size = 0;
  double time = 0;
};

std::optional<Row> read_row(const Observation& line) {
  const auto size = parse_u64(line.value("size"));
  if (!size || line.value("size") != line.value("other")) return std::nullopt;
  const double time = std::strtod(std::string(line.value("time")).c_str(), nullptr);
  if (time <= 0) return std::nullopt;
  return Row{&line, static_cast<double>(*size), time};
}

// The rows of one run: sizes grow, and a smaller one begins another run.
std::vector<std::vector<Row>> series_of(const logs::Observations& log) {
  std::vector<std::vector<Row>> all;
  for (const Observation* line : log.of("size-timed")) {
    const auto row = read_row(*line);
    if (!row) continue;
    const bool begins = all.empty() || all.back().back().line->log != line->log ||
                        row->size <= all.back().back().size;
    if (begins) all.emplace_back();
    all.back().push_back(*row);
  }
  return all;
}

// By how much the largest time is above the smallest one.
double spread_of(const std::vector<Row>& series) {
  const auto [least, most] = std::minmax_element(series.begin(), series.end(),
                                                 [](auto& a, auto& b) { return a.time < b.time; });
  return most->time / least->time;
}

}  // namespace

std::optional<Hypothesis> find_launch_times(const LogSubject& subject) {
  constexpr std::size_t least_rows = 4;
  constexpr double far_larger = 8;  // Of a side; a product of two takes 8³ times the work.
  constexpr double the_same = 1.6;
  constexpr double least_size = 2048;
  const Observation* flat = nullptr;
  const Observation* growing = nullptr;
  for (const auto& series : series_of(subject.log)) {
    if (series.size() < least_rows) continue;
    // Small products take as long as their launch on every GPU.
    if (series.back().size < least_size) continue;
    if (series.back().size < far_larger * series.front().size) continue;
    const double spread = spread_of(series);
    if (spread < the_same && flat == nullptr) flat = series.back().line;
    if (spread > far_larger && growing == nullptr) growing = series.back().line;
  }
  if (flat == nullptr) return std::nullopt;
  const Observation* waits = subject.log.first("waits-for-default-device");
  Hypothesis bug;
  bug.confidence = waits != nullptr && growing != nullptr ? 0.75 : growing != nullptr ? 0.6 : 0.5;
  bug.title = "The benchmark measures how long it takes to start the work, not to do it";
  bug.reasons.emplace_back(
      "The time is the same for hundreds of times the work, which no GPU can do. Kernels run on "
      "after the call returns, and nothing waited for them.");
  bug.evidence = {show(subject, *flat, "the same time as for the smallest")};
  if (growing != nullptr) bug.evidence.push_back(show(subject, *growing, "here it was measured"));
  if (waits != nullptr) {
    bug.reasons.emplace_back(
        "torch.cuda.synchronize() without an argument waits for the current device alone, which is "
        "device 0 unless it was set.");
    bug.evidence.push_back(show(subject, *waits, "waits for the current device"));
  }
  bug.fix = {
      sentence("Wait for the device that computes: torch.cuda.synchronize(device), or work "
               "within torch.cuda.device(device).")};
  return bug;
}

}  // namespace headroom::findings
