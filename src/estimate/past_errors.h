// SPDX-License-Identifier: Apache-2.0
// How right the plans of such jobs were, and, where they are off in the same direction every time,
// which part it is that differs. It only says so: no plan is ever corrected by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimate/past_run.h"

namespace headroom::estimate {

enum class Measure : std::uint8_t { allocated, reserved, device };
std::string_view to_string(Measure measure);

// predicted / measured − 1 over the runs that have both.
struct PredictionError {
  Measure measure = Measure::allocated;
  std::size_t runs = 0;
  double median = 0;
  double worst = 0;         // The one farthest from 0, with its sign.
  bool systematic = false;  // Three runs or more, one sign, |median| above 1 %.
};

// Where a systematic error comes from, as far as the runs tell.
struct ErrorCause {
  enum class Part : std::uint8_t {
    component,     // One component has most of the difference.
    spread,        // Components were measured, and none has most of it.
    fixed_amount,  // The difference is the same whatever the job's size.
    allocator,     // What is reserved beyond what is live.
    context,       // What the device shows beyond what is reserved.
    unknown,       // The runs are too much alike to tell.
  };
  Measure of = Measure::allocated;
  Part part = Part::unknown;
  std::optional<Component> component;
  bool was_measured = false;  // Component by component; else told by what the difference follows.
  // Medians over the runs: of the part, or for fixed_amount and unknown of the measure itself.
  std::uint64_t predicted_bytes = 0;
  std::uint64_t measured_bytes = 0;  // Of a component that was not measured: what would explain it.
};

struct PastErrors {
  std::size_t runs = 0;                 // Such runs, those out of memory included.
  std::size_t same_model = 0;           // Of them, runs of this very model.
  std::size_t out_of_memory = 0;        // Of them, planned to fit (or else not run) and yet failed.
  std::vector<PredictionError> errors;  // Of what was measured at least once; in Measure's order.
  std::vector<ErrorCause> causes;       // Of the systematic ones, in the same order.
};

// Runs like the one planned: by the same engine, of the same family and method. Nearest first: the
// same model, then the same device, then the nearest planned size, then the latest.
std::vector<PastRun> find_such_runs(std::vector<PastRun> runs, const PastRun& planned);

// Over the first fifty of find_such_runs(). The context is judged by runs on the same device.
PastErrors find_past_errors(const std::vector<PastRun>& such, const PastRun& planned);

}  // namespace headroom::estimate
