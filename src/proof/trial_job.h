// SPDX-License-Identifier: Apache-2.0
// The job of `headroom try`: what every framework can run the same way. It is a plain transformer
// of the job's sizes, whose weights and data are the same everywhere; what a job asks for beyond
// that is left out, and said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"

namespace headroom::proof {

struct TrialJob {
  std::string family;  // The model's, as in its config.json.
  estimate::Job job;   // With what is left out taken out: its plan is the trial's.
  estimate::Architecture model;
  // What of the job is not run, each in words: "dropout".
  std::vector<std::string> left_out;
  // Why its peak cannot be held against a plan; empty: it can.
  std::string not_planned;

  std::uint64_t samples_per_step() const { return *job.batch.micro; }
};

// Fails with unsupported where there is no transformer in it that could be trained: an inference, a
// GPTQ model, a mixture of experts, several stacks, an ONNX graph. `job.batch.micro` must be given:
// "auto" is what a plan made of it.
Result<TrialJob> make_trial_job(const estimate::Job& job, const estimate::Architecture& model);

// The job as python/headroom_steps/trial/job.py reads it.
std::string to_words(const TrialJob& trial);
// For a person: "llama: 6 layers of 256, batch 4, 512 tokens, fp32, adamw".
std::string describe(const TrialJob& trial);

}  // namespace headroom::proof
