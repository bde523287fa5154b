// SPDX-License-Identifier: Apache-2.0
// What a run writes while it trains: metrics, checkpoints, the best model and the result. Of the
// ranks of one job one writes; for the others every function does nothing and succeeds, until the
// one that wrote is lost and another takes over. Where the model is split over them, all ranks call
// what writes a part of it, and give theirs (tensor_writer.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/document_fwd.h"
#include "base/result.h"
#include "report/thinned_curve.h"
#include "trainer/best_model.h"
#include "trainer/checkpoint.h"
#include "trainer/event_file.h"
#include "trainer/metrics.h"
#include "trainer/observer.h"
#include "trainer/output_lock.h"

namespace headroom::trainer {

class RunOutput {
 public:
  // `config` and `base`: as BestModel takes them. Without a lock it does not write.
  RunOutput(Ranks& ranks, std::string folder, const Json& config, const Json& base,
            std::optional<OutputLock> lock)
      : ranks_(ranks),
        folder_(std::move(folder)),
        config_(config),
        base_(base),
        best_(folder_, config, base),
        lock_(std::move(lock)) {}

  const std::string& folder() const { return folder_; }
  const BestModel& best() const { return best_; }
  bool writes() const { return lock_.has_value(); }

  // From open_metrics() on, events for TensorBoard are written as well, if this rank writes; what
  // of them cannot be is told to `observer`, which outlives this.
  void write_events(Observer& observer) { events_observer_ = &observer; }

  // metrics.jsonl, with the lines up to this step.
  Status open_metrics(std::uint64_t steps);
  // Takes the folder's lock, which the rank that wrote has left, and goes on after this step.
  Status take_over(std::uint64_t steps);

  Status add(const StepMetrics& line);
  Status add(const EvaluationMetrics& line);
  Status save_checkpoint(Model& model, Optimizer& optimizer, const RunIdentity& identity,
                         const Position& position);
  Status save_best(Model& model, std::uint64_t step, double loss);
  Status save_result(Model& model);

  // The steps in the checkpoint, where there is one, and how long ago it was written.
  const std::optional<std::uint64_t>& saved_at() const { return saved_at_; }
  void found_checkpoint(std::uint64_t steps) { saved_at_ = steps; }
  double seconds_since_checkpoint() const;
  // Those that this process saved.
  const report::StepMarks& checkpoints() const { return checkpoints_; }

 private:
  using Clock = std::chrono::steady_clock;

  void open_events(std::uint64_t steps);
  template <class Metrics>
  void add_event(const Metrics& line);

  TensorWriter writer() const { return {ranks_, writes()}; }

  Ranks& ranks_;
  std::string folder_;
  const Json& config_;
  const Json& base_;
  BestModel best_;
  std::optional<OutputLock> lock_;
  std::optional<MetricsFile> metrics_;
  Observer* events_observer_ = nullptr;  // Null: nobody asked for events.
  std::optional<EventFile> events_;
  std::optional<StepMetrics> last_step_;
  std::optional<EvaluationMetrics> last_evaluation_;
  std::optional<std::uint64_t> saved_at_;
  Clock::time_point saved_time_ = Clock::now();
  report::StepMarks checkpoints_;
};

}  // namespace headroom::trainer
