// SPDX-License-Identifier: Apache-2.0
// How fast headroom-train is on one machine: what its operations take (rates.h), and how whole
// steps compared with what those add up to. `headroom test --calibrate` measures both, and every
// `headroom run` adds its own steps, so that later predictions are better.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/job.h"
#include "estimate/rates.h"

namespace headroom::estimate {

struct CalibrationKey {
  std::string device;  // The processor's name.
  std::string engine;  // headroom's version.
  std::uint64_t threads = 1;

  bool operator==(const CalibrationKey&) const = default;
};

// Why a calibration for `found` says nothing of `wanted`: "for 4 threads, and this run would have
// 2". Empty if they are equal.
std::string difference_of(const CalibrationKey& found, const CalibrationKey& wanted);

// A step that was measured whole, without the time that its threads waited for a processor.
struct MeasuredStep {
  DType dtype = DType::fp32;
  double rates_s = 0;     // What the rates alone say.
  double measured_s = 0;  // Of the same step.
};

struct Calibration {
  CalibrationKey key;
  std::string time;         // Of its making, UTC.
  double waited_share = 0;  // Of the measuring: how much of it threads waited for a processor.
  OperationTimes rates = {};
  std::vector<MeasuredStep> steps = {};  // By the calibration itself.
  std::vector<MeasuredStep> runs = {};   // By headroom run, oldest first.

  // Forgets the oldest where there are too many.
  void add_run(const MeasuredStep& run);
};

// What the sum of the rates is multiplied by, and between what bounds that is likely to lie.
struct Correction {
  double factor = 1;
  double low = 1;
  double high = 1;
};
// By the measured steps, those of about the same length first; steps of other types count only
// where there is none of this one.
Correction correction_of(const Calibration& calibration, DType dtype, double rates_s);

// The calibrations of one user on one machine, one for each key, newest last.
class Calibrations {
 public:
  const std::vector<Calibration>& all() const { return all_; }
  const Calibration* find(const CalibrationKey& key) const;
  // In the place of the one with its key; forgets the oldest where there are too many.
  void put(Calibration calibration);

 private:
  std::vector<Calibration> all_;
};

// JSON, "headroom.calibration/1". Fails on anything that is not exactly such a document: the text
// may come from anywhere.
std::string format_calibrations(const Calibrations& calibrations);
Result<Calibrations> parse_calibrations(std::string_view text);
// One of them, as headroom-train answers.
Json to_json(const Calibration& calibration);
Result<Calibration> parse_calibration(const Json& json);

}  // namespace headroom::estimate
