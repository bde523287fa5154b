// SPDX-License-Identifier: Apache-2.0
// A model that llama.cpp runs: from a job file with [engine] kind = "llama.cpp", from the command
// line of one of its programs, or a GGUF file alone.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "estimate/job.h"
#include "estimate/llama_cpp/model.h"
#include "estimate/llama_cpp/options.h"
#include "run/job_file.h"
#include "run/job_flags.h"

namespace headroom::run {

struct LlamaJob {
  estimate::llama::Model model;
  estimate::llama::Options options;
  estimate::Job device;            // Of it only `device` means something.
  std::vector<std::string> notes;  // What was taken from where, and what was not read.
};

// `words`: the program's name and its arguments. Fails where no -m is among them.
Result<LlamaJob> load_llama_command(const std::vector<std::string>& words, const JobFlags& flags);

// Whether `flags` name nothing but the device, so that a GGUF file is for llama.cpp to run.
bool names_only_a_device(const JobFlags& flags);

// A job file with [engine] kind = "llama.cpp". Fails with what is wrong in it.
Result<LlamaJob> load_llama_job(JobFile file, const JobFlags& flags);

// A GGUF file alone, with the device that `document` and `flags` describe.
Result<LlamaJob> load_llama_model(const std::string& path, Document document,
                                  const JobFlags& flags);

}  // namespace headroom::run
