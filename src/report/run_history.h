// SPDX-License-Identifier: Apache-2.0
// What the lines of metrics.jsonl (headroom-train) say of a run from its first step on, resumed
// parts included. Lines are read as they come and thinned out, so that a run of any length takes
// the same memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/document_fwd.h"
#include "report/thinned_curve.h"

namespace headroom::report {

struct RunHistory {
  ThinnedCurve loss, evaluation_loss;  // In nats per token.
  ThinnedCurve tokens_per_s;
  // Highest so far of the process that did the step: it begins anew where a run is resumed.
  ThinnedCurve live_peak_bytes, reserved_peak_bytes;
  StepMarks resumed;  // The first step of every process but the first one.
  StepMarks best;     // After each of these the evaluation was the best so far.
  std::uint64_t first_step = 0, last_step = 0;  // 0: no step was finished.
  std::uint64_t tokens = 0;
  double trained_s = 0;           // Of all processes together.
  std::uint64_t passed_over = 0;  // Lines that are none of a step or an evaluation, or cut short.
};

class RunHistoryReader {
 public:
  // The next part of the file, of any length.
  void add(std::string_view piece);
  // Of all that was added. A last line without its end counts if it is whole.
  RunHistory finish();

 private:
  void add_line(std::string_view line);
  bool add_json(const Json& line);
  bool add_step(std::uint64_t step, const Json& line);
  void add_time(std::uint64_t step, const Json& line);
  bool add_evaluation(std::uint64_t step, const Json& line);

  RunHistory history_;
  std::string begun_;         // Of a line whose end has not come.
  bool is_too_long_ = false;  // That line.
  double elapsed_s_ = 0;      // Of the process whose lines are being read.
  std::uint64_t evaluated_ = 0;
};

}  // namespace headroom::report
