// SPDX-License-Identifier: Apache-2.0
// What a series of memory figures says: too big from the start, or growing, and then what grows, by
// how much with each batch, and when it reaches the card's size. Growth is told from size because
// the two have different remedies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "findings/finding.h"
#include "logs/memory_series.h"

namespace headroom::findings {

enum class GrowthKind {
  level,             // Its highest from the first steps on.
  levels_off,        // It grows while caches fill, and then no more.
  growing_live,      // Live tensors: the program keeps something of each step.
  growing_reserved,  // The allocator takes more while what lives does not grow.
  growing,           // GPU memory; the figures do not tell which of the two.
  growing_host,      // A process's memory on the host.
  varies,            // Up and down.
};
// "growing-live"
std::string_view to_string(GrowthKind kind);

struct MemoryGrowth {
  GrowthKind kind = GrowthKind::varies;
  double sure = 0;  // 0 to 1, by how much of a series there is.
  logs::MemoryKind memory = logs::MemoryKind::device;
  std::string label;        // As the log calls it: "max memory allocated".
  std::string device;       // Empty if the lines name none.
  std::string unit;         // "batch", "step", "reading".
  double from = 0, to = 0;  // In that unit, counted through all epochs.
  std::uint64_t count = 0;  // Of figures.
  Bytes first, last, highest;
  double bytes_per_step = 0;         // 0 unless it grows.
  std::optional<Bytes> capacity;     // Of the card, or of the host.
  std::optional<double> reaches_at;  // The step at which it would reach the capacity.
  std::uint64_t log = 0;
  Evidence first_line, last_line;

  bool is_growing() const;
};

// What is known of the machine by other lines or by its facts.
struct MemorySizes {
  std::optional<Bytes> card, host;
};

// Judges the last run in the logs of each series and returns what tells most: live memory that
// grows before the allocator's, that before the card's, that before the host's. A series of less
// than six figures is not judged: two points are no growth. Nothing if there is none.
std::optional<MemoryGrowth> find_memory_growth(const logs::MemoryLog& log,
                                               const MemorySizes& sizes);

// "Allocated memory grew by 38.0 MiB per batch from batch 1 to 34 (13.10 GiB to 14.40 GiB); at this
// rate it reaches the card's 16.00 GiB at about batch 76." One sentence, or two.
std::string describe(const MemoryGrowth& growth);

}  // namespace headroom::findings
