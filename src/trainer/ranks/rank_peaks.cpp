// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/rank_peaks.h"

#include <cstdint>

namespace headroom::trainer {

Result<std::vector<RunTotals::RankPeak>> gather_peaks(Ranks& ranks,
                                                      const std::optional<MeasuredMemory>& memory) {
  std::vector<RunTotals::RankPeak> peaks;
  if (ranks.is_alone() || !memory) return peaks;
  const std::uint64_t host = memory->host ? memory->host->usage.live_peak_bytes : 0;
  HEADROOM_TRY(const auto told, ranks.tell({static_cast<double>(memory->usage.live_peak_bytes),
                                            static_cast<double>(memory->usage.reserved_peak_bytes),
                                            static_cast<double>(host)}));
  if (!told) return peaks;
  for (const Told& one : *told)
    peaks.push_back({one.rank, static_cast<std::uint64_t>(one.numbers[0]),
                     static_cast<std::uint64_t>(one.numbers[1]),
                     static_cast<std::uint64_t>(one.numbers[2])});
  return peaks;
}

}  // namespace headroom::trainer
