// SPDX-License-Identifier: Apache-2.0
// Plans a job: how much memory it will take, whether that fits, and which settings would fit. The
// fields are those of docs/schema/plan.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/change.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/recorder.h"
#include "estimate/stages.h"
#include "estimate/step.h"

namespace headroom::estimate {

struct Advice {
  Change change;  // All that has to be written into the job's own file.
  Job job;        // That job, nothing automatic. Its plan says exactly the same of memory:
  std::uint64_t allocated_bytes = 0;
  std::uint64_t device_bytes = 0;  // As Plan::device_bytes.
  double relative_speed = 1;       // Of the job as given, on paper (estimate/speed.h).
};

// A card that would hold the job as it is, with a tenth of it to spare.
struct FittingCard {
  std::string name;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t device_bytes = 0;  // On that card: its context, workspaces and kernels.
};

// The largest batch, or the longest sequence (inference: prompt), with which the job fits.
enum class Quantity : std::uint8_t { batch, sequence };
struct LargestFit {
  Quantity quantity = Quantity::batch;
  std::uint64_t value = 0;  // 0: not even one.
  std::uint64_t allocated_bytes = 0;
  std::uint64_t device_bytes = 0;
};

enum class Verdict : std::uint8_t {
  unknown,     // No capacity was given.
  fits,        //
  borderline,  // It fits as planned, and takes more than nine tenths of the device.
  does_not_fit,
};
std::string_view to_string(Verdict verdict);  // "unknown", "fits", "borderline", "does-not-fit"

struct Plan {
  Job job;  // As planned: nothing is "auto" any more.
  std::uint64_t allocated_bytes =
      0;  // Peak of live allocations, as torch.cuda.max_memory_allocated().
  // Peak that the allocator takes, as max_memory_reserved(); where it meets the capacity and goes
  // on, what it takes from then on (estimate/steady_reserved.h).
  std::uint64_t reserved_bytes = 0;
  std::uint64_t device_bytes = 0;   // With the context: what the device's counter shows.
  std::uint64_t context_bytes = 0;  // Of that.
  std::optional<std::uint64_t> capacity_bytes;
  HostPeak host;                 // Of the host memory for what is offloaded; engine headroom alone.
  bool host_fits = true;         // Its pages are within device.host_capacity.
  std::uint64_t held_bytes = 0;  // What others hold of the device now, on top of the capacity.
  // On the device, and where the job limits it in host memory. Nothing without a capacity.
  std::optional<bool> fits;
  Verdict verdict = Verdict::unknown;
  Phase at = Phase::load;
  ByPhase phases{};                   // Their peaks; the highest is allocated_bytes.
  allocator::ByComponent components;  // At the peak; they add up to allocated_bytes.
  std::uint64_t weights_bytes = 0;    // With adapters.
  // Weights, and gradients and optimizer states of what is trained: no batch makes it smaller.
  std::uint64_t training_state_bytes = 0;
  std::uint64_t parameters = 0;
  std::uint64_t trainable_parameters = 0;
  std::vector<TensorRecord> largest;          // Live at the peak, at most ten.
  std::optional<TensorRecord> first_failure;  // The tensor that does not fit first.
  // What would fit: first what leaves the result as it is, then what changes it, each fastest
  // first. Where the job fits, only what was asked for, and only what is faster.
  std::vector<Advice> advice;
  bool searched = false;                  // Whether settings were looked for.
  std::vector<FittingCard> cards;         // Smallest first; empty if the job fits.
  std::optional<LargestFit> largest_fit;  // If it was asked for and there is a capacity.
  std::vector<std::string> notes;         // What was assumed, in words a person can judge.
  // Of a model that is split over stages, each of them; the figures above are those of the one that
  // needs most, but for the counts of parameters. Empty: it is not split.
  std::vector<StagePlan> stages = {};
};

// A fit above this share of the capacity is borderline, because fragmentation then decides.
inline constexpr double borderline_from = 0.9;

struct Asked {
  bool settings = false;  // Look for faster settings where the job fits as well.
  std::optional<Quantity> largest;
};

// Fails where the job asks for what its engine or this version cannot do. "auto" batches become the
// largest that fit, or 1 where none does or no capacity is known; "auto" checkpointing the fastest
// that fits. Also fails for what no device could hold (64 TiB). Does not touch the machine:
// everything follows from the arguments.
Result<Plan> make_plan(const Job& job, const Architecture& model, const Device& device,
                       const Asked& asked = {});

}  // namespace headroom::estimate
