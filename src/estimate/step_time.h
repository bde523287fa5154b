// SPDX-License-Identifier: Apache-2.0
// How long a job of headroom-train will take on this machine: what its steps do (work.h), times
// what that takes here (calibration.h). Not to be confused with speed.h, which only orders
// settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "estimate/calibration.h"
#include "estimate/job.h"
#include "estimate/model_config.h"

namespace headroom::estimate {

// Micro-batches of so many samples, padded to so many tokens each.
struct MicroBatchShape {
  std::uint64_t samples = 0;
  std::uint64_t length = 0;

  auto operator<=>(const MicroBatchShape&) const = default;
};

// What one epoch of the job's data is cut into.
struct EpochShape {
  std::uint64_t steps = 0;
  std::map<MicroBatchShape, double> training = {};    // How many of each.
  std::map<MicroBatchShape, double> evaluation = {};  // In all evaluations of an epoch.
};

struct Seconds {
  double likely = 0;
  double low = 0;  // A range in which it is likely to lie.
  double high = 0;
};

struct TimeEstimate {
  Seconds step = {};  // Of the epoch's mean step, or of a full one where the data are not known.
  std::optional<Seconds> epoch = {};  // With its evaluations; without what is written to the disk.
  std::uint64_t steps_per_epoch = 0;
  std::uint64_t epochs = 0;
  double rates_s = 0;           // The likely step before it was corrected.
  std::string calibrated = {};  // When.
  double waited_share = 0;      // While it was calibrated.
  std::size_t runs = 0;         // That corrected it.
};

// Requires: job is planned: nothing is automatic. Fails where an operation was not measured.
Result<TimeEstimate> predict_time(const Job& job, const ModelConfig& model,
                                  const Calibration& calibration,
                                  const std::optional<EpochShape>& epoch);

// What the rates alone say of one full step.
Result<double> rates_of_step(const Job& job, const ModelConfig& model, const OperationTimes& rates);

}  // namespace headroom::estimate
