// SPDX-License-Identifier: Apache-2.0
// A model that vLLM serves: from the command line of vLLM, or a job file with
// [engine] kind = "vllm".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/vllm/options.h"
#include "run/job_file.h"
#include "run/job_flags.h"

namespace headroom::run {

struct VllmJob {
  LoadedJob loaded;  // The model, its config, and the device.
  estimate::vllm::Options options;
  std::vector<std::string> notes;  // What was not read.
};

// "vllm serve MODEL …" and "python -m vllm.entrypoints.openai.api_server --model MODEL …", with
// variables in front of it or without.
bool is_vllm_command(const std::vector<std::string>& words);

// Fails where no model is named, or where one cannot be loaded.
Result<VllmJob> load_vllm_command(const std::vector<std::string>& words, const JobFlags& flags);

// A job file with [engine] kind = "vllm". Fails with what is wrong in it.
Result<VllmJob> load_vllm_job(const JobFile& file, const JobFlags& flags);

}  // namespace headroom::run
