// SPDX-License-Identifier: Apache-2.0
// Figures of memory over the work done, gathered from lines as they come. A log of any length takes
// bounded memory: neighbouring values are merged into the highest of them, so that a series always
// covers all of its run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "logs/memory_figures.h"

namespace headroom::logs {

// Lines of signatures whose ids begin with this are kept as series and not one by one.
inline constexpr std::string_view memory_figures_id = "memory-figures";

struct MemoryPoint {
  double at = 0;  // The step, or the number of the reading; each is behind the one before it.
  double bytes = 0;
  std::uint64_t line = 0;
};

// A line that a series rests on.
struct SeriesLine {
  std::uint64_t line = 0;  // From 1; 0 if there is none.
  std::string text;        // As it is written: at most 300 bytes, not yet fit to be shown.
};

// Of one label, device and origin, in one run of a program.
struct MemorySeries {
  static constexpr std::size_t most_points = 128;

  MemoryKind kind = MemoryKind::device;
  bool is_peak = false;
  std::string label, device, origin;
  std::string unit;  // "batch"; "reading" if the lines count no steps.
  std::uint64_t log = 0;
  std::string log_name;
  std::optional<Bytes> capacity;  // If the lines say it.
  std::vector<MemoryPoint> points;
  std::uint64_t count = 0;  // Of figures.
  SeriesLine first, last;
};

// Not for several threads at once.
class MemoryLog {
 public:
  static constexpr std::size_t most_series = 64;

  struct Place {
    std::uint64_t log = 0;
    std::string_view log_name;
    std::string_view origin;
    std::uint64_t line = 0;
  };
  // Takes the figures of a line or of a row in it. Requires: in the order of the logs.
  void add(const Place& place, std::string_view row);

  // In the order in which they begin. A counter of steps that falls back while the memory falls,
  // too, begins a new run, hence a series of its own; one that falls back alone is the next
  // epoch's.
  const std::vector<MemorySeries>& all() const { return series_; }

 private:
  // What goes on in a series and is no part of it.
  struct State {
    double offset = 0;  // By what the epochs before this one count.
    double last_step = -1, last_bytes = 0;
    std::uint64_t stride = 1, in_stride = 0;  // How many figures a point stands for.
  };

  void take(const Place& place, std::string_view row, const MemoryLine& line,
            const MemoryFigure& figure);
  // Returns its place; nothing if there are too many.
  std::optional<std::size_t> begin(const Place& place, const MemoryLine& line,
                                   const MemoryFigure& figure, const std::string& key);
  static void add_point(MemorySeries& series, State& state, const MemoryPoint& point);

  std::vector<MemorySeries> series_;
  std::vector<State> states_;                  // By series.
  std::map<std::string, std::size_t> places_;  // The present run's series, by what it is of.
};

}  // namespace headroom::logs
