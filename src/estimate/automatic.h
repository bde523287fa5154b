// SPDX-License-Identifier: Apache-2.0
// The settings of a job for headroom's own trainer that are "auto": compute.dtype, attention, loss
// and checkpointing, the batch's micro, and what is offloaded. Chosen for the job's capacity: of
// all combinations that fit, each planned in full, the fastest (docs/decisions/0042).
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate {

struct Automatic {
  bool dtype = false, attention = false, loss = false, checkpointing = false, micro = false;
  bool offload = false;      // optimizer.offload
  bool activations = false;  // compute.activation_offloading

  bool offloads() const { return offload || activations; }
  bool any() const { return dtype || attention || loss || checkpointing || micro || offloads(); }
};

// Which of them are "auto" in a job. Those that parse_job has no word for (all but checkpointing
// and micro) are taken out of it. Anything else stays for parse_job to judge.
Automatic take_automatic(Json& job);

// One combination, with the largest micro-batch that fits where that is automatic.
struct Tried {
  Job job;  // Nothing of it is automatic.
  bool fits = false;
  std::uint64_t allocated_bytes = 0;  // Peak of live allocations: what tells apart what fits not.
  std::uint64_t device_bytes = 0;
  double relative_speed = 0;  // Of the chosen one, on paper (speed.h).
};

struct Choice {
  Automatic automatic;
  Job job;                     // The chosen one's, with nothing automatic.
  Job open;                    // The same with its batch as given: make_plan chooses it likewise.
  bool knows_capacity = true;  // Without one nothing is known to fit.
  std::vector<Tried> tried;    // The chosen one, then what fits, then the rest, each fastest first.
};

// `job` is the document after take_automatic(). Where nothing fits, the one that needs least is
// chosen; without a capacity, the first of the list below with a micro-batch of 1. Equally fast
// ones (nearer than 2 %) come in this order: fp32 before bf16, the efficient kernel before math,
// the eager loss before chunked, and what is recomputed: nothing, what needs no product, layers.
// Only where nothing fits is anything offloaded that may be. Types are taken to be equally fast,
// because the trainer computes in fp32 either way; fp32 masters are of bf16 alone. Fails where
// parse_job or the plan does.
Result<Choice> choose_settings(const Document& job, const Automatic& automatic,
                               const Architecture& model, const Device& device);

// docs/schema/train.schema.json, "automatic".
Json to_json(const Choice& choice);
// "auto: micro = 4, checkpointing = "none": the fastest of 12 that fit; 4 others do not fit".
std::string to_line(const Choice& choice);

}  // namespace headroom::estimate
