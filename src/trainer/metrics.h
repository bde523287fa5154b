// SPDX-License-Identifier: Apache-2.0
// What is known about a run while it goes on (metrics.jsonl, a line for each optimizer step) and at
// its end (report.json, docs/schema/train.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/forensics/out_of_memory.h"
#include "allocator/headroom/headroom_allocator.h"
#include "base/document_fwd.h"
#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::trainer {

struct StepMetrics {
  std::uint64_t step = 0;    // From 1.
  std::uint64_t steps = 0;   // Of the whole run.
  std::uint64_t epoch = 0;   // From 1.
  double loss = 0;           // Mean over the step's tokens, in nats.
  double learning_rate = 0;  // Of this step, by the schedule.
  double gradient_norm = 0;  // Of all gradients together, before they are clipped.
  std::uint64_t tokens = 0;  // Of the step, padding not counted.
  double step_s = 0;
  double elapsed_s = 0;  // Since this process began training.
  // Nothing where libtorch's own memory is used, which nobody counts.
  std::optional<std::uint64_t> live_peak_bytes = {};
  std::optional<std::uint64_t> reserved_peak_bytes = {};
  std::optional<std::uint64_t> host_live_peak_bytes = {};  // Nothing where nothing is offloaded.

  double tokens_per_s() const { return step_s > 0 ? static_cast<double>(tokens) / step_s : 0; }
};

Json to_json(const StepMetrics& metrics);

// One evaluation between two steps.
struct EvaluationMetrics {
  std::uint64_t step = 0;   // The last one before it.
  std::uint64_t epoch = 0;  // From 1: that of the step.
  double loss = 0;          // Mean over the tokens to predict, in nats.
  bool best = false;        // Lower than every one before.
  double evaluation_s = 0;
  double elapsed_s = 0;  // Since this process began training.
};

Json to_json(const EvaluationMetrics& metrics);

// metrics.jsonl: lines of steps and of evaluations. Each line is on its way to the disk when add()
// returns; one that does not fit on it leaves no part of itself.
class MetricsFile {
 public:
  // Keeps the lines of steps up to `resumed_at` (0: none) and drops later ones, which a resumed run
  // writes again.
  static Result<MetricsFile> open(const std::string& path, std::uint64_t resumed_at);
  Status add(const StepMetrics& metrics);
  Status add(const EvaluationMetrics& metrics);

 private:
  Status add_line(const Json& json);
  MetricsFile(std::string path, machine::Descriptor file, std::uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}
  std::string path_;
  machine::Descriptor file_;
  std::uint64_t bytes_;  // Of whole lines.
};

struct OutOfMemoryEvent {
  std::uint64_t step = 0;  // That could not be finished.
  allocator::OutOfMemory problem;
  // With how many samples at once the step was done again; nothing: it ended the run.
  std::optional<std::uint64_t> done_again_with = {};
};

// Steps whose time was taken, all but the first of this process.
struct Pace {
  std::uint64_t steps = 0;
  double elapsed_s = 0;
  double quiet_s = 0;  // Without what the threads waited for a processor.
};

struct RunTotals {
  bool completed = false;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;  // By this process.
  double elapsed_s = 0;
  std::optional<double> first_loss;
  std::optional<double> last_loss;
  // What was found on data that was not trained on; nothing: there is none, or none was tried yet.
  struct Evaluated {
    std::uint64_t samples = 0;
    std::uint64_t tokens = 0;
    std::optional<double> last_loss;  // By this process.
    double best_loss = 0;
    std::uint64_t best_step = 0;
  };
  std::optional<Evaluated> evaluation = {};
  std::vector<OutOfMemoryEvent> out_of_memory;
  // Where several ranks trained together, what each that was left at the end needed.
  struct RankPeak {
    std::uint32_t rank = 0;
    std::uint64_t allocated_bytes = 0, reserved_bytes = 0;
    std::uint64_t host_bytes = 0;  // Of what is offloaded.
  };
  std::vector<RankPeak> ranks = {};
  Pace pace = {};
};

struct MeasuredMemory {
  allocator::Usage usage;
  allocator::ByComponent peak_by_component;
  std::uint64_t capacity_bytes = 0;
  allocator::MissCounts misses;
  allocator::PlanCounts plans;
  // Of the host memory for what is offloaded, where anything is.
  struct Host {
    allocator::Usage usage;
    std::uint64_t capacity_bytes = 0;
  };
  std::optional<Host> host = {};
};

// The peaks so far, to a line of metrics.
void add_peaks(const MeasuredMemory& memory, StepMetrics& line);

// `memory`: nothing where nobody counted. `predicted`: the plan's answer, or null. `settings`: what
// was run.
Json make_report(const RunTotals& totals, const std::optional<MeasuredMemory>& memory,
                 const Json& predicted, const Json& settings);

}  // namespace headroom::trainer
