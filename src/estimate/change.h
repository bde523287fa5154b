// SPDX-License-Identifier: Apache-2.0
// Settings that differ from a job's: what the search tries, what advice consists of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate {

// Only those that are set differ.
struct Change {
  std::optional<std::uint64_t> micro;
  std::optional<std::uint64_t> accumulate;
  std::optional<Checkpointing> checkpointing;
  std::optional<Attention> attention;
  std::optional<Loss> loss;
  std::optional<NormKernel> norm;
  std::optional<bool> foreach;
  std::optional<bool> offload;
  // What these change is learned differently, or is another model.
  std::optional<OptimizerKind> optimizer;
  bool by_trainer = false;     // It is named as transformers' Trainer does.
  std::optional<DType> dtype;  // Of compute, and of what is held in the same type.
  std::optional<std::uint64_t> rank;
  std::optional<std::uint64_t> sequence;
  std::optional<MethodKind> method;
  std::optional<WeightFormat> base;
  // What goes with compute.dtype, where the job says it by itself.
  std::optional<DType> residual;
  std::optional<DType> embeddings;
  std::optional<bool> autocast;

  bool operator==(const Change&) const = default;
};

Job apply(Job job, const Change& change);

// The same change with all that has to be written into the file that `given` was read from for it
// to become apply(job, change): what was automatic there, and what says by itself what otherwise
// follows. Requires: `job` is `given` with nothing automatic.
Change written_out(Change change, const Job& given, const Job& job, const Architecture& model);

// Both together; where both set the same, the second counts.
Change merge(Change first, const Change& second);

// Whether what comes out of the training is something else.
bool changes_result(const Change& change);

// How many settings differ, the batch's split counted as one.
int count(const Change& change);

// Whether all that `part` sets is set likewise in `whole`; of the batch, that both split it.
bool within(const Change& part, const Change& whole);

// Whether both are of one character: a person who will not have the one will not have the other.
// The split of the batch, foreach and which of the foreign kernels makes no difference.
bool alike(const Change& a, const Change& b);

// The micro-batches that keep the global batch whole, largest first: at most `most` samples.
std::vector<std::uint64_t> micro_batches(std::uint64_t global, std::uint64_t most);

// What may be tried in the place of the job's own settings, each list beginning with "as it is".
// Kernels and checkpointing that the job's engine and device have:
std::vector<Change> kernel_changes(const Job& job, const Architecture& model, const Device& device);
// How the optimizer is run, and where:
std::vector<Change> optimizer_changes(const Job& job);
// What changes the result, mildest first; nothing for "as it is":
std::vector<Change> result_changes(const Job& job, const Device& device);

}  // namespace headroom::estimate
