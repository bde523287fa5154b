// SPDX-License-Identifier: Apache-2.0
// Which tensor could not be allocated: the ones of a job whose size is the size that a message
// prints. "Tried to allocate 3.99 GiB" with batch 64, 16 heads and sequences of 1024 is 64 × 16 ×
// 1023 × 1023 × 4 bytes: the attention scores of one layer. A size that nothing explains has no
// match, and what cannot be told apart has the same rank. Two decimals leave little to chance: of
// sizes drawn at random, about one in twenty is that of some tensor of a job known in full, one in
// ten where the vocabulary is guessed, and one in forty with a doubt of at most 1
// (explain_test.cpp). Two tensors of a planned step, joined, explain one in a hundred more, most of
// them with a doubt of 1 (explain_sums_test.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/job_dimensions.h"
#include "estimate/models/architecture.h"
#include "estimate/printed_size.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

struct TensorMatch {
  std::string tensor;  // In plain words, or the plan's name: "layers.0.self_attn.scores".
  Shape shape;
  std::string dtype;  // "fp32", "bf16", "fp16", "fp16/bf16" (either), "int8/fp8", "bool", "int64"
  std::uint64_t bytes = 0;  // Of the tensor, before any rounding.
  double error = 0;         // |bytes − printed| / printed
  unsigned rank = 0;        // 0: the most plausible; equal ranks cannot be told apart.
  // What had to be assumed for it: 0 nothing, 1 something usual; from 2 on it may be mere chance.
  unsigned doubt = 0;
  std::string formula;  // "64 × 16 × 1023 × 1023 × 4 B"
  std::string axes;     // "batch × heads × sequence × sequence"; empty for a plan's.
  std::vector<std::string> assumes;     // "sequence is 1023: 1024 (--block_size) less one, as …"
  std::vector<std::string> removed_by;  // What makes it smaller or spares it, the best first.
};

// All tensors by formula (tensor_rules.h) whose size it is, the most plausible first. `precision`
// is PrintedSize's: bytes between two sizes that could have been printed. Empty if nothing is it,
// and for PyTorch's shared segments of 2 MiB, which hold whatever is small.
std::vector<TensorMatch> explain_allocation(Bytes size, double precision,
                                            const JobDimensions& known);

// With a job and its model: the tensors of the step as planned come first, by their names there.
// Fails as make_plan does.
Result<std::vector<TensorMatch>> explain_allocation(const PrintedSize& printed, const Job& job,
                                                    const Architecture& model,
                                                    const Device& device);

// What a job and its model say of themselves.
JobDimensions dimensions_of(const Job& job, const Architecture& model);

// Every tensor that the formulas give for these dimensions, whatever its size. For tests.
std::vector<TensorMatch> all_tensors(const JobDimensions& known);

}  // namespace headroom::estimate
